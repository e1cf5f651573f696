// RUN: tilec opt %s --passes reuse-channels --target sm_100a
// The buffers of the second loop are smaller: its channel has its own type, and continues the ring of the first.

#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!x = tensor<128x64xf16, #rows>
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
#half = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(0,0) shape=64x64"
!y = tensor<64x64xf16, #half>
!b = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
tile_gpu.kernel @k(%p: i64, %n: i32, %m: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %half = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %ca = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse ring : channel<[!a]>
  %cb = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse ring : channel<[!b]>
  scf.for %ica2 = %zero to %n step %one : i32 {
    %sca4 = tile_gpu.put_begin %ca : channel<[!a]>
    tile_gpu.tma_load %map[%ica2, %zero] -> %sca4 of %ca : !a
    tile_gpu.put_commit %ca : channel<[!a]>
    %gca4 = tile_gpu.get %ca consumer 0 : channel<[!a]>
    %xca4 = tile_gpu.load_shared %gca4 : !a -> !x
    tile_gpu.release %ca consumer 0 : channel<[!a]>
  }
  scf.for %icb2 = %zero to %m step %one : i32 {
    %scb4 = tile_gpu.put_begin %cb : channel<[!b]>
    tile_gpu.tma_load %half[%icb2, %zero] -> %scb4 of %cb : !b
    tile_gpu.put_commit %cb : channel<[!b]>
    %gcb4 = tile_gpu.get %cb consumer 0 : channel<[!b]>
    %xcb4 = tile_gpu.load_shared %gcb4 : !b -> !y
    tile_gpu.release %cb consumer 0 : channel<[!b]>
  }
}

// CHECK: [[A:%.*]] = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse ring : !channel_128x64xf16
// CHECK: [[B:%.*]] = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse ring shares [[A]] continues : !channel_64x64xf16
// CHECK: tile_gpu.put_begin [[A]]
// CHECK: tile_gpu.put_begin [[B]]
