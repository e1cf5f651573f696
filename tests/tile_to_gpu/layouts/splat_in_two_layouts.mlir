// RUN: tilec compile %s --emit gpu-raw --target sm_100a --hint tma=off
// A splat and an iota that two layouts need are computed twice, not converted.

!V = tensor_view<1024x1024xi32, strides=[1024,1]>
!T = partition_view<tile=(32x32), !V>
entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>, %n: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<i32>>
  %b = assume div_by<16>, %q : tile<ptr<i32>>
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !V
  %w = make_tensor_view %b, shape = [1024, 1024], strides = [1024, 1] : !V
  %s = make_partition_view %v : !T
  %d = make_partition_view %w : !T
  %o = reshape %n : tile<i32> -> tile<1x1xi32>
  %m = broadcast %o : tile<1x1xi32> -> tile<32x32xi32>
  %x, %t = load_view_tko weak %s[%i, %i] : !T, tile<i32> -> tile<32x32xi32>, token
  %y = permute %x [1, 0] : tile<32x32xi32> -> tile<32x32xi32>
  %e = addi %x, %m : tile<32x32xi32>
  %f = addi %y, %m : tile<32x32xi32>
  store_view_tko weak %e, %d[%i, %i] : tile<32x32xi32>, !T, tile<i32> -> token
  store_view_tko weak %f, %s[%i, %i] : tile<32x32xi32>, !T, tile<i32> -> token
  return
}

// CHECK: [[X:%.*]] = tile_gpu.load_view
// CHECK: [[Y:%.*]] = tile_gpu.transpose [[X]]
// CHECK-NOT: tile_gpu.convert_layout
// CHECK: [[M:%.*]] = tile_gpu.splat %arg2
// CHECK-NEXT: arith.addi [[X]], [[M]] : [[A:!.*]]
// CHECK-NOT: tile_gpu.convert_layout
// CHECK: arith.addi [[Y]]
// CHECK-NOT: tile_gpu.convert_layout
