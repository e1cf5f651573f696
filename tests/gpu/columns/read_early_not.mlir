// RUN: tilec opt %s --passes read-early --target sm_100a
// Tensor memory has room for a second accumulator, which lets the next tile start: columns are read where they are stored.

!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x256xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<128x256xf32, tensor, lanes=128>
#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!x = tensor<128x64xf32, #rows>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %yes = arith.constant true
  %ma = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %mb = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %c = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : channel<[!a, !b]>
  %cd = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse ring : channel<[!d]>
  scf.for %i = %zero to %n step %one : i32 {
    %d = tile_gpu.put_begin %cd : channel<[!d]>
    scf.for %k = %zero to %n step %one : i32 {
      %sa, %sb = tile_gpu.put_begin %c : channel<[!a, !b]>
      tile_gpu.tma_load %ma[%k, %i] -> %sa of %c : !a
      tile_gpu.tma_load %mb[%i, %k] -> %sb of %c : !b
      tile_gpu.put_commit %c : channel<[!a, !b]>
      %ga, %gb = tile_gpu.get %c consumer 0 : channel<[!a, !b]>
      tile_gpu.tcgen05_mma f16 %ga, %gb into %d accumulate %yes : !a, !b -> !d
      tile_gpu.release %c consumer 0 : channel<[!a, !b]>
    }
    tile_gpu.put_commit %cd : channel<[!d]>
    %g = tile_gpu.get %cd consumer 0 : channel<[!d]>
    %x0 = tile_gpu.load_tensor_memory %g from 0 : !d -> !x
    tile_gpu.store_view %x0 -> %p[%i, %zero] extents [%n, %n] strides [%n, %one] vector 1 : !x
    %x1 = tile_gpu.load_tensor_memory %g from 64 : !d -> !x
    tile_gpu.release %cd consumer 0 : channel<[!d]>
    tile_gpu.store_view %x1 -> %p[%i, %one] extents [%n, %n] strides [%n, %one] vector 1 : !x
  }
}

// CHECK: tile_gpu.load_tensor_memory {{.*}} from 0
// CHECK-NEXT: tile_gpu.store_view
// CHECK-NEXT: [[X:%[0-9a-z_]+]] = tile_gpu.load_tensor_memory {{.*}} from 64
// CHECK-NEXT: tile_gpu.release %channel_1 consumer 0
// CHECK-NEXT: tile_gpu.store_view [[X]]
