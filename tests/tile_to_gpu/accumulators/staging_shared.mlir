// RUN: tilec compile %s --emit gpu --target sm_90a
// Stores of tiles of unlike shapes have staging buffers in the same memory: the second waits until the first has been read.

!X = tensor_view<64x64xf32, strides=[64,1]>
!TX = partition_view<tile=(64x64), !X>
!TY = partition_view<tile=(32x32), !X>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %i = constant <i32: 0> : tile<i32>
  %x = make_tensor_view %a, shape = [64, 64], strides = [64, 1] : !X
  %tx = make_partition_view %x : !TX
  %ty = make_partition_view %x : !TY
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %y = make_tensor_view %b, shape = [64, 64], strides = [64, 1] : !X
  %sx = make_partition_view %y : !TX
  %sy = make_partition_view %y : !TY
  %c, %m = load_view_tko weak %sx[%i, %i] : !TX, tile<i32> -> tile<64x64xf32>, token
  %e, %n = load_view_tko weak %sy[%i, %i] : !TY, tile<i32> -> tile<32x32xf32>, token
  %u = permute %c [1, 0] : tile<64x64xf32> -> tile<64x64xf32>
  %v = permute %e [1, 0] : tile<32x32xf32> -> tile<32x32xf32>
  store_view_tko weak %u, %tx[%i, %i] : tile<64x64xf32>, !TX, tile<i32> -> token
  store_view_tko weak %v, %ty[%i, %i] : tile<32x32xf32>, !TY, tile<i32> -> token
  return
}

// CHECK: [[A:%.*]] = tile_gpu.shared : !shared_64x64xf32
// CHECK: [[B:%.*]] = tile_gpu.shared shares [[A]] : !shared_32x32xf32
// CHECK: tile_gpu.store_shared {{.*}}, [[A]]
// CHECK: tile_gpu.tma_store [[A]]
// CHECK: tile_gpu.store_wait read
// CHECK-NEXT: tile_gpu.barrier
// CHECK: tile_gpu.store_shared {{.*}}, [[B]]
