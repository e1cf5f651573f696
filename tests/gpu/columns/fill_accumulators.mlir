// RUN: tilec opt %s --passes fill-accumulators --target sm_100a
// An accumulator that no multiply has written is filled in tensor memory. A slot that others read stays as it is, and so
// does a branch with an effect.

#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!t = tensor<128x64xf32, #rows>
!d = buffer<128x128xf32, tensor, lanes=128>
!c = channel<[!d]>
tile_gpu.kernel @k(%n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %none = arith.constant dense<0.0> : !t
  %one = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : !c
  %two = tile_gpu.make_channel stages 1 producer mma consumers [threads, mma] reuse once : !c
  %ran = arith.cmpi slt, %zero, %n : i32
  %slot = tile_gpu.get %one consumer 0 : !c
  %x = scf.if %ran -> (!t) {
    %y = tile_gpu.load_tensor_memory %slot from 64 : !d -> !t
    scf.yield %y : !t
  } else {
    scf.yield %none : !t
  }
  tile_gpu.release %one consumer 0 : !c
  %held = tile_gpu.get %two consumer 0 : !c
  %z = scf.if %ran -> (!t) {
    %y = tile_gpu.load_tensor_memory %held from 0 : !d -> !t
    scf.yield %y : !t
  } else {
    scf.yield %none : !t
  }
  tile_gpu.release %two consumer 0 : !c
  %three = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : !c
  %again = tile_gpu.get %three consumer 0 : !c
  %v = scf.if %ran -> (!t) {
    %y = tile_gpu.load_tensor_memory %again from 0 : !d -> !t
    scf.yield %y : !t
  } else {
    scf.yield %none : !t
  }
  %w = tile_gpu.load_tensor_memory %again from 0 : !d -> !t
  tile_gpu.release %three consumer 0 : !c
  %four = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : !c
  %last = tile_gpu.get %four consumer 0 : !c
  %u = scf.if %ran -> (!t) {
    %y = tile_gpu.load_tensor_memory %last from 0 : !d -> !t
    scf.yield %y : !t
  } else {
    tile_gpu.barrier
    scf.yield %none : !t
  }
  tile_gpu.release %four consumer 0 : !c
}

// CHECK: %[[RAN:.*]] = arith.cmpi slt
// CHECK: %[[NEVER:.*]] = arith.xori %[[RAN]], %true
// CHECK-NEXT: scf.if %[[NEVER]] {
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant dense<0.000000e+00>
// CHECK-NEXT: tile_gpu.store_tensor_memory %[[ZERO]], %[[SLOT:.*]] from 64
// CHECK-NEXT: }
// CHECK-NEXT: tile_gpu.load_tensor_memory %[[SLOT]] from 64
// CHECK-NEXT: tile_gpu.release
// CHECK: scf.if %[[RAN]] ->
// CHECK-NEXT: tile_gpu.load_tensor_memory
// CHECK: tile_gpu.get
// CHECK-NEXT: scf.if %[[RAN]] ->
// CHECK-NEXT: tile_gpu.load_tensor_memory
// CHECK: tile_gpu.get
// CHECK-NEXT: scf.if %[[RAN]] ->
// CHECK-NEXT: tile_gpu.load_tensor_memory
// CHECK: } else {
// CHECK-NEXT: tile_gpu.barrier
