// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// A reduction into a view without a contiguous dimension is done element by element, and a remark says so.

!V = tensor_view<64x64xf32, strides=[1024,2]>
!T = partition_view<tile=(64x64), !V>
entry @k(%p: tile<ptr<f32>>) {
  %i = constant <i32: 0> : tile<i32>
  %x = constant <f32: 1.0> : tile<64x64xf32>
  %v = make_tensor_view %p, shape = [64, 64], strides = [1024, 2] : !V
  %s = make_partition_view %v : !T
  atomic_red_view_tko relaxed tl_blk %s[%i, %i], addf, %x : tile<64x64xf32>, !T, tile<i32>, tile<i32> -> token
  return
}

// CHECK: tile_gpu.atomic_view addf {{.*}} vector 1
// CHECK: remark: the reduction does not use TMA: no dimension is known to be contiguous [tma, no estimate]
