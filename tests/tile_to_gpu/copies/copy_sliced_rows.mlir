// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// RUN: tilec compile %s --emit gpu-raw --target sm_90a --remarks
// The kernel computes the first row and the extent of a slice: one map for all slices has three more strides.

!V = tensor_view<1024x1024xf32, strides=[1024,1]>
!D = tensor_view<?x1024xf32, strides=[1024,1]>
!T = partition_view<tile=(64x64), !V>
!S = partition_view<tile=(64x64), !D>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %s: tile<ptr<i32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %i = constant <i32: 0> : tile<i32>
  %b0, %t0 = load_ptr_tko weak %s : tile<ptr<i32>> -> tile<i32>, token
  %first = assume bounded<0, ?>, %b0 : tile<i32>
  %x, %y, %z = get_tile_block_id : tile<i32>
  %rows = constant <i64: 1024> : tile<i64>
  %wide = exti %first signed : tile<i32> -> tile<i64>
  %o = muli %wide, %rows : tile<i64>
  %c = offset %b, %o : tile<ptr<f32>>, tile<i64> -> tile<ptr<f32>>
  %v = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !V
  %w = make_tensor_view %c, shape = [%y, 1024], strides = [1024, 1] : tile<i32> -> !D
  %from = make_partition_view %v : !T
  %to = make_partition_view %w : !S
  %tile, %t1 = load_view_tko weak %from[%i, %i] : !T, tile<i32> -> tile<64x64xf32>, token
  %turned = permute %tile [1, 0] : tile<64x64xf32> -> tile<64x64xf32>
  store_view_tko weak %turned, %to[%x, %i] : tile<64x64xf32>, !S, tile<i32> -> token
  return
}

// CHECK: [[STRIDE:%.*]] = arith.subi %c8589934592_i64, %{{.*}} : i64
// CHECK: [[MAP:%.*]] = tile_gpu.make_tensor_map "f32" %arg1[%{{.*}}, %{{.*}}, %c2147483648_i64, %c1073741825_i64]
// CHECK-SAME: strides [%{{.*}}, %{{.*}}, [[STRIDE]]] box [32, 64, 1, 1]
// CHECK: [[LAST:%.*]] = arith.addi %{{.*}}, %program_id_1 : i32
// CHECK: arith.shrui [[LAST]], %c30_i32 : i32
// CHECK: tile_gpu.store_tile %{{.*}} -> [[MAP]][%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}]
// CHECK-NOT: remark: the store does not use TMA
