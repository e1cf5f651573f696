// RUN: tilec opt %s --passes order-steps --target sm_100a
// A tile that TMA has loaded is read where it meets the sums, its wait is beside theirs, and its release after the
// reduction; a tile that is only stored stays where it is.

!b = buffer<128x64xf32, shared, contiguous=1 swizzle=128B>
!d = buffer<128x64xf32, tensor, lanes=128>
!p = buffer<128x64xf16, tensor, lanes=128 packed>
#whole = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
#row = "register=(0)(0)(0)(0)(0)(0) lane=(1)(2)(4)(8)(16) warp=(32)(64) shape=128"
!w = tensor<128x64xf32, #whole>
!h = tensor<128x64xf16, #whole>
!r = tensor<128xf32, #row>
tile_gpu.kernel @k(%n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %bias = tile_gpu.make_channel stages 2 producer tma consumers [threads] reuse ring : channel<[!b]>
  %other = tile_gpu.make_channel stages 2 producer tma consumers [threads] reuse ring : channel<[!b]>
  %sums = tile_gpu.make_channel stages 2 producer mma consumers [threads] reuse ring : channel<[!d]>
  %operand = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse ring : channel<[!p]>
  // CHECK: [[BIAS:%.*]] = tile_gpu.make_channel stages 2 producer tma
  // CHECK: [[OTHER:%.*]] = tile_gpu.make_channel stages 2 producer tma
  // CHECK: [[SUMS:%.*]] = tile_gpu.make_channel stages 2 producer mma
  // CHECK: scf.for
  // CHECK: tile_gpu.get [[OTHER]] consumer 0
  // CHECK-NEXT: tile_gpu.load_shared
  // CHECK-NEXT: tile_gpu.release [[OTHER]] consumer 0
  // CHECK: tile_gpu.get [[SUMS]] consumer 0
  // CHECK-NEXT: tile_gpu.get [[BIAS]] consumer 0
  // CHECK-NEXT: tile_gpu.load_tensor_memory
  // CHECK-NEXT: tile_gpu.load_shared
  // CHECK-NEXT: arith.negf
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: tile_gpu.reduce
  // CHECK: tile_gpu.release [[BIAS]] consumer 0
  scf.for %i = %zero to %n step %one : i32 {
    %f = tile_gpu.get %bias consumer 0 : channel<[!b]>
    %v = tile_gpu.load_shared %f : !b -> !w
    tile_gpu.release %bias consumer 0 : channel<[!b]>
    %o = tile_gpu.get %other consumer 0 : channel<[!b]>
    %k = tile_gpu.load_shared %o : !b -> !w
    tile_gpu.release %other consumer 0 : channel<[!b]>
    %l = arith.truncf %k : !w to !h
    %slot = tile_gpu.put_begin %operand : channel<[!p]>
    tile_gpu.store_tensor_memory %l, %slot : !h -> !p
    tile_gpu.put_commit %operand : channel<[!p]>
    %g = tile_gpu.get %sums consumer 0 : channel<[!d]>
    %x = tile_gpu.load_tensor_memory %g : !d -> !w
    tile_gpu.release %sums consumer 0 : channel<[!d]>
    %u = arith.negf %v : !w
    %y = arith.addf %x, %u : !w
    %m = tile_gpu.reduce %y dimension 1 identities [0.0 : f32] : !w -> !r (%a: f32, %b: f32) {
      %c = arith.maxnumf %a, %b : f32
      tile_gpu.yield %c : f32
    }
    tile_gpu.print "%f", %m : !r
  }
}
