// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// No TMA: boxes of at most 256 rows do not follow each other in memory where the rows are inside of another dimension.

!V = tensor_view<2x1024x1024xf32, strides=[1048576,1024,1]>
!T = partition_view<tile=(2x512x16), !V>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [2, 1024, 1024], strides = [1048576, 1024, 1] : !V
  %w = make_tensor_view %b, shape = [2, 1024, 1024], strides = [1048576, 1024, 1] : !V
  %s = make_partition_view %v : !T
  %d = make_partition_view %w : !T
  %x, %t = load_view_tko weak %s[%i, %i, %i] : !T, tile<i32> -> tile<2x512x16xf32>, token
  store_view_tko weak %x, %d[%i, %i, %i] : tile<2x512x16xf32>, !T, tile<i32> -> token
  return
}

// CHECK-NOT: tile_gpu.tma_store
// CHECK: tile_gpu.store_view
// CHECK: remark: the store does not use TMA: tile extent 512 is more than 256, inside of a dimension of 2 [tma, no estimate]
