// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// Elements of 4 bits are two per byte in shared memory: TMA loads them as bytes.

!A = tensor_view<1024x1024xf4E2M1FN, strides=[1024,1]>
!S = tensor_view<1024x32xf8E8M0FNU, strides=[32,1]>
!C = tensor_view<1024x1024xf32, strides=[1024,1]>
!TA = partition_view<tile=(128x128), padding_value = zero, !A>
!TB = partition_view<tile=(128x64), padding_value = zero, !A, dim_map=[1, 0]>
!TSA = partition_view<tile=(128x4), !S>
!TSB = partition_view<tile=(4x64), !S, dim_map=[1, 0]>
!TC = partition_view<tile=(128x64), !C>
entry @k(%p: tile<ptr<f4E2M1FN>>, %s: tile<ptr<f8E8M0FNU>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f4E2M1FN>>
  %i = constant <i32: 0> : tile<i32>
  %va = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !A
  %vs = make_tensor_view %s, shape = [1024, 32], strides = [32, 1] : !S
  %vc = make_tensor_view %q, shape = [1024, 1024], strides = [1024, 1] : !C
  %ta = make_partition_view %va : !TA
  %tb = make_partition_view %va : !TB
  %tsa = make_partition_view %vs : !TSA
  %tsb = make_partition_view %vs : !TSB
  %tc = make_partition_view %vc : !TC
  %z = constant <f32: 0.0> : tile<128x64xf32>
  %one = constant <i32: 1> : tile<i32>
  %n = constant <i32: 8> : tile<i32>
  %r = for %j in (%i to %n, step %one) : tile<i32> iter_values(%sum = %z) -> (tile<128x64xf32>) {
    %x, %t0 = load_view_tko weak %ta[%i, %j] : !TA, tile<i32> -> tile<128x128xf4E2M1FN>, token
    %y, %t1 = load_view_tko weak %tb[%j, %i] : !TB, tile<i32> -> tile<128x64xf4E2M1FN>, token
    %u, %t2 = load_view_tko weak %tsa[%i, %j] : !TSA, tile<i32> -> tile<128x4xf8E8M0FNU>, token
    %v, %t3 = load_view_tko weak %tsb[%j, %i] : !TSB, tile<i32> -> tile<4x64xf8E8M0FNU>, token
    %m = mmaf_scaled %x, %y, %sum, %u, %v : tile<128x128xf4E2M1FN>, tile<128x64xf4E2M1FN>, tile<128x64xf32>, tile<128x4xf8E8M0FNU>, tile<4x64xf8E8M0FNU>
    continue %m : tile<128x64xf32>
  }
  store_view_tko weak %r, %tc[%i, %i] : tile<128x64xf32>, !TC, tile<i32> -> token
  return
}

// CHECK-DAG: shared_128x128xf4E2M1FN = buffer<128x128xf4E2M1FN, shared, contiguous=1 swizzle=64B>
// CHECK-DAG: shared_128x64xf4E2M1FN = buffer<128x64xf4E2M1FN, shared, contiguous=0 swizzle=64B>
// CHECK: tile_gpu.make_tensor_map "i8" %arg0[%{{.*}}, %{{.*}}] strides [%{{.*}}] box [64, 128] swizzle 64B
// CHECK: tile_gpu.load_tile {{.*}} : !shared_128x128xf4E2M1FN
// CHECK: tile_gpu.multiply_scaled
// CHECK-NOT: tile_gpu.place {{.*}}f4E2M1FN
