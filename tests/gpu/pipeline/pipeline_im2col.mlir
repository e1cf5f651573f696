// RUN: tilec opt %s --passes partition-roles,pipeline --target sm_100a
// RUN: tilec compile %s --emit ptx --target sm_100a --check-prefix=PTX
// Loads at the taps of a window are loads as any other: role `load` computes their offsets, and the ring gets slots.

!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<128x64xf32, tensor, lanes=128>
!ring = channel<[!a, !b]>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 attributes {tilec.signature =
    "{\"arguments\": [{\"name\": \"p\", \"kind\": \"pointer\", \"element\": \"f16\", \"alignment\": 16}, "
    "{\"name\": \"n\", \"kind\": \"scalar\", \"element\": \"i32\"}]}"} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %nine = arith.constant 9 : i32
  %yes = arith.constant true
  %image = tile_gpu.make_tensor_map "f16" %p[%n, %n, %n, %n] strides [%n, %n, %n]
    kind im2col lower [-1, -1] upper [-1, -1] element_strides [1, 1, 1, 1] box [64, 128] swizzle 128B fill zero
  %filter = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %ring = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : !ring
  %cd = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %i = tile_gpu.program_id 0
  %w = arith.subi %i, %one : i32
  %d = tile_gpu.put_begin %cd : channel<[!d]>
  scf.for %tap = %zero to %nine step %one : i32 {
    %s = arith.remui %tap, %three : i32
    %r = arith.divui %tap, %three : i32
    %os = arith.trunci %s : i32 to i16
    %or = arith.trunci %r : i32 to i16
    %put:2 = tile_gpu.put_begin %ring : !ring
    tile_gpu.tma_load %image[%zero, %w, %w, %zero] offsets [%os, %or] -> %put#0 of %ring : !a
    tile_gpu.tma_load %filter[%zero, %tap] -> %put#1 of %ring : !b
    tile_gpu.put_commit %ring : !ring
    %held:2 = tile_gpu.get %ring consumer 0 : !ring
    tile_gpu.tcgen05_mma f16 %held#0, %held#1 into %d accumulate %yes : !a, !b -> !d
    tile_gpu.release %ring consumer 0 : !ring
  }
  tile_gpu.put_commit %cd : channel<[!d]>
  %g = tile_gpu.get %cd consumer 0 : channel<[!d]>
  tile_gpu.release %cd consumer 0 : channel<[!d]>
}

// CHECK: [[IMAGE:%.*]] = tile_gpu.make_tensor_map "f16" %arg0[%arg1, %arg1, %arg1, %arg1] strides [%arg1, %arg1, %arg1] kind im2col lower
// CHECK: make_channel stages 4 producer tma
// CHECK: tile_gpu.roles compute warps 4 {
// CHECK-NOT: arith.trunci
// CHECK: } load warps 1 {
// CHECK: scf.for
// CHECK: [[S:%.*]] = arith.remui
// CHECK: [[R:%.*]] = arith.divui
// CHECK: [[OS:%.*]] = arith.trunci [[S]]
// CHECK: [[OR:%.*]] = arith.trunci [[R]]
// CHECK: tile_gpu.tma_load [[IMAGE]][{{.*}}] offsets {{\[}}[[OS]], [[OR]]] -> {{.*}}
// CHECK: } mma warps 1 {
// CHECK-NOT: tma_load
// CHECK: tile_gpu.tcgen05_mma

// PTX: mbarrier.arrive.expect_tx.shared::cta.b64 _, [{{%r[0-9]+}}], 24576;
// PTX: cp.async.bulk.tensor.4d.shared::cta.global.im2col.mbarrier::complete_tx::bytes
// PTX: {{%h[0-9]+, %h[0-9]+}}
// PTX: cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes
