// RUN: tilec compile %s --emit ptx --target sm_100a
// A box has at most 256 elements in a dimension: two boxes of 256 rows, the second 16384 bytes after the first.

!V = tensor_view<1024x1024xf32, strides=[1024,1]>
!T = partition_view<tile=(512x16), !V>
!S = partition_view<tile=(16x512), !V>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !V
  %w = make_tensor_view %b, shape = [1024, 1024], strides = [1024, 1] : !V
  %s = make_partition_view %v : !S
  %d = make_partition_view %w : !T
  %x, %t = load_view_tko weak %s[%i, %i] : !S, tile<i32> -> tile<16x512xf32>, token
  %y = permute %x [1, 0] : tile<16x512xf32> -> tile<512x16xf32>
  store_view_tko weak %y, %d[%i, %i] : tile<512x16xf32>, !T, tile<i32> -> token
  return
}

// CHECK: add.s32 [[SECOND:%r[0-9]+]], [[FIRST:%r[0-9]+]], 16384;
// CHECK: add.s32 [[ROW:%r[0-9]+]], 0, 256;
// CHECK: cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%{{.*}}, {[[ZERO:%r[0-9]+]], [[ZERO]]}], [[[FIRST]]];
// CHECK: cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%{{.*}}, {[[ZERO]], [[ROW]]}], [[[SECOND]]];
// CHECK: cp.async.bulk.commit_group;
