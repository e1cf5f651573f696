// RUN: tilec opt %s --passes order-steps --target sm_90a
// A thread has 128 registers of the first product, beside as many of the accumulator: the multiply adds it in parts of its columns, and
// threads convert and store the elements of lhs in turn. The second product has 64 registers and stays; so does the third, whose factor is
// loaded after the multiply. The fourth, whose short sums are added in f32, has a factor that can be computed before the multiply.

#d = "register=(0,1)(8,0)(0,8)(0,16)(0,32)(0,64)(0,128) lane=(0,2)(0,4)(1,0)(2,0)(4,0) warp=(16,0)(32,0)(64,0) shape=128x256"
#e = "register=(0,1)(8,0)(0,8)(0,16)(0,32)(0,64) lane=(0,2)(0,4)(1,0)(2,0)(4,0) warp=(16,0)(32,0)(64,0) shape=128x128"
#l = "register=(0,1)(0,2)(0,4)(0,8)(4,0) lane=(0,16)(0,32)(1,0)(2,0)(64,0) warp=(8,0)(16,0)(32,0) shape=128x64"
!d = tensor<128x256xf32, #d>
!e = tensor<128x128xf32, #e>
!n = tensor<128x64xf8E4M3FN, #l>
!w = tensor<128x64xbf16, #l>
!a = buffer<128x64xbf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x256xbf16, shared, contiguous=0 swizzle=128B>
!c = buffer<64x128xbf16, shared, contiguous=0 swizzle=128B>
!i = buffer<128x128xf8E4M3FN, shared, contiguous=1 swizzle=128B>
!j = buffer<128x256xf8E4M3FN, shared, contiguous=0 swizzle=128B>
!m = buffer<128x256xf32, shared, contiguous=1 swizzle=none>
tile_gpu.kernel @k(%n: i32, %m: i32, %x: f32) target "sm_90a" warps 8 {
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : !d
  %small = arith.constant dense<0.0> : !e
  %narrow = arith.constant dense<1.0> : !n
  %q = tile_gpu.make_channel stages 1 producer threads consumers [wgmma] reuse ring : channel<[!a]>
  %k = tile_gpu.make_channel stages 1 producer tma consumers [wgmma] reuse once : channel<[!b]>
  %j = tile_gpu.make_channel stages 1 producer tma consumers [wgmma] reuse once : channel<[!c]>
  %keys = tile_gpu.get %k consumer 0 : channel<[!b]>
  %others = tile_gpu.get %j consumer 0 : channel<[!c]>
  %bytes = tile_gpu.shared : !i
  %columns = tile_gpu.shared : !j
  %memory = tile_gpu.shared : !m
  %f = tile_gpu.splat %x : f32 -> !d
  %g = tile_gpu.splat %x : f32 -> !e
  %u = arith.constant dense<2.0> : !w
  %wide = tile_gpu.math "ftof.rn" %narrow : !n -> !w
  // A channel that is made after the elements of an operand is made before them.
  // CHECK: tile_gpu.make_channel {{.*}} producer threads consumers [wgmma] reuse once
  // CHECK-NEXT: [[ONCE:%.*]] = tile_gpu.put_begin
  // CHECK-NEXT: [[FIRST:%.*]] = arith.mulf
  // CHECK-NEXT: tile_gpu.store_shared [[FIRST]], [[ONCE]]
  %first = arith.mulf %u, %u : !w
  %made = tile_gpu.make_channel stages 1 producer threads consumers [wgmma] reuse once : channel<[!a]>
  %free = tile_gpu.put_begin %made : channel<[!a]>
  tile_gpu.store_shared %first, %free : !w -> !a
  tile_gpu.put_commit %made : channel<[!a]>
  %stored = tile_gpu.get %made consumer 0 : channel<[!a]>
  %t4 = tile_gpu.wgmma bf16 %stored, %keys, %none : !a, !b -> !d
  %y4 = tile_gpu.wgmma_wait %t4 pending 0 : !d
  %z4 = math.fma %y4, %f, %none : !d
  // CHECK: scf.for
  // CHECK: [[SLOT:%.*]] = tile_gpu.put_begin
  // CHECK-NEXT: [[TILE:%.*]] = tile_gpu.math "scale.rn"
  // CHECK-NEXT: tile_gpu.store_shared [[TILE]], [[SLOT]]
  // CHECK: tile_gpu.wgmma bf16 promote %{{.*}}, %{{.*}}, %{{.*}} times [%{{.*}}, %{{.*}}]
  // CHECK-NOT: wgmma_wait
  // CHECK: tile_gpu.wgmma bf16 %
  // CHECK: tile_gpu.wgmma_wait
  // CHECK: tile_gpu.wgmma bf16 %
  // CHECK: tile_gpu.wgmma_wait
  // CHECK: arith.addf
  // CHECK: tile_gpu.wgmma f8E4M3FN promote %{{.*}}, %{{.*}}, %{{.*}} times [%{{.*}}]
  %o, %p, %r, %q3 = scf.for %i = %m to %n step %one
      iter_args(%s = %none, %t = %small, %v = %z4, %w = %none) -> (!d, !e, !d, !d) : i32 {
    %scaled = arith.mulf %wide, %u : !w
    %empty = tile_gpu.put_begin %q : channel<[!a]>
    tile_gpu.store_shared %scaled, %empty : !w -> !a
    tile_gpu.put_commit %q : channel<[!a]>
    %left = tile_gpu.get %q consumer 0 : channel<[!a]>
    %t0 = tile_gpu.wgmma bf16 %left, %keys, %none : !a, !b -> !d
    %y0 = tile_gpu.wgmma_wait %t0 pending 0 : !d
    %h0 = arith.mulf %y0, %f : !d
    %z0 = math.fma %h0, %f, %s : !d
    %t1 = tile_gpu.wgmma bf16 %left, %others, %small : !a, !c -> !e
    %y1 = tile_gpu.wgmma_wait %t1 pending 0 : !e
    %z1 = math.fma %y1, %g, %t : !e
    %t2 = tile_gpu.wgmma bf16 %left, %keys, %none : !a, !b -> !d
    %y2 = tile_gpu.wgmma_wait %t2 pending 0 : !d
    %late = tile_gpu.load_shared %memory : !m -> !d
    %z2 = math.fma %y2, %late, %v : !d
    %t3 = tile_gpu.wgmma f8E4M3FN promote %bytes, %columns, %none : !i, !j -> !d
    %sum = arith.addf %f, %f : !d
    %z3 = math.fma %t3, %sum, %w : !d
    tile_gpu.release %q consumer 0 : channel<[!a]>
    scf.yield %z0, %z1, %z2, %z3 : !d, !e, !d, !d
  }
  tile_gpu.return
}
