// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// Threads load tiles whose index is loaded itself, and tiles outside of loops.

!N = tensor_view<16xi32, strides=[1]>
!M = partition_view<tile=(1), !N>
!V = tensor_view<16x4096xf16, strides=[4096,1]>
!T = partition_view<tile=(1x4096), !V>
entry @k(%n: tile<ptr<i32>>, %p: tile<ptr<f16>>, %q: tile<ptr<f16>>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %b = assume div_by<16>, %q : tile<ptr<f16>>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %m = make_tensor_view %n, shape = [16], strides = [1] : !N
  %v = make_tensor_view %a, shape = [16, 4096], strides = [4096, 1] : !V
  %w = make_tensor_view %b, shape = [16, 4096], strides = [4096, 1] : !V
  %r = make_partition_view %m : !M
  %s = make_partition_view %v : !T
  %d = make_partition_view %w : !T
  %first, %t0 = load_view_tko weak %s[%zero, %zero] : !T, tile<i32> -> tile<1x4096xf16>, token
  for %j in (%zero to %two, step %one) : tile<i32> {
    %loaded, %t1 = load_view_tko weak %r[%j] : !M, tile<i32> -> tile<1xi32>, token
    %index = reshape %loaded : tile<1xi32> -> tile<i32>
    %x, %t2 = load_view_tko weak %s[%index, %zero] : !T, tile<i32> -> tile<1x4096xf16>, token
    %y = addf %x, %first : tile<1x4096xf16>
    store_view_tko weak %y, %d[%j, %zero] : tile<1x4096xf16>, !T, tile<i32> -> token
  }
  return
}

// CHECK-NOT: tma_load
// CHECK: remark: the load does not use TMA: it is outside of loops, where no load can run ahead [tma, no estimate]
// CHECK: remark: the load does not use TMA: a row of the tile has 4 bytes
// CHECK: remark: the load does not use TMA: its index, or a loop or branch around it, depends on memory, on a tile or on the result of a branch [tma, no estimate]
