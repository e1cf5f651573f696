// RUN: tilec opt %s --passes reuse-channels --target sm_100a
// Two stores, one in a loop and with its copy in a branch, take the slot of an operand.

#wide = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32)(0,64)(0,128)(0,256) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x512"
!w = tensor<128x512xf16, #wide>
!l = buffer<128x512xf16, shared, contiguous=1 swizzle=128B>
tile_gpu.kernel @k(%p: i64, %n: i32, %m: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %zeros = arith.constant dense<0.0> : !w
  %ca = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse once : channel<[!l]>
  %s = tile_gpu.shared : !l
  %t = tile_gpu.put_begin %ca : channel<[!l]>
  tile_gpu.store_shared %zeros, %t : !w -> !l
  tile_gpu.put_commit %ca : channel<[!l]>
  %g = tile_gpu.get %ca consumer 0 : channel<[!l]>
  tile_gpu.release %ca consumer 0 : channel<[!l]>
  tile_gpu.store_shared %zeros, %s : !w -> !l
  tile_gpu.fence_async
  tile_gpu.barrier
  tile_gpu.tma_store %s -> %map[%zero, %zero] : !l
  scf.for %i = %zero to %n step %one : i32 {
    tile_gpu.store_wait read
    tile_gpu.barrier
    tile_gpu.store_shared %zeros, %s : !w -> !l
    tile_gpu.fence_async
    tile_gpu.barrier
    %in = arith.cmpi slt, %i, %m : i32
    scf.if %in {
      tile_gpu.tma_store %s -> %map[%i, %zero] : !l
    }
  }
  tile_gpu.store_wait
}

// CHECK-COUNT-1: tile_gpu.make_channel
// CHECK-NOT: tile_gpu.shared
// CHECK: tile_gpu.tma_store
// CHECK-NEXT: tile_gpu.store_wait read
// CHECK-NEXT: tile_gpu.put_commit
// CHECK: scf.for
// CHECK: [[S:%.*]] = tile_gpu.put_begin
// CHECK: tile_gpu.store_shared {{.*}}, [[S]]
// CHECK: scf.if
// CHECK-NEXT: tile_gpu.tma_store [[S]]
// CHECK-NEXT: }
// CHECK-NEXT: tile_gpu.store_wait read
// CHECK-NEXT: tile_gpu.put_commit
// CHECK-NEXT: tile_gpu.get
// CHECK-NEXT: tile_gpu.release
// CHECK-NEXT: }
