// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// Scale factors go through registers and shared memory to tensor memory; TMA loads the operands.

!A = tensor_view<1024x1024xf8E4M3FN, strides=[1024,1]>
!S = tensor_view<1024x32xf8E8M0FNU, strides=[32,1]>
!C = tensor_view<1024x1024xf32, strides=[1024,1]>
!TA = partition_view<tile=(128x128), padding_value = zero, !A>
!TB = partition_view<tile=(128x64), padding_value = zero, !A>
!TSA = partition_view<tile=(128x4), !S>
!TSB = partition_view<tile=(4x64), !S, dim_map=[1, 0]>
!TC = partition_view<tile=(128x64), !C>
entry @k(%p: tile<ptr<f8E4M3FN>>, %s: tile<ptr<f8E8M0FNU>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f8E4M3FN>>
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
    %x, %t0 = load_view_tko weak %ta[%i, %j] : !TA, tile<i32> -> tile<128x128xf8E4M3FN>, token
    %y, %t1 = load_view_tko weak %tb[%j, %i] : !TB, tile<i32> -> tile<128x64xf8E4M3FN>, token
    %u, %t2 = load_view_tko weak %tsa[%i, %j] : !TSA, tile<i32> -> tile<128x4xf8E8M0FNU>, token
    %v, %t3 = load_view_tko weak %tsb[%j, %i] : !TSB, tile<i32> -> tile<4x64xf8E8M0FNU>, token
    %m = mmaf_scaled %x, %y, %sum, %u, %v : tile<128x128xf8E4M3FN>, tile<128x64xf8E4M3FN>, tile<128x64xf32>, tile<128x4xf8E8M0FNU>, tile<4x64xf8E8M0FNU>
    continue %m : tile<128x64xf32>
  }
  store_view_tko weak %r, %tc[%i, %i] : tile<128x64xf32>, !TC, tile<i32> -> token
  return
}

// CHECK-DAG: !shared_128x4xf8E8M0FNU = buffer<128x4xf8E8M0FNU, shared, scale_factors depth=1>
// CHECK-DAG: !tensor_4x64xf8E8M0FNU = buffer<4x64xf8E8M0FNU, tensor, scale_factors depth=0>
// CHECK: [[FACTORS:%.*]] = tile_gpu.place {{.*}} -> !shared_128x4xf8E8M0FNU
// CHECK: [[LEFT:%.*]] = tile_gpu.place_scales [[FACTORS]]
// CHECK: [[RIGHT:%.*]] = tile_gpu.place_scales {{.*}} : !shared_4x64xf8E8M0FNU -> !tensor_4x64xf8E8M0FNU
// CHECK: tile_gpu.multiply_scaled %{{.*}}, %{{.*}} scaled [[LEFT]], [[RIGHT]]
