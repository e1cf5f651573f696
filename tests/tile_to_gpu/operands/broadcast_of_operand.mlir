// RUN: tilec compile %s --emit gpu-raw --target sm_100a --hint tma=off
// The operand of a broadcast is computed in the layout of the result with the repeated dimension projected.

!C = tensor_view<1024x1024xf32, strides=[1024,1]>
!TC = partition_view<tile=(64x64), !C>
entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !C
  %d = make_partition_view %v : !TC
  %f = itof %n signed : tile<i32> -> tile<f32>
  %r = reshape %f : tile<f32> -> tile<1x1xf32>
  %c = broadcast %r : tile<1x1xf32> -> tile<64x1xf32>
  %x, %t = load_view_tko weak %d[%i, %i] : !TC, tile<i32> -> tile<64x64xf32>, token
  %l = iota : tile<64xi32>
  %m = itof %l signed : tile<64xi32> -> tile<64xf32>
  %k = reshape %m : tile<64xf32> -> tile<64x1xf32>
  %y = addf %k, %c : tile<64x1xf32>
  %z = broadcast %y : tile<64x1xf32> -> tile<64x64xf32>
  %w = addf %x, %z : tile<64x64xf32>
  store_view_tko weak %w, %d[%i, %i] : tile<64x64xf32>, !TC, tile<i32> -> token
  return
}

// CHECK: !tile_64x1xf32 = tensor<64x1xf32, #layout_64x1>
// CHECK-NOT: tile_gpu.convert_layout
// CHECK: arith.addf {{.*}} : !tile_64x1xf32
// CHECK-NEXT: tile_gpu.broadcast
// CHECK-NEXT: arith.addf
// CHECK-NOT: tile_gpu.convert_layout
