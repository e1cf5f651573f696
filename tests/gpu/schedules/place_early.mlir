// RUN: tilec opt %s --passes assign-roles --target sm_100a
// The weights are placed before the accumulator is read, so that the registers of both are not in use at the same time. Tiles
// of a group share a slot: the second is not placed before the first has been multiplied.

!a = buffer<128x64xf16, tensor, lanes=128 packed>
!b = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<128x64xf32, tensor, lanes=128>
#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!t = tensor<128x64xf32, #rows>
!h = tensor<128x64xf16, #rows>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %yes = arith.constant true
  %start = arith.constant dense<1.0> : !t
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %b = tile_gpu.load_tile %map[%zero, %zero] : !b
  %o = tile_gpu.place %start : !t -> !d
  %p0 = math.exp2 %start : !t
  %old = tile_gpu.read %o : !d -> !t
  %new = arith.mulf %old, %old : !t
  %c = tile_gpu.place %new : !t -> !d
  %h = arith.truncf %p0 : !t to !h
  %a = tile_gpu.place %h : !h -> !a
  %m = tile_gpu.multiply f16 %a, %b, %c accumulate %yes : !a, !b -> !d
  %first = tile_gpu.place %h group 0 : !h -> !a
  %m0 = tile_gpu.multiply f16 %first, %b, %m accumulate %yes : !a, !b -> !d
  %second = tile_gpu.place %h group 0 : !h -> !a
  %m1 = tile_gpu.multiply f16 %second, %b, %m0 accumulate %yes : !a, !b -> !d
}

// CHECK: [[P:%.*]] = math.exp2
// CHECK-NEXT: [[H:%.*]] = arith.truncf [[P]]
// CHECK-NEXT: tile_gpu.place [[H]]
// CHECK-NEXT: [[OLD:%.*]] = tile_gpu.read
// CHECK-NEXT: [[NEW:%.*]] = arith.mulf [[OLD]], [[OLD]]
// CHECK-NEXT: tile_gpu.place [[NEW]]
// CHECK: tile_gpu.place [[H]] group 0
// CHECK-NEXT: tile_gpu.multiply
// CHECK-NEXT: tile_gpu.place [[H]] group 0
