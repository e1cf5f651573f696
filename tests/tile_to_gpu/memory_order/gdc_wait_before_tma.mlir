// RUN: tilec compile %s --emit gpu --target sm_100a
// Every role waits for the preceding grid, so the loads after the wait are still loads of TMA; after the barrier that
// completes the stores, dependent grids may start.

!A = tensor_view<1024x1024xf16, strides=[1024,1]>
!C = tensor_view<1024x1024xf32, strides=[1024,1]>
!TA = partition_view<tile=(64x64), padding_value = zero, !A>
!TC = partition_view<tile=(64x64), !C>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>, %n: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %c = assume div_by<16>, %q : tile<ptr<f32>>
  %i = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %va = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !A
  %vc = make_tensor_view %c, shape = [1024, 1024], strides = [1024, 1] : !C
  %ta = make_partition_view %va : !TA
  %tc = make_partition_view %vc : !TC
  %w = gdc_wait_tko -> token
  %zero = constant <f32: 0.0> : tile<64x64xf32>
  %r = for %k in (%i to %n, step %one) : tile<i32> iter_values(%acc = %zero) -> (tile<64x64xf32>) {
    %l, %t0 = load_view_tko weak %ta[%i, %k] token = %w : !TA, tile<i32> -> tile<64x64xf16>, token
    %m, %t1 = load_view_tko weak %ta[%k, %i] token = %w : !TA, tile<i32> -> tile<64x64xf16>, token
    %s = mmaf %l, %m, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    continue %s : tile<64x64xf32>
  }
  %t = store_view_tko weak %r, %tc[%i, %i] token = %w : tile<64x64xf32>, !TC, tile<i32> -> token
  %d = gdc_launch_dependents_tko token = %t -> token
  return
}

// CHECK: tile_gpu.roles compute
// CHECK: tile_gpu.gdc_wait
// CHECK: tile_gpu.store_wait
// CHECK: tile_gpu.barrier
// CHECK: tile_gpu.gdc_launch_dependents
// CHECK: } load
// CHECK: tile_gpu.gdc_wait
// CHECK: tile_gpu.tma_load
// CHECK: } mma
// CHECK: tile_gpu.gdc_wait
// CHECK: tile_gpu.tcgen05_mma
