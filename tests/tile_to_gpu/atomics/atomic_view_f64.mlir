// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// TMA has no sum of f64 (PTX ISA 9.7.9.27.1.3): the reduction is done by vectors of elements, and a remark says so.

!V = tensor_view<64x64xf64, strides=[64,1]>
!T = partition_view<tile=(64x64), !V>
entry @k(%p: tile<ptr<f64>>) {
  %a = assume div_by<16>, %p : tile<ptr<f64>>
  %i = constant <i32: 0> : tile<i32>
  %x = constant <f64: 1.0> : tile<64x64xf64>
  %v = make_tensor_view %a, shape = [64, 64], strides = [64, 1] : !V
  %s = make_partition_view %v : !T
  atomic_red_view_tko relaxed device %s[%i, %i], addf, %x : tile<64x64xf64>, !T, tile<i32>, tile<i32> -> token
  return
}

// CHECK-NOT: tma_store
// CHECK: tile_gpu.atomic_view addf
// CHECK: remark: the reduction does not use TMA: addf of f64 is not a reduction of TMA [tma, no estimate]
