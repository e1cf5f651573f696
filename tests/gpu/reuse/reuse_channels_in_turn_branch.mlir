// RUN: tilec opt %s --passes reuse-channels --target sm_100a
// One ring, though a multiply is in a branch: each role counts the slots that it uses.

!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<128x64xf32, tensor, lanes=128>
!cb = channel<[!b]>
!ca = channel<[!a]>
tile_gpu.kernel @branch(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %yes = arith.constant true
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
    %g = tile_gpu.get %c consumer 0 : !cb
    tile_gpu.tcgen05_mma f16 %w, %g into %d accumulate %yes : !a, !b -> !d
    tile_gpu.release %c consumer 0 : !cb
    %is_last = arith.cmpi eq, %k, %one : i32
    scf.if %is_last {
      %t = tile_gpu.put_begin %e : !cb
      tile_gpu.tma_load %map[%one, %k] -> %t of %e : !b
      tile_gpu.put_commit %e : !cb
      %h = tile_gpu.get %e consumer 0 : !cb
      tile_gpu.tcgen05_mma f16 %w, %h into %d accumulate %yes : !a, !b -> !d
      tile_gpu.release %e consumer 0 : !cb
    }
  }
  tile_gpu.put_commit %cd : channel<[!d]>
  %x = tile_gpu.get %cd consumer 0 : channel<[!d]>
  tile_gpu.release %cd consumer 0 : channel<[!d]>
  tile_gpu.release %q consumer 0 : !ca
}

// CHECK: [[C:%.*]] = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring
// CHECK-NOT: reuse ring
// CHECK: put_begin [[C]]
// CHECK: get [[C]]
// CHECK: release [[C]]
// CHECK: scf.if
// CHECK: put_begin [[C]]
// CHECK: get [[C]]
// CHECK: release [[C]]
