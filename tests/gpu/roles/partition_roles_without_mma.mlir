// RUN: tilec opt %s --passes partition-roles --target sm_100a
// A kernel without a multiply has two roles; copies are in `load`.

#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!x = tensor<128x64xf16, #rows>
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<128x64xf32, tensor, lanes=128>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %yes = arith.constant true
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %ca = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse ring : channel<[!a]>
  scf.for %k = %zero to %n step %one : i32 {
    %sa = tile_gpu.put_begin %ca : channel<[!a]>
    tile_gpu.tma_load %map[%k, %zero] -> %sa of %ca : !a
    tile_gpu.put_commit %ca : channel<[!a]>
    %ga = tile_gpu.get %ca consumer 0 : channel<[!a]>
    %x = tile_gpu.load_shared %ga : !a -> !x
    tile_gpu.release %ca consumer 0 : channel<[!a]>
  }
}

// CHECK: tile_gpu.roles compute warps 4 {
// CHECK: scf.for
// CHECK: tile_gpu.load_shared
// CHECK: } load warps 1 {
// CHECK: tile_gpu.tma_load
// CHECK-NOT: mma warps
