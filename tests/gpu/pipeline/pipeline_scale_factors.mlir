// RUN: tilec opt %s --passes partition-roles,pipeline --target sm_100a
// A ring of scale factors from registers has two slots. One from TMA has as many as columns of tensor memory allow: 256 are
// left beside the accumulator, of which the first ring uses 2 * 16, and a slot of the second needs 64.

#layout = "register=(1,0)(2,0)(4,0)(8,0) lane=(0,1)(0,2)(0,4)(0,8)(0,16) warp=(0,32)(0,64) shape=16x128"
!t = tensor<16x128xf8E8M0FNU, #layout>
!s = buffer<16x128xf8E8M0FNU, shared, scale_factors depth=0>
!u = buffer<16x128xf8E8M0FNU, tensor, scale_factors depth=0>
!v = buffer<128x64xf8E8M0FNU, shared, scale_factors depth=1>
!w = buffer<128x64xf8E8M0FNU, tensor, scale_factors depth=1>
!d = buffer<128x256xf32, tensor, lanes=128>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %x = arith.constant dense<1.0> : !t
  %map = tile_gpu.make_tensor_map "f8E8M0FNU" %p[%n, %n, %n] strides [%n, %n] box [16, 32, 16] swizzle none fill zero
  %cd = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %ca = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse ring : channel<[!s, !u]>
  %cb = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : channel<[!v, !w]>
  %d = tile_gpu.put_begin %cd : channel<[!d]>
  scf.for %k = %zero to %n step %one : i32 {
    %pb:2 = tile_gpu.put_begin %cb : channel<[!v, !w]>
    tile_gpu.tma_load %map[%zero, %zero, %k] -> %pb#0 of %cb : !v
    tile_gpu.put_commit %cb : channel<[!v, !w]>
    %pa:2 = tile_gpu.put_begin %ca : channel<[!s, !u]>
    tile_gpu.store_shared %x, %pa#0 : !t -> !s
    tile_gpu.put_commit %ca : channel<[!s, !u]>
    %ga:2 = tile_gpu.get %ca consumer 0 : channel<[!s, !u]>
    %gb:2 = tile_gpu.get %cb consumer 0 : channel<[!v, !w]>
    tile_gpu.tcgen05_copy_scales %ga#0 -> %ga#1 : !s -> !u
    tile_gpu.tcgen05_copy_scales %gb#0 -> %gb#1 : !v -> !w
    tile_gpu.release %ca consumer 0 : channel<[!s, !u]>
    tile_gpu.release %cb consumer 0 : channel<[!v, !w]>
  }
  tile_gpu.put_commit %cd : channel<[!d]>
  %g = tile_gpu.get %cd consumer 0 : channel<[!d]>
  tile_gpu.release %cd consumer 0 : channel<[!d]>
}

// CHECK: make_channel stages 2 producer threads
// CHECK: make_channel stages 3 producer tma
// CHECK: } load warps 1 {
// CHECK: tile_gpu.tma_load
// CHECK: } mma warps 1 {
// CHECK: tile_gpu.tcgen05_copy_scales
// CHECK: tile_gpu.tcgen05_copy_scales
