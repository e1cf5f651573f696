// RUN: tilec compile %s --emit gpu --target sm_100a
// RUN: tilec compile %s --target sm_90a --check-prefix=PTX
// Loads of TMA that tokens order after an acquire: the role that loads awaits the threads, and has a proxy fence.

!A = tensor_view<128x1024xf16, strides=[1024,1]>
!B = tensor_view<1024x128xf16, strides=[128,1]>
!C = tensor_view<128x128xf32, strides=[128,1]>
!TA = partition_view<tile=(128x64), !A>
!TB = partition_view<tile=(64x128), !B>
!TC = partition_view<tile=(128x128), !C>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %r: tile<ptr<f32>>, %s: tile<ptr<i32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %b = assume div_by<16>, %q : tile<ptr<f16>>
  %c = assume div_by<16>, %r : tile<ptr<f32>>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %end = constant <i32: 16> : tile<i32>
  %none = constant <f32: 0.0> : tile<128x128xf32>
  %va = make_tensor_view %a, shape = [128, 1024], strides = [1024, 1] : !A
  %vb = make_tensor_view %b, shape = [1024, 128], strides = [128, 1] : !B
  %vc = make_tensor_view %c, shape = [128, 128], strides = [128, 1] : !C
  %ta = make_partition_view %va : !TA
  %tb = make_partition_view %vb : !TB
  %tc = make_partition_view %vc : !TC
  %flag, %t = load_ptr_tko acquire device %s : tile<ptr<i32>> -> tile<i32>, token
  %sum = for %k in (%zero to %end, step %one) : tile<i32> iter_values(%acc = %none) -> (tile<128x128xf32>) {
    %x, %t0 = load_view_tko weak %ta[%zero, %k] token = %t : !TA, tile<i32> -> tile<128x64xf16>, token
    %y, %t1 = load_view_tko weak %tb[%k, %zero] token = %t : !TB, tile<i32> -> tile<64x128xf16>, token
    %m = mmaf %x, %y, %acc : tile<128x64xf16>, tile<64x128xf16>, tile<128x128xf32>
    continue %m : tile<128x128xf32>
  }
  store_view_tko weak %sum, %tc[%zero, %zero] token = %t : tile<128x128xf32>, !TC, tile<i32> -> token
  return
}

// CHECK: tile_gpu.load_global %{{.*}} order acquire
// CHECK: tile_gpu.acquired
// CHECK: tile_gpu.put_commit [[CROSSING:%.*]] :
// CHECK: tile_gpu.get [[CROSSING]]
// CHECK: tile_gpu.fence_acquired
// CHECK: scf.for
// CHECK: tile_gpu.tma_load
// PTX: ld.acquire
// PTX: fence.proxy.async.global;
// PTX: cp.async.bulk.tensor
