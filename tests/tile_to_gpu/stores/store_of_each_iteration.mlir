// RUN: tilec compile %s --emit gpu-raw --target sm_100a --hint tma=off
// Tokens order the stores of a loop. A store at the counters of all loops around it has another tile in each iteration, and needs no barrier;
// a store at the counter of the inner loop alone has the same tile again in the next iteration of the outer loop.

!V = tensor_view<?x4096xf32, strides=[4096,1]>
!T = partition_view<tile=(1x64), !V>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %n: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %x = constant <f32: 1.0> : tile<1x64xf32>
  %t = make_token : token
  %v = make_tensor_view %p, shape = [%n, 4096], strides = [4096, 1] : tile<i32> -> !V
  %w = make_tensor_view %q, shape = [%n, 4096], strides = [4096, 1] : tile<i32> -> !V
  %each = make_partition_view %v : !T
  %same = make_partition_view %w : !T
  %a = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%s = %t) -> (token) {
    %b = for %j in (%zero to %n, step %one) : tile<i32> iter_values(%u = %s) -> (token) {
      %k = store_view_tko weak %x, %each[%i, %j] token = %u : tile<1x64xf32>, !T, tile<i32> -> token
      continue %k : token
    }
    continue %b : token
  }
  %c = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%s = %t) -> (token) {
    %d = for %j in (%zero to %n, step %one) : tile<i32> iter_values(%u = %s) -> (token) {
      %k = store_view_tko weak %x, %same[%zero, %j] token = %u : tile<1x64xf32>, !T, tile<i32> -> token
      continue %k : token
    }
    continue %d : token
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
