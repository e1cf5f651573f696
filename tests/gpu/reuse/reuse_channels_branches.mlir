// RUN: tilec opt %s --passes reuse-channels --target sm_100a
// Loops in the two branches of an `if` never run both.

#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!x = tensor<128x64xf16, #rows>
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
tile_gpu.kernel @k(%p: i64, %n: i32, %m: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %ca = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse ring : channel<[!a]>
  %cb = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse ring : channel<[!a]>
  %c = arith.cmpi slt, %n, %m : i32
  scf.if %c {
    scf.for %ica4 = %zero to %n step %one : i32 {
      %sca6 = tile_gpu.put_begin %ca : channel<[!a]>
      tile_gpu.tma_load %map[%ica4, %zero] -> %sca6 of %ca : !a
      tile_gpu.put_commit %ca : channel<[!a]>
      %gca6 = tile_gpu.get %ca consumer 0 : channel<[!a]>
      %xca6 = tile_gpu.load_shared %gca6 : !a -> !x
      tile_gpu.release %ca consumer 0 : channel<[!a]>
    }
  } else {
    scf.for %icb4 = %zero to %m step %one : i32 {
      %scb6 = tile_gpu.put_begin %cb : channel<[!a]>
      tile_gpu.tma_load %map[%icb4, %zero] -> %scb6 of %cb : !a
      tile_gpu.put_commit %cb : channel<[!a]>
      %gcb6 = tile_gpu.get %cb consumer 0 : channel<[!a]>
      %xcb6 = tile_gpu.load_shared %gcb6 : !a -> !x
      tile_gpu.release %cb consumer 0 : channel<[!a]>
    }
  }
}

// CHECK: [[R:%.*]] = tile_gpu.make_channel
// CHECK-NOT: make_channel
// CHECK: scf.if
// CHECK: tile_gpu.put_begin [[R]]
// CHECK: } else {
// CHECK: tile_gpu.put_begin [[R]]
