// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// RUN: tilec compile %s --emit gpu --target sm_100a --check-prefix=GPU
// RUN: tilec compile %s --emit gpu --target sm_90a --remarks=all --check-prefix=THREADS
// A load in a loop fills a ring by TMA, from which the threads read vectors. Four adjacent f16 are one element of the
// map, so that a box is 2 KB of a row.

!V = tensor_view<16x8192xf16, strides=[8192,1]>
!T = partition_view<tile=(1x4096), !V>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %i: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %b = assume div_by<16>, %q : tile<ptr<f16>>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %v = make_tensor_view %a, shape = [16, 8192], strides = [8192, 1] : !V
  %w = make_tensor_view %b, shape = [16, 8192], strides = [8192, 1] : !V
  %s = make_partition_view %v : !T
  %d = make_partition_view %w : !T
  for %j in (%zero to %two, step %one) : tile<i32> {
    %x, %t = load_view_tko weak %s[%i, %j] : !T, tile<i32> -> tile<1x4096xf16>, token
    store_view_tko weak %x, %d[%i, %j] : tile<1x4096xf16>, !T, tile<i32> -> token
  }
  return
}

// CHECK: make_tensor_map "i64"
// CHECK: box [256, 1] swizzle none
// CHECK: scf.for
// CHECK: [[START:%.*]] = arith.shrui
// CHECK: [[TILE:%.*]] = tile_gpu.load_tile %{{.*}}[[[START]],
// CHECK: [[X:%.*]] = tile_gpu.read [[TILE]]
// CHECK: tile_gpu.store_view [[X]]
// CHECK-NOT: remark
// GPU: load warps 1
// THREADS-NOT: load warps
// THREADS: remark: the load does not use TMA: threads of many blocks load as fast as memory delivers; a loop over the tiles of a block uses TMA
