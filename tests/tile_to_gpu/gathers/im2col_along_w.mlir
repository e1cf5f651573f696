// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// Mode w: tiles run along W and the images, in one row of the output. The position in H, with the distance of the tap,
// is a coordinate; the distance along W is the offset of the instruction.

!X = tensor_view<64x7x9x64xbf16, strides=[4032,576,64,1]>
!V = tilex.im2col_view<tile=(128x64), window=[3, 3], dilation=[1, 1], stride=[1, 1], lower=[1, 1], upper=[1, 1], mode=w, !X>
!F = tensor_view<576x64xbf16, strides=[64,1]>
!TF = partition_view<tile=(64x64), !F>
!C = tensor_view<4480x64xf32, strides=[64,1]>
!TC = partition_view<tile=(128x64), !C>
entry @k(%p: tile<ptr<bf16>>, %q: tile<ptr<bf16>>, %r: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<bf16>>
  %b = assume div_by<16>, %q : tile<ptr<bf16>>
  %c = assume div_by<16>, %r : tile<ptr<f32>>
  %zero = constant <i32: 0> : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %vx = make_tensor_view %a, shape = [64, 7, 9, 64], strides = [4032, 576, 64, 1] : !X
  %vf = make_tensor_view %b, shape = [576, 64], strides = [64, 1] : !F
  %vc = make_tensor_view %c, shape = [4480, 64], strides = [64, 1] : !C
  %v = tilex.make_im2col_view %vx : !V
  %tf = make_partition_view %vf : !TF
  %tc = make_partition_view %vc : !TC
  %x, %y, %z = get_tile_block_id : tile<i32>
  %none = constant <f32: 0.0> : tile<128x64xf32>
  %m, %t1 = tilex.load_im2col_tko weak %v[%x, %zero] offset [%two, %two] : !V, tile<i32> -> tile<128x64xbf16>, token
  %n, %t2 = load_view_tko weak %tf[%x, %zero] : !TF, tile<i32> -> tile<64x64xbf16>, token
  %sum = mmaf %m, %n, %none : tile<128x64xbf16>, tile<64x64xbf16>, tile<128x64xf32>
  store_view_tko weak %sum, %tc[%x, %zero] : tile<128x64xf32>, !TC, tile<i32> -> token
  return
}

// CHECK: [[MAP:%.*]] = tile_gpu.make_tensor_map "bf16" %arg0
// CHECK-NEXT: im2col_w lower [-1] upper [-1] element_strides [1, 1, 1, 1] box [64, 128] swizzle 128B fill zero
// Five tiles (64 images of 9 outputs) in each of 7 rows.
// CHECK: [[TILE:%.*]] = tile_gpu.program_id 0
// CHECK: [[ROW:%.*]] = arith.divui [[TILE]],
// CHECK: [[INROW:%.*]] = arith.remui [[TILE]],
// CHECK: [[PIXEL:%.*]] = arith.muli [[INROW]],
// CHECK: [[Q:%.*]] = arith.remui [[PIXEL]],
// CHECK: [[NUMBER:%.*]] = arith.divui [[PIXEL]],
// CHECK: [[H:%.*]] = arith.addi [[ROW]],
// CHECK: [[W:%.*]] = arith.addi [[Q]],
// A tile beyond the last row of the output starts after the last image.
// CHECK: [[TILES:%.*]] = arith.constant 35 : i32
// CHECK: [[INSIDE:%.*]] = arith.cmpi ult, [[TILE]], [[TILES]]
// CHECK: [[N:%.*]] = arith.select [[INSIDE]], [[NUMBER]],
// CHECK: [[HR:%.*]] = arith.addi [[H]],
// CHECK: tile_gpu.load_tile [[MAP]][{{%[a-z0-9_]+}}, [[W]], [[HR]], [[N]]] offsets [{{.*}}] halo 0 :
