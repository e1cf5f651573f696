// RUN: tilec opt %s --passes reuse-channels --target sm_100a
// Two buffers of 128 KB do not fit: the second is filled when the first has been read.

#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!x = tensor<128x64xf16, #rows>
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
#wide = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32)(0,64)(0,128)(0,256) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x512"
!w = tensor<128x512xf16, #wide>
!l = buffer<128x512xf16, shared, contiguous=1 swizzle=128B>
tile_gpu.kernel @k(%p: i64, %n: i32, %m: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %ca = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse once : channel<[!l]>
  %cb = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse once : channel<[!l]>
  %sca2 = tile_gpu.put_begin %ca : channel<[!l]>
  tile_gpu.tma_load %map[%zero, %zero] -> %sca2 of %ca : !l
  tile_gpu.put_commit %ca : channel<[!l]>
  %gca2 = tile_gpu.get %ca consumer 0 : channel<[!l]>
  %xca2 = tile_gpu.load_shared %gca2 : !l -> !w
  tile_gpu.release %ca consumer 0 : channel<[!l]>
  %scb2 = tile_gpu.put_begin %cb : channel<[!l]>
  tile_gpu.tma_load %map[%zero, %zero] -> %scb2 of %cb : !l
  tile_gpu.put_commit %cb : channel<[!l]>
  %gcb2 = tile_gpu.get %cb consumer 0 : channel<[!l]>
  %xcb2 = tile_gpu.load_shared %gcb2 : !l -> !w
  tile_gpu.release %cb consumer 0 : channel<[!l]>
}

// CHECK: [[R:%.*]] = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse ring
// CHECK-NOT: make_channel
// CHECK: tile_gpu.put_begin [[R]]
// CHECK: tile_gpu.put_begin [[R]]
