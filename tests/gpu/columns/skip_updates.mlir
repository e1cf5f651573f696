// RUN: tilec opt %s --passes skip-updates --target sm_100a
// Columns of an accumulator are loaded, multiplied and stored where a factor of the warp is not 1. What else is computed
// between them is in front of the branch. Sums that are also shifted change in any case.

!d = buffer<128x64xf32, tensor, lanes=128>
#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
#half = "register=(0,1)(0,2)(0,4)(0,8)(0,16) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x32"
#row = "register=none lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x1"
!t = tensor<128x64xf32, #rows>
!h = tensor<128x32xf32, #half>
!f = tensor<128x1xf32, #row>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %ones = arith.constant dense<1.0> : !h
  %c = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse ring : channel<[!d]>
  scf.for %k = %zero to %n step %one : i32 {
    %f = tile_gpu.load_view %p[%k, %zero] extents [%n, %one] strides [%one, %one] vector 1 : !f
    %a = tile_gpu.broadcast %f : !f -> !t
    %d = tile_gpu.get %c consumer 0 : channel<[!d]>
    %x0 = tile_gpu.load_tensor_memory %d from 0 : !d -> !h
    %a0 = tile_gpu.extract %a[%zero, %zero] : !t -> !h
    %y0 = arith.mulf %x0, %a0 : !h
    tile_gpu.store_tensor_memory %y0, %d from 0 pending : !h -> !d
    %x1 = tile_gpu.load_tensor_memory %d from 32 : !d -> !h
    %a1 = tile_gpu.extract %a[%zero, %zero] : !t -> !h
    %y1 = arith.mulf %a1, %x1 : !h
    tile_gpu.store_tensor_memory %y1, %d from 32 : !h -> !d
    %x2 = tile_gpu.load_tensor_memory %d from 0 : !d -> !h
    %y2 = arith.mulf %x2, %a0 : !h
    %z2 = arith.addf %y2, %ones : !h
    tile_gpu.store_tensor_memory %z2, %d from 0 : !h -> !d
    tile_gpu.release %c consumer 0 : channel<[!d]>
  }
}

// CHECK: [[D:%[a-z_0-9]+]] = tile_gpu.get
// CHECK: [[A0:%[0-9]+]] = tile_gpu.extract
// CHECK: [[A1:%[0-9]+]] = tile_gpu.extract
// CHECK: [[DIFFERS:%[0-9]+]] = tile_gpu.differs_from_one [[A0]]
// CHECK-NEXT: scf.if [[DIFFERS]] {
// CHECK-NEXT: [[X0:%[0-9]+]] = tile_gpu.load_tensor_memory [[D]] from 0
// CHECK-NEXT: [[Y0:%[0-9]+]] = arith.mulf [[X0]], [[A0]]
// CHECK-NEXT: tile_gpu.store_tensor_memory [[Y0]], [[D]] from 0 pending
// CHECK-NEXT: [[X1:%[0-9]+]] = tile_gpu.load_tensor_memory [[D]] from 32
// CHECK-NEXT: [[Y1:%[0-9]+]] = arith.mulf [[A1]], [[X1]]
// CHECK-NEXT: tile_gpu.store_tensor_memory [[Y1]], [[D]] from 32
// CHECK-NEXT: }
// CHECK-NEXT: tile_gpu.load_tensor_memory [[D]] from 0
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: arith.addf
// CHECK-NEXT: tile_gpu.store_tensor_memory
// CHECK-NEXT: tile_gpu.release
