// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// RUN: tilec compile %s --target sm_90a --check-prefix=PTX
// One thread updates a single element, and all threads get the value through shared memory.

entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %one = constant <i32: 1> : tile<i32>
  %old, %t = atomic_rmw_tko acq_rel device %p, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  store_ptr_tko weak %q, %old token = %t : tile<ptr<i32>>, tile<i32> -> token
  return
}

// CHECK: [[OLD:%.*]] = tile_gpu.atomic_global add {{.*}} order acq_rel scope device
// CHECK: tile_gpu.extract [[OLD]]
// CHECK: tile_gpu.barrier
// CHECK: tile_gpu.store_global
// PTX: @%p{{.*}} atom.acq_rel.gpu.global.add.u32 [[FETCHED:%r.*]], [
// PTX: st.shared.b32 {{.*}} [[FETCHED]];
// PTX: bar.sync
// PTX: ld.shared.b32
