// RUN: tilec opt %s --passes follow-schedule --target sm_100a
// One loop in three roles. In program order the first multiply of an iteration is issued behind the second one of the iteration before,
// which waits for the threads. The schedule has it one iteration ahead, and a ring with another slot; the threads and the loads keep
// their order, and have no schedule. The second loop reaches the interval of the tensor core, and stays.

#d = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!p = buffer<128x64xf16, tensor, lanes=128 packed>
!d = buffer<128x64xf32, tensor, lanes=128>
!t = tensor<128x64xf32, #d>
!h = tensor<128x64xf16, #d>
tile_gpu.kernel @k(%x: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %no = arith.constant false
  %yes = arith.constant true
  %map = tile_gpu.make_tensor_map "f16" %x[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %q = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse once : channel<[!a]>
  %k = tile_gpu.make_channel stages 3 producer tma consumers [mma] reuse ring : channel<[!b]>
  %v = tile_gpu.make_channel stages 3 producer tma consumers [mma] reuse ring : channel<[!b]>
  %p = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse ring : channel<[!p]>
  %s = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse ring : channel<[!d]>
  %o = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %w = tile_gpu.make_channel stages 12 producer tma consumers [mma] reuse ring : channel<[!b]>
  // CHECK: tile_gpu.make_channel stages 3 producer tma
  // CHECK-NEXT: tile_gpu.make_channel stages 4 producer tma
  // CHECK-NEXT: [[P:%.*]] = tile_gpu.make_channel stages 1 producer threads
  // CHECK-NEXT: [[S:%.*]] = tile_gpu.make_channel stages 1 producer mma
  // CHECK: tile_gpu.roles compute
  // CHECK-NOT: tile_gpu.schedule
  tile_gpu.roles compute warps 4 {
    scf.for %i = %zero to %n step %one : i32 id 0 {
      %sums = tile_gpu.get %s consumer 0 : channel<[!d]>
      %tile = tile_gpu.load_tensor_memory %sums : !d -> !t
      tile_gpu.release %s consumer 0 : channel<[!d]>
      %powers = tile_gpu.math "exp2.approx.ftz" %tile : !t -> !t
      %half = arith.truncf %powers : !t to !h
      %weights = tile_gpu.put_begin %p : channel<[!p]>
      tile_gpu.store_tensor_memory %half, %weights : !h -> !p
      tile_gpu.put_commit %p : channel<[!p]>
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
    scf.for %i = %zero to %n step %one : i32 id 1 {
      %columns = tile_gpu.put_begin %w : channel<[!b]>
      tile_gpu.tma_load %map[%zero, %i] -> %columns of %w : !b
      tile_gpu.put_commit %w : channel<[!b]>
    }
  // CHECK: } mma warps 1 {
  } mma warps 1 {
    %left = tile_gpu.get %q consumer 0 : channel<[!a]>
    %total = tile_gpu.put_begin %o : channel<[!d]>
    // CHECK: scf.for {{.*}} id 0 {
    // CHECK-NEXT: tile_gpu.put_begin [[S]] {tile_gpu.schedule = array<i32: 1, 0>}
    // CHECK-NEXT: tile_gpu.get {{.*}} {tile_gpu.schedule = array<i32: 1, 1>}
    // CHECK-NEXT: tile_gpu.tcgen05_mma {{.*}} {tile_gpu.schedule = array<i32: 1, 2>}
    // CHECK: tile_gpu.put_commit [[S]] {tile_gpu.schedule = array<i32: 1, 3>}
    // CHECK-NEXT: tile_gpu.release {{.*}} {tile_gpu.schedule = array<i32: 1, 4>}
    // CHECK-NEXT: tile_gpu.get {{.*}} {tile_gpu.schedule = array<i32: 0, 5>}
    // CHECK-NEXT: tile_gpu.get [[P]] consumer 0 {tile_gpu.schedule = array<i32: 0, 6>}
    // CHECK-NEXT: tile_gpu.tcgen05_mma {{.*}} {tile_gpu.schedule = array<i32: 0, 7>}
    // CHECK: tile_gpu.release [[P]] consumer 0 {tile_gpu.schedule = array<i32: 0, 8>}
    // CHECK-NEXT: tile_gpu.release {{.*}} {tile_gpu.schedule = array<i32: 0, 9>}
    // CHECK-NEXT: }
    scf.for %i = %zero to %n step %one : i32 id 0 {
      %sums = tile_gpu.put_begin %s : channel<[!d]>
      %keys = tile_gpu.get %k consumer 0 : channel<[!b]>
      tile_gpu.tcgen05_mma f16 %left, %keys into %sums accumulate %no : !a, !b -> !d
      tile_gpu.put_commit %s : channel<[!d]>
      tile_gpu.release %k consumer 0 : channel<[!b]>
      %values = tile_gpu.get %v consumer 0 : channel<[!b]>
      %weights = tile_gpu.get %p consumer 0 : channel<[!p]>
      tile_gpu.tcgen05_mma f16 %weights, %values into %total accumulate %yes : !p, !b -> !d
      tile_gpu.release %p consumer 0 : channel<[!p]>
      tile_gpu.release %v consumer 0 : channel<[!b]>
    }
    // CHECK: scf.for
    // CHECK-NOT: tile_gpu.schedule
    scf.for %i = %zero to %n step %one : i32 id 1 {
      %columns = tile_gpu.get %w consumer 0 : channel<[!b]>
      tile_gpu.tcgen05_mma f16 %left, %columns into %total accumulate %yes : !a, !b -> !d
      tile_gpu.release %w consumer 0 : channel<[!b]>
    }
    tile_gpu.put_commit %o : channel<[!d]>
  }
}
