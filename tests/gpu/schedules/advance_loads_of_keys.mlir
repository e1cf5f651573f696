// RUN: tilec opt %s --passes advance-multiplies,expand-schedules --target sm_100a
// The role `load` loads the keys of the next iteration before the values of this one, as the tensor core multiplies them: with two
// slots too, values wait until the multiply of those two iterations before is complete. With three they do not, and the order stays.

!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!p = buffer<128x64xf16, tensor, lanes=128 packed>
!d = buffer<128x64xf32, tensor, lanes=128>
tile_gpu.kernel @two(%n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %no = arith.constant false
  %q = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse once : channel<[!a]>
  %k = tile_gpu.make_channel stages 3 producer tma consumers [mma] reuse ring : channel<[!b]>
  %v = tile_gpu.make_channel stages 2 producer tma consumers [mma] reuse ring : channel<[!b]>
  %p = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse ring : channel<[!p]>
  %s = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse ring : channel<[!d]>
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
  } load warps 1 {
    %left = tile_gpu.put_begin %q : channel<[!a]>
    tile_gpu.put_commit %q : channel<[!a]>
    scf.for %i = %zero to %n step %one : i32 id 0 {
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
  }
}
tile_gpu.kernel @three(%n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %no = arith.constant false
  %q = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse once : channel<[!a]>
  %k = tile_gpu.make_channel stages 3 producer tma consumers [mma] reuse ring : channel<[!b]>
  %v = tile_gpu.make_channel stages 3 producer tma consumers [mma] reuse ring : channel<[!b]>
  %p = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse ring : channel<[!p]>
  %s = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse ring : channel<[!d]>
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
  } load warps 1 {
    %left = tile_gpu.put_begin %q : channel<[!a]>
    tile_gpu.put_commit %q : channel<[!a]>
    scf.for %i = %zero to %n step %one : i32 id 0 {
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
  }
}

// CHECK-LABEL: @two
// CHECK: [[K:%.*]] = tile_gpu.make_channel stages 3 producer tma
// CHECK: [[V:%.*]] = tile_gpu.make_channel stages 2 producer tma
// CHECK: } load warps 1 {
// CHECK: tile_gpu.put_begin [[K]] :
// CHECK: scf.for
// CHECK-NEXT: tile_gpu.put_begin [[K]] {tile_gpu.iterations_ahead = 1 : i32}
// CHECK-NEXT: tile_gpu.put_commit [[K]]
// CHECK-NEXT: tile_gpu.put_begin [[V]] :
// CHECK-NEXT: tile_gpu.put_commit [[V]]
// CHECK: } mma warps 1 {

// CHECK-LABEL: @three
// CHECK: [[K3:%.*]] = tile_gpu.make_channel stages 3 producer tma
// CHECK: } load warps 1 {
// CHECK: scf.for
// CHECK-NEXT: tile_gpu.put_begin [[K3]] :
// CHECK: } mma warps 1 {
// CHECK: tile_gpu.iterations_ahead = 1
