// RUN: tilec opt %s --passes expand-schedules --target sm_100a
// A schedule that is written by hand: the sums of an iteration are multiplied one iteration ahead, behind the multiply of the weights.
// The first ones are in front of the loop, which has an iteration less, and the last multiply of weights is behind it. Of the schedule
// of the threads the order changes alone: they put the weights when they have released the sums. The loads stay in program order.

!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!p = buffer<128x64xf16, tensor, lanes=128 packed>
!d = buffer<128x64xf32, tensor, lanes=128>
tile_gpu.kernel @k(%x: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %no = arith.constant false
  %yes = arith.constant true
  %map = tile_gpu.make_tensor_map "f16" %x[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %q = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse once : channel<[!a]>
  %k = tile_gpu.make_channel stages 3 producer tma consumers [mma] reuse ring : channel<[!b]>
  %v = tile_gpu.make_channel stages 2 producer tma consumers [mma] reuse ring : channel<[!b]>
  %p = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse ring : channel<[!p]>
  %s = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse ring : channel<[!d]>
  %o = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  // CHECK: [[K:%.*]] = tile_gpu.make_channel stages 3 producer tma
  // CHECK-NEXT: [[V:%.*]] = tile_gpu.make_channel stages 2 producer tma
  // CHECK-NEXT: [[P:%.*]] = tile_gpu.make_channel stages 1 producer threads
  // CHECK-NEXT: [[S:%.*]] = tile_gpu.make_channel stages 1 producer mma
  // CHECK-NOT: tile_gpu.schedule
  // CHECK: tile_gpu.roles compute
  tile_gpu.roles compute warps 4 {
    // CHECK: scf.for {{.*}} {
    // CHECK-NEXT: tile_gpu.get [[S]]
    // CHECK-NEXT: tile_gpu.release [[S]]
    // CHECK-NEXT: tile_gpu.put_begin [[P]]
    // CHECK-NEXT: tile_gpu.put_commit [[P]]
    // CHECK-NEXT: }
    scf.for %i = %zero to %n step %one : i32 id 0 {
      %sums = tile_gpu.get %s consumer 0 {tile_gpu.schedule = array<i32: 0, 0>} : channel<[!d]>
      %weights = tile_gpu.put_begin %p {tile_gpu.schedule = array<i32: 0, 2>} : channel<[!p]>
      tile_gpu.put_commit %p {tile_gpu.schedule = array<i32: 0, 3>} : channel<[!p]>
      tile_gpu.release %s consumer 0 {tile_gpu.schedule = array<i32: 0, 1>} : channel<[!d]>
    }
    %result = tile_gpu.get %o consumer 0 : channel<[!d]>
  } load warps 1 {
    %queries = tile_gpu.put_begin %q : channel<[!a]>
    tile_gpu.put_commit %q : channel<[!a]>
    scf.for %i = %zero to %n step %one : i32 id 0 {
      %keys = tile_gpu.put_begin %k : channel<[!b]>
      tile_gpu.tma_load %map[%zero, %i] -> %keys of %k : !b
      tile_gpu.put_commit %k : channel<[!b]>
      %values = tile_gpu.put_begin %v : channel<[!b]>
      tile_gpu.tma_load %map[%zero, %i] -> %values of %v : !b
      tile_gpu.put_commit %v : channel<[!b]>
    }
  // CHECK: } mma warps 1 {
  } mma warps 1 {
    %left = tile_gpu.get %q consumer 0 : channel<[!a]>
    %total = tile_gpu.put_begin %o : channel<[!d]>
    // CHECK: [[RUNS:%.*]] = arith.cmpi slt, [[ZERO:%.*]], %arg1
    // CHECK: [[END:%.*]] = arith.select
    // CHECK: scf.if [[RUNS]] {
    // CHECK-NEXT: [[FIRST:%.*]] = tile_gpu.put_begin [[S]]
    // CHECK-NEXT: tile_gpu.get [[K]]
    // CHECK-NEXT: tile_gpu.tcgen05_mma {{.*}} into [[FIRST]]
    // CHECK: tile_gpu.put_commit [[S]]
    // CHECK-NEXT: tile_gpu.release [[K]]
    // CHECK-NEXT: scf.for {{.*}} = [[ZERO]] to [[END]]
    // CHECK-NEXT: tile_gpu.get [[V]]
    // CHECK-NEXT: [[WEIGHTS:%.*]] = tile_gpu.get [[P]]
    // CHECK-NEXT: tile_gpu.tcgen05_mma f16 [[WEIGHTS]]
    // CHECK: [[SUMS:%.*]] = tile_gpu.put_begin [[S]]
    // CHECK-NEXT: tile_gpu.get [[K]]
    // CHECK-NEXT: tile_gpu.tcgen05_mma {{.*}} into [[SUMS]]
    // CHECK: tile_gpu.put_commit [[S]]
    // CHECK-NEXT: tile_gpu.release [[K]]
    // CHECK-NEXT: tile_gpu.release [[P]]
    // CHECK-NEXT: tile_gpu.release [[V]]
    // CHECK: }
    // CHECK: tile_gpu.get [[V]]
    // CHECK-NEXT: [[LAST:%.*]] = tile_gpu.get [[P]]
    // CHECK-NEXT: tile_gpu.tcgen05_mma f16 [[LAST]]
    // CHECK: tile_gpu.release [[P]]
    // CHECK-NEXT: tile_gpu.release [[V]]
    // CHECK-NOT: tile_gpu.schedule
    scf.for %i = %zero to %n step %one : i32 id 0 {
      %sums = tile_gpu.put_begin %s {tile_gpu.schedule = array<i32: 1, 3>} : channel<[!d]>
      %keys = tile_gpu.get %k consumer 0 {tile_gpu.schedule = array<i32: 1, 4>} : channel<[!b]>
      tile_gpu.tcgen05_mma f16 %left, %keys into %sums accumulate %no {tile_gpu.schedule = array<i32: 1, 5>} : !a, !b -> !d
      tile_gpu.put_commit %s {tile_gpu.schedule = array<i32: 1, 6>} : channel<[!d]>
      tile_gpu.release %k consumer 0 {tile_gpu.schedule = array<i32: 1, 7>} : channel<[!b]>
      %values = tile_gpu.get %v consumer 0 {tile_gpu.schedule = array<i32: 0, 0>} : channel<[!b]>
      %weights = tile_gpu.get %p consumer 0 {tile_gpu.schedule = array<i32: 0, 1>} : channel<[!p]>
      tile_gpu.tcgen05_mma f16 %weights, %values into %total accumulate %yes {tile_gpu.schedule = array<i32: 0, 2>} : !p, !b -> !d
      tile_gpu.release %p consumer 0 {tile_gpu.schedule = array<i32: 0, 8>} : channel<[!p]>
      tile_gpu.release %v consumer 0 {tile_gpu.schedule = array<i32: 0, 9>} : channel<[!b]>
    }
    tile_gpu.put_commit %o : channel<[!d]>
  }
}
