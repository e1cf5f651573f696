// RUN: tilec opt %s --passes reuse-channels --target sm_90a
// Two roles that count their steps apart do not fill one ring: here each role fills a channel that the other one reads.

#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!x = tensor<128x64xf16, #rows>
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
tile_gpu.kernel @k(%n: i32) target "sm_90a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %ca = tile_gpu.make_channel stages 1 producer threads consumers [wgmma] reuse ring : channel<[!a]>
  %cb = tile_gpu.make_channel stages 1 producer threads consumers [wgmma] reuse ring : channel<[!a]>
  %x = arith.constant dense<0.0> : !x
  scf.for %i = %zero to %n step %one : i32 {
    %sa = tile_gpu.put_begin %ca : channel<[!a]>
    tile_gpu.store_shared %x, %sa : !x -> !a
    tile_gpu.put_commit %ca : channel<[!a]>
    %ga = tile_gpu.get %ca consumer 0 {tile_gpu.role = "compute1"} : channel<[!a]>
    tile_gpu.release %ca consumer 0 {tile_gpu.role = "compute1"} : channel<[!a]>
  }
  scf.for %i = %zero to %n step %one : i32 {
    %sb = tile_gpu.put_begin %cb {tile_gpu.role = "compute1"} : channel<[!a]>
    tile_gpu.store_shared %x, %sb {tile_gpu.role = "compute1"} : !x -> !a
    tile_gpu.put_commit %cb {tile_gpu.role = "compute1"} : channel<[!a]>
    %gb = tile_gpu.get %cb consumer 0 : channel<[!a]>
    tile_gpu.release %cb consumer 0 : channel<[!a]>
  }
}

// CHECK-COUNT-2: tile_gpu.make_channel
// CHECK-NOT: make_channel
