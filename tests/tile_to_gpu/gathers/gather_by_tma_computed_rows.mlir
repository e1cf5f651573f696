// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// Indices that an iteration computes are stored in it, in a ring; the copies of the next iteration wait for them.

!X = tensor_view<1024x256xf16, strides=[256,1]>
!G = gather_scatter_view<tile=(128x64), padding_value = zero, !X, sparse_dim=0>
!TB = partition_view<tile=(64x64), !X>
!C = tensor_view<1024x64xf32, strides=[64,1]>
!TC = partition_view<tile=(128x64), !C>
!L = tensor_view<4096xi32, strides=[1]>
!I = partition_view<tile=(128), !L>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>, %r: tile<ptr<i32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %c = assume div_by<16>, %q : tile<ptr<f32>>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %four = constant <i32: 4> : tile<i32>
  %width = constant <i32: 64> : tile<i32>
  %vx = make_tensor_view %a, shape = [1024, 256], strides = [256, 1] : !X
  %vc = make_tensor_view %c, shape = [1024, 64], strides = [64, 1] : !C
  %vl = make_tensor_view %r, shape = [4096], strides = [1] : !L
  %g = make_gather_scatter_view %vx : !G
  %tb = make_partition_view %vx : !TB
  %tc = make_partition_view %vc : !TC
  %ti = make_partition_view %vl : !I
  %x, %y, %z = get_tile_block_id : tile<i32>
  %rows, %t0 = load_view_tko weak %ti[%x] : !I, tile<i32> -> tile<128xi32>, token
  %none = constant <f32: 0.0> : tile<128x64xf32>
  %sum = for %k in (%zero to %four, step %one) : tile<i32> iter_values(%acc = %none) -> (tile<128x64xf32>) {
    %shaped = reshape %k : tile<i32> -> tile<1xi32>
    %column = muli %k, %width : tile<i32>
    %each = broadcast %shaped : tile<1xi32> -> tile<128xi32>
    %moved = addi %rows, %each : tile<128xi32>
    %m, %t1 = load_view_tko weak %g[%moved, %column] : !G, tile<128xi32>, tile<i32> -> tile<128x64xf16>, token
    %n, %t2 = load_view_tko weak %tb[%k, %zero] : !TB, tile<i32> -> tile<64x64xf16>, token
    %next = mmaf %m, %n, %acc : tile<128x64xf16>, tile<64x64xf16>, tile<128x64xf32>
    continue %next : tile<128x64xf32>
  }
  store_view_tko weak %sum, %tc[%x, %zero] : tile<128x64xf32>, !TC, tile<i32> -> token
  return
}

// CHECK: scf.for
// CHECK: [[MOVED:%.*]] = arith.addi
// CHECK: [[ROWS:%.*]] = tile_gpu.place [[MOVED]]
// CHECK: tile_gpu.gather_tile {{.*}} rows [[ROWS]] :
// CHECK: scf.yield
// CHECK: remark: the rows are gathered in the iteration that computes their indices: compute them before the loop [tma, no estimate]
