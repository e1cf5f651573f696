// RUN: tilec opt %s --passes reuse-channels --target sm_100a
// No ring for two loads: the first loop has a multiply of a tile that threads store, before which others may run ahead;
// a store is between the loads and the get in the second.

#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!x = tensor<128x64xf16, #rows>
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<128x64xf32, tensor, lanes=128>
!cb = channel<[!b]>
!ca = channel<[!a]>
tile_gpu.kernel @stored(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %yes = arith.constant true
  %none = arith.constant dense<0.0> : !x
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %q = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse ring : !ca
  %c = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : !cb
  %e = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : !cb
  %cd = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %d = tile_gpu.put_begin %cd : channel<[!d]>
  scf.for %k = %zero to %n step %one : i32 {
    %u = tile_gpu.put_begin %q : !ca
    tile_gpu.store_shared %none, %u : !x -> !a
    tile_gpu.put_commit %q : !ca
    %w = tile_gpu.get %q consumer 0 : !ca
    %s = tile_gpu.put_begin %c : !cb
    tile_gpu.tma_load %map[%zero, %k] -> %s of %c : !b
    tile_gpu.put_commit %c : !cb
    %g = tile_gpu.get %c consumer 0 : !cb
    tile_gpu.tcgen05_mma f16 %w, %g into %d accumulate %yes : !a, !b -> !d
    tile_gpu.release %c consumer 0 : !cb
    %t = tile_gpu.put_begin %e : !cb
    tile_gpu.tma_load %map[%one, %k] -> %t of %e : !b
    tile_gpu.put_commit %e : !cb
    %h = tile_gpu.get %e consumer 0 : !cb
    tile_gpu.tcgen05_mma f16 %w, %h into %d accumulate %yes : !a, !b -> !d
    tile_gpu.release %e consumer 0 : !cb
    tile_gpu.release %q consumer 0 : !ca
  }
  tile_gpu.put_commit %cd : channel<[!d]>
  %x = tile_gpu.get %cd consumer 0 : channel<[!d]>
  tile_gpu.release %cd consumer 0 : channel<[!d]>
}

// CHECK: kernel @stored
// CHECK-COUNT-2: make_channel stages 1 producer tma
// CHECK: tile_gpu.kernel @changed

tile_gpu.kernel @changed(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %yes = arith.constant true
  %none = arith.constant dense<0.0> : !x
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %wide = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %q = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse once : !ca
  %c = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : !cb
  %e = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : !cb
  %cd = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %u = tile_gpu.put_begin %q : !ca
  tile_gpu.tma_load %wide[%zero, %zero] -> %u of %q : !a
  tile_gpu.put_commit %q : !ca
  %w = tile_gpu.get %q consumer 0 : !ca
  %d = tile_gpu.put_begin %cd : channel<[!d]>
  scf.for %k = %zero to %n step %one : i32 {
    %s = tile_gpu.put_begin %c : !cb
    tile_gpu.tma_load %map[%zero, %k] -> %s of %c : !b
    tile_gpu.put_commit %c : !cb
    %t = tile_gpu.put_begin %e : !cb
    tile_gpu.tma_load %map[%one, %k] -> %t of %e : !b
    tile_gpu.put_commit %e : !cb
    %g = tile_gpu.get %c consumer 0 : !cb
    tile_gpu.tcgen05_mma f16 %w, %g into %d accumulate %yes : !a, !b -> !d
    tile_gpu.release %c consumer 0 : !cb
    tile_gpu.store_view %none -> %p[%zero, %k] extents [%n, %n] strides [%n, %one] vector 1 : !x
    %h = tile_gpu.get %e consumer 0 : !cb
    tile_gpu.tcgen05_mma f16 %w, %h into %d accumulate %yes : !a, !b -> !d
    tile_gpu.release %e consumer 0 : !cb
  }
  tile_gpu.put_commit %cd : channel<[!d]>
  %x = tile_gpu.get %cd consumer 0 : channel<[!d]>
  tile_gpu.release %cd consumer 0 : channel<[!d]>
  tile_gpu.release %q consumer 0 : !ca
}

// CHECK-COUNT-2: producer tma consumers [mma] reuse ring
