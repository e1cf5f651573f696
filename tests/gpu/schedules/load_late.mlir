// RUN: tilec opt %s --passes order-steps --target sm_100a
// A product of 128 registers is loaded where it is added to a sum that the loop carries, after the tile that TMA has
// loaded. One that is followed by a wait for another product stays, and so does one of 64 registers.

!f = buffer<128x128xf32, shared, contiguous=1 swizzle=128B>
!d = buffer<128x128xf32, tensor, lanes=128>
!e = buffer<128x64xf32, tensor, lanes=128>
#whole = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32)(0,64) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x128"
#part = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!w = tensor<128x128xf32, #whole>
!p = tensor<128x64xf32, #part>
tile_gpu.kernel @k(%n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : !w
  %few = arith.constant dense<0.0> : !p
  %factors = tile_gpu.make_channel stages 2 producer tma consumers [threads] reuse ring : channel<[!f]>
  %sums = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse ring : channel<[!d]>
  %others = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse ring : channel<[!d]>
  %small = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse ring : channel<[!e]>
  // CHECK: [[FACTORS:%.*]] = tile_gpu.make_channel stages 2 producer tma
  // CHECK: [[SUMS:%.*]] = tile_gpu.make_channel stages 1 producer mma
  // CHECK: [[OTHERS:%.*]] = tile_gpu.make_channel stages 1 producer mma
  // CHECK: [[SMALL:%.*]] = tile_gpu.make_channel stages 1 producer mma
  // CHECK: scf.for
  // CHECK: tile_gpu.get [[FACTORS]] consumer 0
  // CHECK: tile_gpu.get [[SUMS]] consumer 0
  // CHECK-NEXT: tile_gpu.load_tensor_memory
  // CHECK-NEXT: math.fma
  // CHECK-NEXT: tile_gpu.release [[SUMS]] consumer 0
  // CHECK: tile_gpu.get [[OTHERS]] consumer 0
  // CHECK-NEXT: tile_gpu.load_tensor_memory
  // CHECK-NEXT: tile_gpu.release [[OTHERS]] consumer 0
  // CHECK: tile_gpu.get [[SMALL]] consumer 0
  // CHECK-NEXT: tile_gpu.load_tensor_memory
  // CHECK-NEXT: tile_gpu.release [[SMALL]] consumer 0
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: arith.addf
  %r, %s, %t = scf.for %i = %zero to %n step %one iter_args(%a = %none, %b = %none, %c = %few) -> (!w, !w, !p) : i32 {
    %x = tile_gpu.get %sums consumer 0 : channel<[!d]>
    %product = tile_gpu.load_tensor_memory %x : !d -> !w
    tile_gpu.release %sums consumer 0 : channel<[!d]>
    %g = tile_gpu.get %factors consumer 0 : channel<[!f]>
    %factor = tile_gpu.load_shared %g : !f -> !w
    tile_gpu.release %factors consumer 0 : channel<[!f]>
    %u = math.fma %product, %factor, %a : !w
    %y = tile_gpu.get %others consumer 0 : channel<[!d]>
    %other = tile_gpu.load_tensor_memory %y : !d -> !w
    tile_gpu.release %others consumer 0 : channel<[!d]>
    %z = tile_gpu.get %small consumer 0 : channel<[!e]>
    %number = tile_gpu.load_tensor_memory %z : !e -> !p
    tile_gpu.release %small consumer 0 : channel<[!e]>
    %v = arith.addf %other, %b : !w
    %q = arith.addf %number, %c : !p
    scf.yield %u, %v, %q : !w, !w, !p
  }
  tile_gpu.return
}
