// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// Each matrix of a batch is loaded by TMA into shared memory, and accumulates in its own columns of tensor memory.

!A = tensor_view<8x1024x1024xf16, strides=[1048576,1024,1]>
!C = tensor_view<8x1024x1024xf32, strides=[1048576,1024,1]>
!TA = partition_view<tile=(2x64x64), padding_value = zero, !A>
!TC = partition_view<tile=(2x64x64), !C>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>, %n: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %c = assume div_by<16>, %q : tile<ptr<f32>>
  %i = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %va = make_tensor_view %a, shape = [8, 1024, 1024], strides = [1048576, 1024, 1] : !A
  %vc = make_tensor_view %c, shape = [8, 1024, 1024], strides = [1048576, 1024, 1] : !C
  %ta = make_partition_view %va : !TA
  %tc = make_partition_view %vc : !TC
  %b, %y, %z = get_tile_block_id : tile<i32>
  %zero = constant <f32: 0.0> : tile<2x64x64xf32>
  %r = for %k in (%i to %n, step %one) : tile<i32> iter_values(%acc = %zero) -> (tile<2x64x64xf32>) {
    %l, %t0 = load_view_tko weak %ta[%b, %i, %k] : !TA, tile<i32> -> tile<2x64x64xf16>, token
    %m, %t1 = load_view_tko weak %ta[%b, %k, %i] : !TA, tile<i32> -> tile<2x64x64xf16>, token
    %s = mmaf %l, %m, %acc : tile<2x64x64xf16>, tile<2x64x64xf16>, tile<2x64x64xf32>
    continue %s : tile<2x64x64xf32>
  }
  store_view_tko weak %r, %tc[%b, %i, %i] : tile<2x64x64xf32>, !TC, tile<i32> -> token
  return
}

// CHECK-NOT: load_view
// CHECK-COUNT-4: tile_gpu.load_tile
// CHECK-NOT: convert_layout
// CHECK: tile_gpu.multiply
// CHECK: tile_gpu.multiply
// CHECK: tile_gpu.cat
// CHECK-NOT: convert_layout
// CHECK: tile_gpu.store_tile
