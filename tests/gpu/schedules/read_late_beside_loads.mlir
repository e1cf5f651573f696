// RUN: tilec opt %s --passes order-steps --target sm_100a
// TMA loads of other tiles between the sums and their reduction do not hold up the wait for a tile, or the releases.

!b = buffer<128x64xf32, shared, contiguous=1 swizzle=128B>
!v = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<128x64xf32, tensor, lanes=128>
#whole = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
#row = "register=(0)(0)(0)(0)(0)(0) lane=(1)(2)(4)(8)(16) warp=(32)(64) shape=128"
!w = tensor<128x64xf32, #whole>
!r = tensor<128xf32, #row>
tile_gpu.kernel @k(%n: i64, %p: i64) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %steps = arith.trunci %n : i64 to i32
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %bias = tile_gpu.make_channel stages 2 producer tma consumers [threads] reuse ring : channel<[!b]>
  %values = tile_gpu.make_channel stages 2 producer tma consumers [mma] reuse ring : channel<[!v]>
  %sums = tile_gpu.make_channel stages 2 producer mma consumers [threads] reuse ring : channel<[!d]>
  // CHECK: [[BIAS:%.*]] = tile_gpu.make_channel stages 2 producer tma
  // CHECK: [[VALUES:%.*]] = tile_gpu.make_channel stages 2 producer tma
  // CHECK: [[SUMS:%.*]] = tile_gpu.make_channel stages 2 producer mma
  // CHECK: scf.for
  // CHECK: tile_gpu.get [[SUMS]] consumer 0
  // CHECK-NEXT: tile_gpu.get [[BIAS]] consumer 0
  // CHECK-NEXT: tile_gpu.load_tensor_memory
  // CHECK-NEXT: tile_gpu.load_shared
  // CHECK-NEXT: arith.addf
  // CHECK: tile_gpu.put_begin [[VALUES]]
  // CHECK: tile_gpu.put_commit [[VALUES]]
  // CHECK-NEXT: tile_gpu.reduce
  // CHECK: tile_gpu.release [[BIAS]] consumer 0
  // CHECK-NEXT: tile_gpu.release [[SUMS]] consumer 0
  scf.for %i = %zero to %steps step %one : i32 {
    %f = tile_gpu.get %bias consumer 0 : channel<[!b]>
    %v = tile_gpu.load_shared %f : !b -> !w
    tile_gpu.release %bias consumer 0 : channel<[!b]>
    %g = tile_gpu.get %sums consumer 0 : channel<[!d]>
    %x = tile_gpu.load_tensor_memory %g : !d -> !w
    tile_gpu.release %sums consumer 0 : channel<[!d]>
    %y = arith.addf %x, %v : !w
    %s = tile_gpu.put_begin %values : channel<[!v]>
    tile_gpu.tma_load %map[%zero, %i] -> %s of %values : !v
    tile_gpu.put_commit %values : channel<[!v]>
    %m = tile_gpu.reduce %y dimension 1 identities [0.0 : f32] : !w -> !r (%a: f32, %b: f32) {
      %c = arith.maxnumf %a, %b : f32
      tile_gpu.yield %c : f32
    }
    tile_gpu.print "%f", %m : !r
  }
}
