// RUN: tilec compile %s --emit gpu-raw --target sm_100a --hint convolution=im2col
// RUN: tilec compile %s --emit gpu-raw --target sm_90a --hint convolution=im2col
// RUN: tilec compile %s --emit gpu --target sm_100a --hint convolution=im2col --check-prefix=ROLES
// A 3x3 window with stride 2x1 and dilation 1x2 over NHWC images. The first pixel of the tile is decoded once, before
// the loops over the taps; in them, only the offsets of the instruction change. Two panels of 64 channels fill a slot.

!X = tensor_view<8x28x28x256xf16, strides=[200704,7168,256,1]>
!V = tilex.im2col_view<tile=(128x128), window=[3, 3], dilation=[1, 2], stride=[2, 1], lower=[1, 2], upper=[1, 2], !X>
!F = tensor_view<2304x64xf16, strides=[64,1]>
!TF = partition_view<tile=(128x64), !F>
!C = tensor_view<3136x64xf32, strides=[64,1]>
!TC = partition_view<tile=(128x64), !C>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %r: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %b = assume div_by<16>, %q : tile<ptr<f16>>
  %c = assume div_by<16>, %r : tile<ptr<f32>>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %three = constant <i32: 3> : tile<i32>
  %vx = make_tensor_view %a, shape = [8, 28, 28, 256], strides = [200704, 7168, 256, 1] : !X
  %vf = make_tensor_view %b, shape = [2304, 64], strides = [64, 1] : !F
  %vc = make_tensor_view %c, shape = [3136, 64], strides = [64, 1] : !C
  %v = tilex.make_im2col_view %vx : !V
  %tf = make_partition_view %vf : !TF
  %tc = make_partition_view %vc : !TC
  %x, %y, %z = get_tile_block_id : tile<i32>
  %none = constant <f32: 0.0> : tile<128x64xf32>
  %sum = for %i in (%zero to %three, step %one) : tile<i32> iter_values(%outer = %none) -> (tile<128x64xf32>) {
    %row = for %j in (%zero to %three, step %one) : tile<i32> iter_values(%acc = %outer) -> (tile<128x64xf32>) {
      %m, %t1 = tilex.load_im2col_tko weak %v[%x, %one] offset [%i, %j] : !V, tile<i32> -> tile<128x128xf16>, token
      %n, %t2 = load_view_tko weak %tf[%j, %zero] : !TF, tile<i32> -> tile<128x64xf16>, token
      %next = mmaf %m, %n, %acc : tile<128x128xf16>, tile<128x64xf16>, tile<128x64xf32>
      continue %next : tile<128x64xf32>
    }
    continue %row : tile<128x64xf32>
  }
  store_view_tko weak %sum, %tc[%x, %zero] : tile<128x64xf32>, !TC, tile<i32> -> token
  return
}

// The lower corner is -padding, the upper one padding - (window - 1) * dilation, W first.
// CHECK: [[MAP:%.*]] = tile_gpu.make_tensor_map "f16" %arg0
// CHECK-NEXT: kind im2col lower [-2, -1] upper [-2, -1] element_strides [1, 1, 2, 1] box [64, 128] swizzle 128B fill zero
// Rows of 28 outputs along W, 14 along H.
// CHECK: [[TILE:%.*]] = tile_gpu.program_id 0
// CHECK: [[PIXEL:%.*]] = arith.muli [[TILE]],
// CHECK: [[Q:%.*]] = arith.remui [[PIXEL]],
// CHECK: [[ROW:%.*]] = arith.divui [[PIXEL]],
// CHECK: [[P:%.*]] = arith.remui [[ROW]],
// CHECK: [[NUMBER:%.*]] = arith.divui [[ROW]],
// CHECK: [[PU:%.*]] = arith.muli [[P]],
// CHECK: [[H:%.*]] = arith.addi [[PU]],
// CHECK: [[W:%.*]] = arith.addi [[Q]],
// A tile beyond the last one starts after the last image, also if the number of its first pixel exceeds 32 bits.
// CHECK: [[INSIDE:%.*]] = arith.cmpi ult, [[TILE]],
// CHECK: [[N:%.*]] = arith.select [[INSIDE]], [[NUMBER]],
// CHECK: scf.for [[R:%[a-z0-9]+]] = {{.*}} to
// CHECK: scf.for [[S:%[a-z0-9]+]] = {{.*}} to
// CHECK: [[DISTANCE:%.*]] = arith.muli [[S]],
// CHECK: [[OFFW:%.*]] = arith.trunci [[DISTANCE]] : i32 to i16
// CHECK: [[OFFH:%.*]] = arith.trunci [[R]] : i32 to i16
// CHECK: tile_gpu.load_tile [[MAP]][{{%[a-z0-9_]+}}, [[W]], [[H]], [[N]]] offsets {{\[}}[[OFFW]], [[OFFH]]{{\]}} :

// ROLES: } load warps 1 {
// ROLES: [[BOTH:%.*]]:2 = tile_gpu.put_begin
// ROLES: tile_gpu.tma_load {{.*}} offsets [{{.*}}] -> [[BOTH]]#0
// ROLES: tile_gpu.tma_load {{.*}} -> [[BOTH]]#1
// ROLES: } mma warps 1 {
