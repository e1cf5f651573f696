// RUN: tilec opt %s --passes make-channels --target sm_100a
// A load outside of the loop is held by mma from before the loop until after it; one inside has a ring. The accumulator,
// which only multiplies fill, is put at its definition, and got where threads read it.

!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<128x64xf32, tensor, lanes=128>
#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!t = tensor<128x64xf32, #rows>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %no = arith.constant false
  %yes = arith.constant true
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %other = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %a = tile_gpu.load_tile %map[%zero, %zero] : !a
  %start = tile_gpu.undefined : !d
  %r:2 = scf.for %i = %zero to %n step %one iter_args(%s = %start, %f = %no) -> (!d, i1) : i32 {
    %b = tile_gpu.load_tile %other[%zero, %i] : !b
    %m = tile_gpu.multiply f16 %a, %b, %s accumulate %f : !a, !b -> !d
    scf.yield %m, %yes : !d, i1
  }
  %t = tile_gpu.read %r#0 : !d -> !t
  tile_gpu.store_view %t -> %p[%zero, %zero] extents [%n, %n] strides [%n, %one] vector 1 : !t
}

// CHECK: [[A:%.*]] = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse once
// CHECK: [[D:%.*]] = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once
// CHECK: [[B:%.*]] = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring
// CHECK: tile_gpu.put_begin [[A]]
// CHECK: tile_gpu.tma_load %map
// CHECK: tile_gpu.put_commit [[A]]
// CHECK: [[INTO:%.*]] = tile_gpu.put_begin [[D]]
// CHECK: [[HELD:%.*]] = tile_gpu.get [[A]] consumer 0
// CHECK: scf.for {{.*}} iter_args([[F:%.*]] = %false) -> (i1)
// CHECK:   tile_gpu.put_begin [[B]]
// CHECK:   [[RIGHT:%.*]] = tile_gpu.get [[B]] consumer 0
// CHECK:   tile_gpu.tcgen05_mma f16 [[HELD]], [[RIGHT]] into [[INTO]] accumulate [[F]]
// CHECK:   tile_gpu.release [[B]] consumer 0
// CHECK:   scf.yield %true
// CHECK: tile_gpu.put_commit [[D]]
// CHECK: tile_gpu.release [[A]] consumer 0
// CHECK: [[OUT:%.*]] = tile_gpu.get [[D]] consumer 0
// CHECK: tile_gpu.load_tensor_memory [[OUT]]
// CHECK: tile_gpu.release [[D]] consumer 0
