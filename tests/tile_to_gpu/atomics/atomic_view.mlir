// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// RUN: tilec compile %s --target sm_90a --check-prefix=PTX
// The update of a tile of a view drops the elements outside of it.

!V = tensor_view<?x?xi64, strides=[?,1]>
!T = partition_view<tile=(16x16), !V>
entry @k(%p: tile<ptr<i64>>, %m: tile<i32>, %n: tile<i32>, %i: tile<i32>) {
  %x = constant <i64: 3> : tile<16x16xi64>
  %v = make_tensor_view %p, shape = [%m, %n], strides = [%n, 1] : tile<i32> -> !V
  %s = make_partition_view %v : !T
  atomic_red_view_tko relaxed device %s[%i, %i], umax, %x : tile<16x16xi64>, !T, tile<i32>, tile<i32> -> token
  return
}

// CHECK: tile_gpu.atomic_view umax {{.*}} inbounds [false, false] scope device
// PTX: @%p{{.*}} red.relaxed.gpu.global.max.u64
