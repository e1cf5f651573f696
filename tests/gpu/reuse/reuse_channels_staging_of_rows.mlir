// RUN: tilec opt %s --passes reuse-channels --target sm_100a
// The scatter takes the slot of the operand; the buffer of its indices, which is small, stays.

#wide = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32)(0,64)(0,128)(0,256) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x512"
#rows = "register=none lane=(1)(2)(4)(8)(16) warp=(32)(64) shape=128"
!w = tensor<128x512xf16, #wide>
!i = tensor<128xi32, #rows>
!l = buffer<128x512xf16, shared, contiguous=1 swizzle=128B>
!r = buffer<128xi32, shared, contiguous=0 swizzle=none>
tile_gpu.kernel @k(%p: i64, %n: i32, %m: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 1] swizzle 128B fill zero
  %zeros = arith.constant dense<0.0> : !w
  %numbers = arith.constant dense<0> : !i
  %ca = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse once : channel<[!l]>
  %s = tile_gpu.shared : !l
  %rows = tile_gpu.shared : !r
  %t = tile_gpu.put_begin %ca : channel<[!l]>
  tile_gpu.store_shared %zeros, %t : !w -> !l
  tile_gpu.put_commit %ca : channel<[!l]>
  %g = tile_gpu.get %ca consumer 0 : channel<[!l]>
  tile_gpu.release %ca consumer 0 : channel<[!l]>
  tile_gpu.store_shared %zeros, %s : !w -> !l
  tile_gpu.store_shared %numbers, %rows : !i -> !r
  tile_gpu.fence_async
  tile_gpu.barrier
  tile_gpu.tma_store %s -> %map[%zero] rows %rows : !r : !l
  tile_gpu.store_wait
}

// CHECK-COUNT-1: tile_gpu.make_channel
// CHECK: [[R:%.*]] = tile_gpu.shared : !shared_128xi32
// CHECK: tile_gpu.release
// CHECK: [[S:%.*]] = tile_gpu.put_begin
// CHECK: tile_gpu.store_shared {{.*}}, [[S]]
// CHECK: tile_gpu.store_shared {{.*}}, [[R]]
// CHECK: tile_gpu.tma_store [[S]] -> {{.*}} rows [[R]]
// CHECK-NEXT: tile_gpu.store_wait read
// CHECK-NEXT: tile_gpu.put_commit
