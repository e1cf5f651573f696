// RUN: tilec opt %s --passes assign-roles,make-channels,partition-roles --target sm_100a
// Two chains: the threads of each read the sums of a multiply and place the operand of another one. The second chain has a role of
// its own, with a copy of the constant that both need, and is a consumer of its own of the tile that both read.

#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!tile = tensor<128x64xf32, #rows>
!half = tensor<128x64xf16, #rows>
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!p = buffer<128x64xf16, tensor, lanes=128 packed>
!d = buffer<128x64xf32, tensor, lanes=128>
tile_gpu.kernel @k(%q: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %no = arith.constant false
  %left = tile_gpu.make_tensor_map "f16" %q[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %right = tile_gpu.make_tensor_map "f16" %q[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %factor = arith.constant dense<2.0> : !half
  %q0 = tile_gpu.load_tile %left[%zero, %zero] : !a
  %q1 = tile_gpu.load_tile %left[%zero, %one] : !a
  scf.for %i = %zero to %n step %one : i32 {
    %k = tile_gpu.load_tile %right[%zero, %i] : !b
    %bias = tile_gpu.load_tile %left[%zero, %i] : !a
    %more = tile_gpu.read %bias : !a -> !half
    %u0 = tile_gpu.undefined : !d
    %s0 = tile_gpu.multiply f16 %q0, %k, %u0 accumulate %no : !a, !b -> !d
    %r0 = tile_gpu.read %s0 : !d -> !tile
    %h0 = arith.truncf %r0 : !tile to !half
    %x0 = arith.mulf %h0, %factor : !half
    %y0 = arith.addf %x0, %more : !half
    %p0 = tile_gpu.place %y0 : !half -> !p
    %v0 = tile_gpu.undefined : !d
    %o0 = tile_gpu.multiply f16 %p0, %k, %v0 accumulate %no : !p, !b -> !d
    %e0 = tile_gpu.read %o0 : !d -> !tile
    %u1 = tile_gpu.undefined : !d
    %s1 = tile_gpu.multiply f16 %q1, %k, %u1 accumulate %no : !a, !b -> !d
    %r1 = tile_gpu.read %s1 : !d -> !tile
    %h1 = arith.truncf %r1 : !tile to !half
    %x1 = arith.mulf %h1, %factor : !half
    %y1 = arith.addf %x1, %more : !half
    %p1 = tile_gpu.place %y1 over %s1 : !d : !half -> !p
    %v1 = tile_gpu.undefined : !d
    %o1 = tile_gpu.multiply f16 %p1, %k, %v1 accumulate %no : !p, !b -> !d
    %e1 = tile_gpu.read %o1 : !d -> !tile
  }
}

// CHECK: [[BIAS:%.*]] = tile_gpu.make_channel stages 1 producer tma consumers [threads, threads] reuse ring
// CHECK: [[SUMS:%.*]] = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : !channel_128x64xf32
// CHECK: [[GIVEN:%.*]] = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse once shares [[SUMS]] : !channel_128x64xf16
// CHECK: tile_gpu.roles compute warps 4 {
// CHECK: dense<2.0
// CHECK: tile_gpu.get [[BIAS]] consumer 0
// CHECK-NOT: tile_gpu.get [[SUMS]]
// CHECK: } compute1 warps 4 {
// CHECK: dense<2.0
// CHECK: tile_gpu.get [[BIAS]] consumer 1
// CHECK: tile_gpu.get [[SUMS]]
// CHECK: tile_gpu.put_commit [[GIVEN]]
// CHECK: } load warps 1 {
// CHECK: } mma warps 1 {
