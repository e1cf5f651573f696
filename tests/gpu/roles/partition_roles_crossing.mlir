// RUN: tilec opt %s --passes partition-roles --target sm_100a
// The condition of a branch is a number that only threads have: they put it into a slot, from which the other role gets it.
// The number of a row is an element of a tile, and crosses too: the other role gets it where it uses it.

!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!numbers = tensor<4xi32, "register=(1)(2) lane=(0)(0)(0)(0)(0) warp=(0)(0) shape=4">
!one = tensor<1xi32, "register=none lane=(0)(0)(0)(0)(0) warp=(0)(0) shape=1">
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %ca = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse ring : channel<[!a]>
  %flags = tile_gpu.load_view %p[%zero] extents [%n] strides [%one] vector 1 inbounds [false] : !one
  %rows = tile_gpu.load_view %p[%zero] extents [%n] strides [%one] vector 1 inbounds [false] : !numbers
  %flag = tile_gpu.extract %flags[%zero] : !one -> i32
  %set = arith.cmpi sgt, %flag, %zero : i32
  scf.if %set {
    %row = tile_gpu.extract %rows[%flag] : !numbers -> i32
    %sa = tile_gpu.put_begin %ca : channel<[!a]>
    tile_gpu.tma_load %map[%zero, %row] -> %sa of %ca : !a
    tile_gpu.put_commit %ca : channel<[!a]>
    %ga = tile_gpu.get %ca consumer 0 : channel<[!a]>
    tile_gpu.release %ca consumer 0 : channel<[!a]>
  }
}

// CHECK: [[FLAG:%[a-z_0-9]+]] = tile_gpu.make_channel stages 1 producer threads consumers [warp] reuse once
// CHECK: [[ROW:%[a-z_0-9]+]] = tile_gpu.make_channel stages 1 producer threads consumers [warp] reuse once
// CHECK: tile_gpu.roles compute warps 4 {
// CHECK: [[FLAGS:%[0-9]+]] = tile_gpu.load_view
// CHECK-NEXT: [[SLOT:%[a-z_0-9]+]] = tile_gpu.put_begin [[FLAG]]
// CHECK-NEXT: tile_gpu.store_shared [[FLAGS]], [[SLOT]]
// CHECK-NEXT: tile_gpu.put_commit [[FLAG]]
// CHECK: scf.if
// CHECK: [[NUMBER:%[0-9]+]] = tile_gpu.extract
// CHECK-NEXT: [[TILE:%[0-9]+]] = tile_gpu.splat [[NUMBER]]
// CHECK-NEXT: [[SLOT2:%[a-z_0-9]+]] = tile_gpu.put_begin [[ROW]]
// CHECK-NEXT: tile_gpu.store_shared [[TILE]], [[SLOT2]]
// CHECK: } load warps 1 {
// CHECK: tile_gpu.get [[FLAG]] consumer 0
// CHECK-NEXT: tile_gpu.load_shared
// CHECK-NEXT: tile_gpu.release [[FLAG]] consumer 0
// CHECK: scf.if
// CHECK: tile_gpu.put_begin
// CHECK-NEXT: [[GOT:%[a-z_0-9]+]] = tile_gpu.get [[ROW]] consumer 0
// CHECK-NEXT: [[LOADED:%[0-9]+]] = tile_gpu.load_shared [[GOT]]
// CHECK-NEXT: tile_gpu.release [[ROW]] consumer 0
// CHECK: [[AT:%[0-9]+]] = tile_gpu.extract [[LOADED]]
// CHECK: tile_gpu.tma_load %{{.*}}[%{{.*}}, [[AT]]]
