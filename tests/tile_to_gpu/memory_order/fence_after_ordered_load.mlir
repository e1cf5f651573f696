// RUN: tilec compile %s --emit gpu --target sm_100a
// RUN: tilec compile %s --target sm_90a --check-prefix=PTX
// A TMA store that a token orders after a load of global memory also needs a proxy fence of global memory.

!V = tensor_view<1024x1024xf32, strides=[1024,1]>
!T = partition_view<tile=(64x64), !V>
entry @k(%p: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !V
  %s = make_partition_view %v : !T
  %x, %t = load_view_tko weak %s[%i, %i] : !T, tile<i32> -> tile<64x64xf32>, token
  %y = addf %x, %x : tile<64x64xf32>
  %z = permute %y [1, 0] : tile<64x64xf32> -> tile<64x64xf32>
  store_view_tko weak %z, %s[%i, %i] token = %t : tile<64x64xf32>, !T, tile<i32> -> token
  return
}

// CHECK: tile_gpu.load_view
// CHECK: tile_gpu.fence_async global_memory
// CHECK: tile_gpu.barrier
// CHECK: tile_gpu.tma_store
// PTX: ld.global
// PTX: fence.proxy.async.global;
// PTX: bar
// PTX: cp.async.bulk.tensor
