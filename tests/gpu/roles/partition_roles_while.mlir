// RUN: tilec opt %s --passes partition-roles --target sm_100a
// A loop without a known end, whose condition every role can compute, keeps its roles. Each carries what it knows: the load role
// the counter, the compute role the tile too.

!a = buffer<128x64xf32, shared, contiguous=1 swizzle=128B>
#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!t = tensor<128x64xf32, #rows>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %start = arith.constant dense<0.0> : !t
  %map = tile_gpu.make_tensor_map "f32" %p[%n, %n] strides [%n] box [32, 128] swizzle 128B fill zero
  %ring = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse ring : channel<[!a]>
  %r:2 = scf.while (%i = %zero, %s = %start) : (i32, !t) -> (i32, !t) {
    %again = arith.cmpi slt, %i, %n : i32
    scf.condition(%again) %i, %s : i32, !t
  } do (%i: i32, %s: !t) {
    %slot = tile_gpu.put_begin %ring : channel<[!a]>
    tile_gpu.tma_load %map[%zero, %i] -> %slot of %ring : !a
    tile_gpu.put_commit %ring : channel<[!a]>
    %held = tile_gpu.get %ring consumer 0 : channel<[!a]>
    %tile = tile_gpu.load_shared %held : !a -> !t
    tile_gpu.release %ring consumer 0 : channel<[!a]>
    %sum = arith.addf %s, %tile : !t
    %next = arith.addi %i, %one : i32
    scf.yield %next, %sum : i32, !t
  }
  tile_gpu.store_view %r#1 -> %p[%zero, %zero] extents [%n, %n] strides [%n, %one] vector 1 : !t
}

// CHECK: tile_gpu.roles compute warps 4 {
// CHECK: scf.while ({{.*}}) : (i32, !tile_128x64xf32) -> (i32, !tile_128x64xf32)
// CHECK: tile_gpu.load_shared
// CHECK: } load warps 1 {
// CHECK: scf.while ({{.*}}) : (i32) -> (i32)
// CHECK: arith.cmpi slt
// CHECK: scf.condition
// CHECK: tile_gpu.tma_load
// CHECK: arith.addi
