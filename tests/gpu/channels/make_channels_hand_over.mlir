// RUN: tilec opt %s --passes make-channels --target sm_100a
// Threads change the accumulator before each multiply. They take it at their first access of an iteration, from the multiply
// of the iteration before; before the loop, the multiplies give it to them once.

!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<128x64xf32, tensor, lanes=128>
#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!t = tensor<128x64xf32, #rows>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %yes = arith.constant true
  %tile = arith.constant dense<0.0> : !t
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %other = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %start = tile_gpu.place %tile : !t -> !d
  %r = scf.for %i = %zero to %n step %one iter_args(%s = %start) -> (!d) : i32 {
    %a = tile_gpu.load_tile %map[%zero, %i] : !a
    %b = tile_gpu.load_tile %other[%zero, %i] : !b
    %old = tile_gpu.read %s : !d -> !t
    %new = arith.addf %old, %old : !t
    %c = tile_gpu.place %new : !t -> !d
    %m = tile_gpu.multiply f16 %a, %b, %c accumulate %yes : !a, !b -> !d
    scf.yield %m : !d
  }
  %t = tile_gpu.read %r : !d -> !t
  tile_gpu.store_view %t -> %p[%zero, %zero] extents [%n, %n] strides [%n, %one] vector 1 : !t
}

// CHECK: [[OUT:%.*]] = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : {{.*}}128x64xf32
// CHECK: [[IN:%.*]] = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse once shares [[OUT]]
// CHECK: tile_gpu.store_tensor_memory %cst
// CHECK: tile_gpu.put_commit [[IN]]
// CHECK: tile_gpu.get [[IN]] consumer 0
// CHECK: tile_gpu.put_commit [[OUT]]
// CHECK: scf.for
// CHECK:   tile_gpu.get [[OUT]] consumer 0
// CHECK:   [[OLD:%.*]] = tile_gpu.load_tensor_memory
// CHECK:   [[NEW:%.*]] = arith.addf [[OLD]], [[OLD]]
// CHECK:   tile_gpu.store_tensor_memory [[NEW]]
// CHECK:   tile_gpu.put_commit [[IN]]
// CHECK:   tile_gpu.get [[IN]] consumer 0
// CHECK:   tile_gpu.tcgen05_mma
// CHECK:   tile_gpu.put_commit [[OUT]]
// CHECK: }
// CHECK: tile_gpu.get [[OUT]] consumer 0
// CHECK: tile_gpu.load_tensor_memory
