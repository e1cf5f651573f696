// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// TMA scatters the rows of a product. Their indices are placed beside the tile, and none of them is negative.

!X = tensor_view<1024x64xf16, strides=[64,1]>
!TX = partition_view<tile=(128x64), !X>
!TW = partition_view<tile=(64x64), !X>
!G = gather_scatter_view<tile=(128x64), !X, sparse_dim=0>
!L = tensor_view<4096xi32, strides=[1]>
!I = partition_view<tile=(128), !L>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %r: tile<ptr<i32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %c = assume div_by<16>, %q : tile<ptr<f16>>
  %zero = constant <i32: 0> : tile<i32>
  %vx = make_tensor_view %a, shape = [1024, 64], strides = [64, 1] : !X
  %vy = make_tensor_view %c, shape = [1024, 64], strides = [64, 1] : !X
  %vl = make_tensor_view %r, shape = [4096], strides = [1] : !L
  %tx = make_partition_view %vx : !TX
  %tw = make_partition_view %vx : !TW
  %g = make_gather_scatter_view %vy : !G
  %ti = make_partition_view %vl : !I
  %x, %y, %z = get_tile_block_id : tile<i32>
  %rows, %t0 = load_view_tko weak %ti[%x] : !I, tile<i32> -> tile<128xi32>, token
  %m, %t1 = load_view_tko weak %tx[%x, %zero] : !TX, tile<i32> -> tile<128x64xf16>, token
  %n, %t2 = load_view_tko weak %tw[%zero, %zero] : !TW, tile<i32> -> tile<64x64xf16>, token
  %none = constant <f32: 0.0> : tile<128x64xf32>
  %sum = mmaf %m, %n, %none : tile<128x64xf16>, tile<64x64xf16>, tile<128x64xf32>
  %half = ftof %sum : tile<128x64xf32> -> tile<128x64xf16>
  store_view_tko weak %half, %g[%rows, %zero] : tile<128x64xf16>, !G, tile<128xi32>, tile<i32> -> token
  return
}

// CHECK: [[MAP:%.*]] = tile_gpu.make_tensor_map "f16" %arg1{{.*}} box [64, 1] swizzle 128B fill zero
// CHECK: [[LOADED:%.*]] = tile_gpu.load_view %arg2
// CHECK: [[ROWS:%.*]] = arith.minui [[LOADED]]
// CHECK: [[INDICES:%.*]] = tile_gpu.place [[ROWS]]
// CHECK: [[TILE:%.*]] = tile_gpu.place
// CHECK: tile_gpu.store_tile [[TILE]] -> [[MAP]][%{{.*}}] rows [[INDICES]]
