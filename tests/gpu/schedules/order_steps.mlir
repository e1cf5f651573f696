// RUN: tilec opt %s --passes order-steps --target sm_100a
// The slot of sums is released behind the reduction of the tile; what needs no slot of the operand precedes the wait for it.

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
  %sums = tile_gpu.make_channel stages 2 producer mma consumers [threads] reuse ring : channel<[!d]>
  %operand = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse ring : channel<[!p]>
  // CHECK: scf.for
  // CHECK-NEXT: tile_gpu.get [[S:%.*]] consumer 0
  // CHECK-NEXT: tile_gpu.load_tensor_memory
  // CHECK-NEXT: arith.negf
  // CHECK-NEXT: tile_gpu.reduce
  // CHECK: tile_gpu.release [[S]] consumer 0
  // CHECK-NEXT: math.exp2
  // CHECK-NEXT: tile_gpu.reduce
  // CHECK: tile_gpu.put_begin [[P:%.*]] :
  // CHECK-NEXT: arith.truncf
  // CHECK-NEXT: tile_gpu.store_tensor_memory
  // CHECK-NEXT: tile_gpu.put_commit [[P]]
  // CHECK-NEXT: tile_gpu.get [[S]] consumer 0
  // CHECK-NEXT: tile_gpu.load_tensor_memory
  // CHECK-NEXT: tile_gpu.release [[S]] consumer 0
  scf.for %i = %zero to %n step %one : i32 {
    %g = tile_gpu.get %sums consumer 0 : channel<[!d]>
    %x = tile_gpu.load_tensor_memory %g : !d -> !w
    tile_gpu.release %sums consumer 0 : channel<[!d]>
    %y = arith.negf %x : !w
    %m = tile_gpu.reduce %y dimension 1 identities [0.0 : f32] : !w -> !r (%a: f32, %b: f32) {
      %c = arith.maxnumf %a, %b : f32
      tile_gpu.yield %c : f32
    }
    %e = math.exp2 %y : !w
    %slot = tile_gpu.put_begin %operand : channel<[!p]>
    %q = arith.truncf %e : !w to !h
    tile_gpu.store_tensor_memory %q, %slot : !h -> !p
    tile_gpu.put_commit %operand : channel<[!p]>
    %t = tile_gpu.reduce %e dimension 1 identities [0.0 : f32] : !w -> !r (%a: f32, %b: f32) {
      %c = arith.addf %a, %b : f32
      tile_gpu.yield %c : f32
    }
    // Without a reduction, the release stays where it is.
    %h = tile_gpu.get %sums consumer 0 : channel<[!d]>
    %u = tile_gpu.load_tensor_memory %h : !d -> !w
    tile_gpu.release %sums consumer 0 : channel<[!d]>
    tile_gpu.print "%f", %u : !w
    tile_gpu.print "%f", %m : !r
    tile_gpu.print "%f", %t : !r
  }
}
