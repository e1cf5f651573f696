// RUN: tilec compile %s --emit gpu --target sm_100a
// RUN: tilec compile %s --target sm_90a --check-prefix=PTX
// TMA reduces a tile of a view into memory; the map has the sign of the mode. The second waits for the first one.

!V = tensor_view<1024x1024xi32, strides=[1024,1]>
!T = partition_view<tile=(64x64), !V>
entry @k(%p: tile<ptr<i32>>, %i: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<i32>>
  %x = constant <i32: 3> : tile<64x64xi32>
  %v = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !V
  %s = make_partition_view %v : !T
  %t = atomic_red_view_tko relaxed device %s[%i, %i], umax, %x : tile<64x64xi32>, !T, tile<i32>, tile<i32> -> token
  atomic_red_view_tko relaxed device %s[%i, %i], min, %x token = %t : tile<64x64xi32>, !T, tile<i32>, tile<i32> -> token
  return
}

// CHECK: [[U:%.*]] = tile_gpu.make_tensor_map "u32"
// CHECK: [[S:%.*]] = tile_gpu.make_tensor_map "i32"
// CHECK: tile_gpu.tma_store {{.*}} -> [[U]][{{.*}} reduction max
// CHECK-NOT: store_wait read
// CHECK: tile_gpu.store_wait
// CHECK: tile_gpu.barrier
// CHECK: tile_gpu.tma_store {{.*}} -> [[S]][{{.*}} reduction min
// CHECK: tile_gpu.store_wait
// PTX: cp.reduce.async.bulk.tensor.2d.global.shared::cta.max.tile.bulk_group
// PTX: cp.async.bulk.wait_group 0;
// PTX: cp.reduce.async.bulk.tensor.2d.global.shared::cta.min.tile.bulk_group
// PTX: cp.async.bulk.wait_group 0;
