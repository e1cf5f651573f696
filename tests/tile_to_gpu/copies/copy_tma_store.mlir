// RUN: tilec compile %s --emit gpu --target sm_100a
// A TMA store, here of a tile whose threads hold columns, is staged in shared memory, and the kernel waits for its completion before it returns.

!V = tensor_view<1024x1024xf32, strides=[1024,1]>
!T = partition_view<tile=(64x64), !V>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !V
  %w = make_tensor_view %b, shape = [1024, 1024], strides = [1024, 1] : !V
  %s = make_partition_view %v : !T
  %d = make_partition_view %w : !T
  %x, %t = load_view_tko weak %s[%i, %i] : !T, tile<i32> -> tile<64x64xf32>, token
  %y = permute %x [1, 0] : tile<64x64xf32> -> tile<64x64xf32>
  store_view_tko weak %y, %d[%i, %i] : tile<64x64xf32>, !T, tile<i32> -> token
  return
}

// CHECK: [[S:%.*]] = tile_gpu.shared : !shared_64x64xf32
// CHECK: tile_gpu.store_shared %{{.*}}, [[S]]
// CHECK-NOT: tile_gpu.fence_async global_memory
// CHECK: tile_gpu.fence_async
// CHECK: tile_gpu.barrier
// CHECK: tile_gpu.tma_store [[S]] ->
// CHECK: tile_gpu.store_wait
