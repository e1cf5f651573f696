// RUN: tilec opt %s --passes assign-roles,make-channels --target sm_100a
// Threads multiply by mma.sync when they come to it. An operand of two of these multiplies is placed once, and one that was computed
// before is placed only where it is multiplied: the slot of the first multiply is no longer in use then.

#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
#d = "register=(0,1)(8,0)(0,8)(0,16)(0,32)(64,0) lane=(0,2)(0,4)(1,0)(2,0)(4,0) warp=(16,0)(32,0) shape=128x64"
!half = tensor<128x64xf16, #rows>
!d = tensor<128x64xf32, #d>
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
tile_gpu.kernel @k(%q: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant dense<0.0> : !d
  %map = tile_gpu.make_tensor_map "f16" %q[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %x = arith.constant dense<2.0> : !half
  %y = arith.addf %x, %x : !half
  %b = tile_gpu.load_tile %map[%n, %n] : !b
  %a0 = tile_gpu.place %x : !half -> !a
  %d0 = tile_gpu.mma_sync %a0, %b, %zero id 0 : !a, !b -> !d
  %a1 = tile_gpu.place %x : !half -> !a
  %d1 = tile_gpu.mma_sync %a1, %b, %d0 id 1 : !a, !b -> !d
  %a2 = tile_gpu.place %y : !half -> !a
  %d2 = tile_gpu.mma_sync %a2, %b, %d1 id 2 : !a, !b -> !d
}

// CHECK: [[FIRST:%channel.*]] = tile_gpu.make_channel {{.*}}producer threads
// CHECK-NEXT: [[SECOND:%channel.*]] = tile_gpu.make_channel {{.*}}producer threads
// CHECK-NOT: producer threads
// CHECK: tile_gpu.put_commit [[FIRST]]
// CHECK: [[X:%.*]] = tile_gpu.get [[FIRST]]
// CHECK: tile_gpu.mma_sync [[X]], {{.*}} id 0
// CHECK-NEXT: tile_gpu.mma_sync [[X]], {{.*}} id 1
// CHECK: tile_gpu.release [[FIRST]]
// CHECK: tile_gpu.put_begin [[SECOND]]
// CHECK: [[Y:%.*]] = tile_gpu.get [[SECOND]]
// CHECK: tile_gpu.mma_sync [[Y]], {{.*}} id 2
