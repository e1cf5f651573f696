// RUN: tilec opt %s --passes advance-multiplies,expand-schedules --target sm_100a
// The first multiply needs only loads, and the threads release its sums before they put the operand of the second: it runs an
// iteration ahead. The loop has one iteration less, with the first multiply of the first in front, and the second of the last behind.
// The second loop stays: threads hold the sums of its first multiply while they put the operand. So does the third, whose
// multiplies add to one accumulator in turn.

!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!p = buffer<128x64xf16, tensor, lanes=128 packed>
!d = buffer<128x64xf32, tensor, lanes=128>
tile_gpu.kernel @k(%n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %no = arith.constant false
  %yes = arith.constant true
  %q = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse once : channel<[!a]>
  %k = tile_gpu.make_channel stages 2 producer tma consumers [mma] reuse ring : channel<[!b]>
  %v = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : channel<[!b]>
  %p = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse ring : channel<[!p]>
  %s = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse ring : channel<[!d]>
  %t = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse ring : channel<[!d]>
  %o = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse ring : channel<[!d]>
  tile_gpu.roles compute warps 4 {
    scf.for %i = %zero to %n step %one : i32 id 0 {
      %sums = tile_gpu.get %s consumer 0 : channel<[!d]>
      tile_gpu.release %s consumer 0 : channel<[!d]>
      %weights = tile_gpu.put_begin %p : channel<[!p]>
      tile_gpu.put_commit %p : channel<[!p]>
      %out = tile_gpu.get %o consumer 0 : channel<[!d]>
      tile_gpu.release %o consumer 0 : channel<[!d]>
    }
    scf.for %i = %zero to %n step %one : i32 id 1 {
      %sums = tile_gpu.get %t consumer 0 : channel<[!d]>
      %weights = tile_gpu.put_begin %p : channel<[!p]>
      tile_gpu.put_commit %p : channel<[!p]>
      tile_gpu.release %t consumer 0 : channel<[!d]>
      %out = tile_gpu.get %o consumer 0 : channel<[!d]>
      tile_gpu.release %o consumer 0 : channel<[!d]>
    }
    scf.for %i = %zero to %n step %one : i32 id 2 {
      %weights = tile_gpu.put_begin %p : channel<[!p]>
      tile_gpu.put_commit %p : channel<[!p]>
    }
    %total = tile_gpu.get %o consumer 0 : channel<[!d]>
    tile_gpu.release %o consumer 0 : channel<[!d]>
  } load warps 1 {
    %left = tile_gpu.put_begin %q : channel<[!a]>
    tile_gpu.put_commit %q : channel<[!a]>
    scf.for %i = %zero to %n step %one : i32 id 0 {
      %keys = tile_gpu.put_begin %k : channel<[!b]>
      tile_gpu.put_commit %k : channel<[!b]>
      %values = tile_gpu.put_begin %v : channel<[!b]>
      tile_gpu.put_commit %v : channel<[!b]>
    }
    scf.for %i = %zero to %n step %one : i32 id 1 {
      %keys = tile_gpu.put_begin %k : channel<[!b]>
      tile_gpu.put_commit %k : channel<[!b]>
      %values = tile_gpu.put_begin %v : channel<[!b]>
      tile_gpu.put_commit %v : channel<[!b]>
    }
    scf.for %i = %zero to %n step %one : i32 id 2 {
      %keys = tile_gpu.put_begin %k : channel<[!b]>
      tile_gpu.put_commit %k : channel<[!b]>
      %values = tile_gpu.put_begin %v : channel<[!b]>
      tile_gpu.put_commit %v : channel<[!b]>
    }
  } mma warps 1 {
    %left = tile_gpu.get %q consumer 0 : channel<[!a]>
    scf.for %i = %zero to %n step %one : i32 id 0 {
      %sums = tile_gpu.put_begin %s : channel<[!d]>
      %keys = tile_gpu.get %k consumer 0 : channel<[!b]>
      tile_gpu.tcgen05_mma f16 %left, %keys into %sums accumulate %no : !a, !b -> !d
      tile_gpu.put_commit %s : channel<[!d]>
      tile_gpu.release %k consumer 0 : channel<[!b]>
      %values = tile_gpu.get %v consumer 0 : channel<[!b]>
      %weights = tile_gpu.get %p consumer 0 : channel<[!p]>
      %out = tile_gpu.put_begin %o : channel<[!d]>
      tile_gpu.tcgen05_mma f16 %weights, %values into %out accumulate %no : !p, !b -> !d
      tile_gpu.put_commit %o : channel<[!d]>
      tile_gpu.release %p consumer 0 : channel<[!p]>
      tile_gpu.release %v consumer 0 : channel<[!b]>
    }
    scf.for %i = %zero to %n step %one : i32 id 1 {
      %sums = tile_gpu.put_begin %t : channel<[!d]>
      %keys = tile_gpu.get %k consumer 0 : channel<[!b]>
      tile_gpu.tcgen05_mma f16 %left, %keys into %sums accumulate %no : !a, !b -> !d
      tile_gpu.put_commit %t : channel<[!d]>
      tile_gpu.release %k consumer 0 : channel<[!b]>
      %values = tile_gpu.get %v consumer 0 : channel<[!b]>
      %weights = tile_gpu.get %p consumer 0 : channel<[!p]>
      %out = tile_gpu.put_begin %o : channel<[!d]>
      tile_gpu.tcgen05_mma f16 %weights, %values into %out accumulate %no : !p, !b -> !d
      tile_gpu.put_commit %o : channel<[!d]>
      tile_gpu.release %p consumer 0 : channel<[!p]>
      tile_gpu.release %v consumer 0 : channel<[!b]>
    }
    %total = tile_gpu.put_begin %o : channel<[!d]>
    scf.for %i = %zero to %n step %one : i32 id 2 {
      %keys = tile_gpu.get %k consumer 0 : channel<[!b]>
      tile_gpu.tcgen05_mma f16 %left, %keys into %total accumulate %yes : !a, !b -> !d
      tile_gpu.release %k consumer 0 : channel<[!b]>
      %values = tile_gpu.get %v consumer 0 : channel<[!b]>
      %weights = tile_gpu.get %p consumer 0 : channel<[!p]>
      tile_gpu.tcgen05_mma f16 %weights, %values into %total accumulate %yes : !p, !b -> !d
      tile_gpu.release %p consumer 0 : channel<[!p]>
      tile_gpu.release %v consumer 0 : channel<[!b]>
    }
    tile_gpu.put_commit %o : channel<[!d]>
  }
}

// CHECK: [[K:%.*]] = tile_gpu.make_channel stages 2 producer tma
// CHECK: [[P:%.*]] = tile_gpu.make_channel stages 1 producer threads
// CHECK: [[S:%.*]] = tile_gpu.make_channel stages 1 producer mma
// CHECK: } mma warps 1 {
// CHECK: [[RUNS:%.*]] = arith.cmpi slt, [[ZERO:%.*]], %arg0
// CHECK: arith.cmpi ult, [[ONE:%.*]], {{.*}} : i32
// CHECK: [[BEFORE:%.*]] = arith.subi %arg0, [[ONE]] : i32
// CHECK: [[END:%.*]] = arith.select {{.*}}, [[BEFORE]], [[ZERO]]
// CHECK: scf.if [[RUNS]] {
// CHECK:   [[FIRST:%.*]] = tile_gpu.put_begin [[S]]
// CHECK:   tile_gpu.tcgen05_mma {{.*}} into [[FIRST]]
// CHECK:   scf.for {{.*}} = [[ZERO]] to [[END]] step [[ONE]] : i32 id {{[0-9]+}} {
// CHECK:     [[SUMS:%.*]] = tile_gpu.put_begin [[S]] {tile_gpu.iterations_ahead = 1 : i32}
// CHECK:     tile_gpu.tcgen05_mma {{.*}} into [[SUMS]]
// CHECK:     tile_gpu.release [[K]] consumer 0
// CHECK:     [[WEIGHTS:%.*]] = tile_gpu.get [[P]]
// CHECK:     tile_gpu.tcgen05_mma f16 [[WEIGHTS]]
// CHECK:   } {tile_gpu.iterations_ahead = 1 : i32}
// CHECK:   [[LAST:%.*]] = tile_gpu.get [[P]]
// CHECK:   tile_gpu.tcgen05_mma f16 [[LAST]]
// CHECK: }
// CHECK: scf.for
// CHECK-NOT: scf.if
