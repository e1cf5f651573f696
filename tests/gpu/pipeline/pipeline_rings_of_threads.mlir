// RUN: tilec opt %s --passes partition-roles,pipeline --target sm_100a
// Threads read a ring of small tiles beside the products: it gets as many slots more than wanted as the ring of the operands. One role
// fills both, so that the operands would be no further ahead than the tiles of threads.

#t = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32)(0,64) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x128"
#r = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32)(0,64) lane=(0,0)(0,0)(0,0)(0,0)(0,0) warp=(0,0)(0,0) shape=1x128"
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!h = buffer<64x128xf16, shared, contiguous=0 swizzle=128B>
!f = buffer<1x128xf32, shared, contiguous=1 swizzle=none>
!d = buffer<128x128xf32, tensor, lanes=128>
!t = tensor<128x128xf32, #t>
!r = tensor<1x128xf32, #r>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %no = arith.constant false
  %start = arith.constant dense<0.0> : !t
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %factors = tile_gpu.make_tensor_map "f32" %p[%n, %n] strides [%n] box [128, 1] swizzle none fill zero
  %operands = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring wanted 3 : channel<[!a, !b]>
  %rows = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse ring wanted 3 : channel<[!f]>
  %products = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse ring : channel<[!d]>
  %sum = scf.for %k = %zero to %n step %one iter_args(%total = %start) -> (!t) : i32 {
    %s:2 = tile_gpu.put_begin %operands : channel<[!a, !b]>
    tile_gpu.tma_load %map[%k, %zero] -> %s#0 of %operands : !a
    tile_gpu.tma_load %map[%k, %zero] -> %s#1 of %operands : !b
    tile_gpu.put_commit %operands : channel<[!a, !b]>
    %u = tile_gpu.put_begin %rows : channel<[!f]>
    tile_gpu.tma_load %factors[%zero, %k] -> %u of %rows : !f
    tile_gpu.put_commit %rows : channel<[!f]>
    %d = tile_gpu.put_begin %products : channel<[!d]>
    %g:2 = tile_gpu.get %operands consumer 0 : channel<[!a, !b]>
    %h = tile_gpu.view_buffer %g#1 : !b -> !h
    tile_gpu.tcgen05_mma f16 %g#0, %h into %d accumulate %no : !a, !h -> !d
    tile_gpu.put_commit %products : channel<[!d]>
    tile_gpu.release %operands consumer 0 : channel<[!a, !b]>
    %e = tile_gpu.get %products consumer 0 : channel<[!d]>
    %tile = tile_gpu.load_tensor_memory %e : !d -> !t
    tile_gpu.release %products consumer 0 : channel<[!d]>
    %v = tile_gpu.get %rows consumer 0 : channel<[!f]>
    %row = tile_gpu.load_shared %v : !f -> !r
    tile_gpu.release %rows consumer 0 : channel<[!f]>
    %factor = tile_gpu.broadcast %row : !r -> !t
    %next = math.fma %tile, %factor, %total : !t
    scf.yield %next : !t
  }
}

// CHECK: make_channel stages 6 producer tma consumers [mma] {{.*}} wanted 3
// CHECK: make_channel stages 6 producer tma consumers [threads] {{.*}} wanted 3
