// RUN: tilec opt %s --passes persist --target sm_100a
// The code of a tile block is in a loop over tile blocks, which are claimed before it and known after it. Declarations, and
// numbers that are equal in all tile blocks, stay before the loop. The loop carries the axes that the kernel reads.

!tile = tensor<128xi32, "register=none lane=(1)(2)(4)(8)(16) warp=(32)(64) shape=128">
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %one = arith.constant 1 : i32
  %size = arith.constant 128 : i32
  %extent = arith.muli %n, %size : i32
  %x = tile_gpu.program_id 0
  %z = tile_gpu.program_id 2
  %sum = arith.addi %x, %z : i32
  %tile = tile_gpu.splat %sum : i32 -> !tile
  %row = arith.muli %x, %size : i32
  tile_gpu.store_view %tile -> %p[%row] extents [%extent] strides [%one] vector 1 : !tile
}

// CHECK: [[EXTENT:%.+]] = arith.muli %arg1, %
// CHECK: [[X:%.+]] = tile_gpu.program_id 0
// CHECK-NEXT: [[Z:%.+]] = tile_gpu.program_id 2
// CHECK: scf.while (%{{.+}} = %true, %{{.+}} = [[X]], %{{.+}} = [[Z]]) : (i1, i32, i32) -> (i32, i32) id 0 {
// CHECK-NEXT: scf.condition
// CHECK-NEXT: } do ([[I:%.+]]: i32, [[J:%.+]]: i32) {
// CHECK-NEXT: [[RESPONSE:%.+]] = tile_gpu.claim_block
// CHECK-NEXT: arith.addi [[I]], [[J]]
// CHECK: tile_gpu.store_view {{.*}} extents [[[EXTENT]]]
// CHECK-NEXT: [[CLAIMED:%.+]]:4 = tile_gpu.claimed_block [[RESPONSE]]
// CHECK-NEXT: scf.yield [[CLAIMED]]#0, [[CLAIMED]]#1, [[CLAIMED]]#3 : i1, i32, i32
