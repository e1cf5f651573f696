// RUN: tilec opt %s --passes persist --target sm_100a
// A loop over tiles in steps of the grid, and one that reads what other blocks may write, stay as they are. So does a
// kernel that has channels.

!tile = tensor<128xi32, "register=none lane=(1)(2)(4)(8)(16) warp=(32)(64) shape=128">
!one = tensor<1xi32, "register=none lane=(0)(0)(0)(0)(0) warp=(0)(0) shape=1">
tile_gpu.kernel @strided(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %one = arith.constant 1 : i32
  %x = tile_gpu.program_id 0
  %step = tile_gpu.num_programs 0
  scf.for %i = %x to %n step %step : i32 {
    %tile = tile_gpu.splat %i : i32 -> !tile
    tile_gpu.store_view %tile -> %p[%i] extents [%n] strides [%one] vector 1 : !tile
  }
}

tile_gpu.kernel @waits(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %true = arith.constant true
  scf.while (%again = %true) : (i1) -> () {
    scf.condition(%again)
  } do () {
    %flag = tile_gpu.load_view %p[%zero] extents [%n] strides [%one] vector 1 order acquire scope device : !one
    %number = tile_gpu.extract %flag[%zero] : !one -> i32
    %unset = arith.cmpi eq, %number, %zero : i32
    scf.yield %unset : i1
  }
}

tile_gpu.kernel @channels(%n: i32) target "sm_100a" warps 4 {
  %c = tile_gpu.make_channel stages 1 producer threads consumers [threads] reuse once : channel<[]>
  tile_gpu.put_begin %c : channel<[]>
  tile_gpu.put_commit %c : channel<[]>
}

// CHECK: tile_gpu.kernel @strided
// CHECK-NOT: claim_block
// CHECK: tile_gpu.kernel @waits
// CHECK-NOT: claim_block
// CHECK: tile_gpu.kernel @channels
// CHECK-NOT: claim_block
