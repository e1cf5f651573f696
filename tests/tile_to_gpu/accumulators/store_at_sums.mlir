// RUN: tilec compile %s --emit gpu-raw --target sm_100a --hint tma=off
// The row 8 i + j, for j below 8, is another one in each iteration of both loops, and its store needs no barrier;
// the row 4 i + j is that of other i and j too, and so is 8 i + j where i may be so large that 8 i wraps.

!V = tensor_view<?x4096xf32, strides=[4096,1]>
!T = partition_view<tile=(1x64), !V>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %r: tile<ptr<f32>>, %n: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %four = constant <i32: 4> : tile<i32>
  %eight = constant <i32: 8> : tile<i32>
  %many = constant <i32: 1000> : tile<i32>
  %x = constant <f32: 1.0> : tile<1x64xf32>
  %t = make_token : token
  %v = make_tensor_view %p, shape = [%n, 4096], strides = [4096, 1] : tile<i32> -> !V
  %w = make_tensor_view %q, shape = [%n, 4096], strides = [4096, 1] : tile<i32> -> !V
  %u = make_tensor_view %r, shape = [%n, 4096], strides = [4096, 1] : tile<i32> -> !V
  %each = make_partition_view %v : !T
  %same = make_partition_view %w : !T
  %large = make_partition_view %u : !T
  %a = for %i in (%zero to %many, step %one) : tile<i32> iter_values(%s = %t) -> (token) {
    %b = for %j in (%zero to %eight, step %one) : tile<i32> iter_values(%o = %s) -> (token) {
      %f = muli %i, %eight : tile<i32>
      %row = addi %f, %j : tile<i32>
      %k = store_view_tko weak %x, %each[%row, %zero] token = %o : tile<1x64xf32>, !T, tile<i32> -> token
      continue %k : token
    }
    continue %b : token
  }
  %c = for %i in (%zero to %many, step %one) : tile<i32> iter_values(%s = %t) -> (token) {
    %b = for %j in (%zero to %eight, step %one) : tile<i32> iter_values(%o = %s) -> (token) {
      %f = muli %i, %four : tile<i32>
      %row = addi %f, %j : tile<i32>
      %k = store_view_tko weak %x, %same[%row, %zero] token = %o : tile<1x64xf32>, !T, tile<i32> -> token
      continue %k : token
    }
    continue %b : token
  }
  %d = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%s = %t) -> (token) {
    %b = for %j in (%zero to %eight, step %one) : tile<i32> iter_values(%o = %s) -> (token) {
      %f = muli %i, %eight : tile<i32>
      %row = addi %f, %j : tile<i32>
      %k = store_view_tko weak %x, %large[%row, %zero] token = %o : tile<1x64xf32>, !T, tile<i32> -> token
      continue %k : token
    }
    continue %b : token
  }
  return
}

// CHECK:      scf.for
// CHECK:      scf.for
// CHECK-NOT:  barrier
// CHECK:      tile_gpu.store_view {{.*}} -> %arg0
// CHECK:      scf.for
// CHECK:      scf.for
// CHECK:      tile_gpu.barrier
// CHECK:      tile_gpu.store_view {{.*}} -> %arg1
// CHECK:      scf.for
// CHECK:      scf.for
// CHECK:      tile_gpu.barrier
// CHECK:      tile_gpu.store_view {{.*}} -> %arg2
