// RUN: tilec opt %s --passes reuse-channels --target sm_100a
// The slot of the first channel is held while the loop fills the second: with one ring the loop would wait for ever.

#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!x = tensor<128x64xf16, #rows>
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
tile_gpu.kernel @k(%p: i64, %n: i32, %m: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %ca = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse ring : channel<[!a]>
  %cb = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse ring : channel<[!a]>
  scf.for %o = %zero to %n step %one : i32 {
    %sca4 = tile_gpu.put_begin %ca : channel<[!a]>
    tile_gpu.tma_load %map[%o, %zero] -> %sca4 of %ca : !a
    tile_gpu.put_commit %ca : channel<[!a]>
    %gca4 = tile_gpu.get %ca consumer 0 : channel<[!a]>
    %xca4 = tile_gpu.load_shared %gca4 : !a -> !x
    scf.for %icb4 = %zero to %m step %one : i32 {
      %scb6 = tile_gpu.put_begin %cb : channel<[!a]>
      tile_gpu.tma_load %map[%icb4, %zero] -> %scb6 of %cb : !a
      tile_gpu.put_commit %cb : channel<[!a]>
      %gcb6 = tile_gpu.get %cb consumer 0 : channel<[!a]>
      %xcb6 = tile_gpu.load_shared %gcb6 : !a -> !x
      tile_gpu.release %cb consumer 0 : channel<[!a]>
    }
    tile_gpu.release %ca consumer 0 : channel<[!a]>
  }
}

// CHECK-COUNT-2: tile_gpu.make_channel
// CHECK-NOT: make_channel
