// RUN: tilec opt %s --passes skip-updates --target sm_100a
// The store of the update completes an earlier store of other columns, for which nothing else waits: it is not skipped.

!d = buffer<128x64xf32, tensor, lanes=128>
#half = "register=(0,1)(0,2)(0,4)(0,8)(0,16) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x32"
!h = tensor<128x32xf32, #half>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %a = arith.constant dense<1.0> : !h
  %c = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse ring : channel<[!d]>
  scf.for %k = %zero to %n step %one : i32 {
    %d = tile_gpu.get %c consumer 0 : channel<[!d]>
    tile_gpu.store_tensor_memory %a, %d from 0 pending : !h -> !d
    %x = tile_gpu.load_tensor_memory %d from 32 : !d -> !h
    %y = arith.mulf %x, %a : !h
    tile_gpu.store_tensor_memory %y, %d from 32 : !h -> !d
    tile_gpu.release %c consumer 0 : channel<[!d]>
  }
}

// CHECK: tile_gpu.store_tensor_memory {{.*}} from 0 pending
// CHECK-NEXT: tile_gpu.load_tensor_memory {{.*}} from 32
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: tile_gpu.store_tensor_memory {{.*}} from 32
// CHECK-NEXT: tile_gpu.release
