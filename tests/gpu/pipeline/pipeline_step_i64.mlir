// RUN: tilec opt %s --passes pipeline --target sm_100a
// Three steps of 2**62 are 3 * 2**62 as an unsigned number: the distance to the end is compared without overflow.

#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!x = tensor<128x64xf16, #rows>
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<128x64xf32, tensor, lanes=128>
tile_gpu.kernel @k(%p: i64, %n: i64) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i64
  %first = arith.constant 0 : i32
  %huge = arith.constant 4611686018427387904 : i64
  %yes = arith.constant true
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %ca = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse ring : channel<[!a]>
  scf.for %k = %zero to %n step %huge : i64 {
    %kk = arith.trunci %k : i64 to i32
    %sa = tile_gpu.put_begin %ca : channel<[!a]>
    tile_gpu.tma_load %map[%kk, %first] -> %sa of %ca : !a
    tile_gpu.put_commit %ca : channel<[!a]>
    %ga = tile_gpu.get %ca consumer 0 : channel<[!a]>
    %x = tile_gpu.load_shared %ga : !a -> !x
    tile_gpu.release %ca consumer 0 : channel<[!a]>
  }
}

// CHECK: arith.constant -4611686018427387904 : i64
// CHECK: [[LEFT:%.*]] = arith.subi %arg1, %c0_i64 : i64
// CHECK: arith.cmpi ult, %cm4611686018427387904_i64, [[LEFT]] : i64
// CHECK: scf.for
// CHECK: scf.for %[[K:.*]] = %c0_i64 to %arg1
// CHECK: [[LEFT:%.*]] = arith.subi %arg1, %[[K]] : i64
// CHECK: arith.cmpi ult, %cm4611686018427387904_i64, [[LEFT]] : i64
