// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// A block-scaled multiply of 128x256 needs 256 columns for its accumulator and 4 + 8 for its scale factors: no 256 columns are left
// for the other accumulator of the loop.

!A = tensor_view<128x128xf8E4M3FN, strides=[128,1]>
!B = tensor_view<128x256xf8E4M3FN, strides=[256,1]>
!S = tensor_view<128x4xf8E8M0FNU, strides=[4,1]>
!T = tensor_view<4x256xf8E8M0FNU, strides=[256,1]>
!C = tensor_view<256x256xf32, strides=[256,1]>
!VA = partition_view<tile=(128x128), !A>
!VB = partition_view<tile=(128x256), !B>
!VS = partition_view<tile=(128x4), !S>
!VT = partition_view<tile=(4x256), !T>
!VC = partition_view<tile=(128x256), !C>
entry @k(%p: tile<ptr<f8E4M3FN>>, %s: tile<ptr<f8E8M0FNU>>, %q: tile<ptr<f32>>) {
  %i = constant <i32: 0> : tile<i32>
  %j = constant <i32: 1> : tile<i32>
  %n4 = constant <i32: 4> : tile<i32>
  %a = make_tensor_view %p, shape = [128, 128], strides = [128, 1] : !A
  %b = make_tensor_view %p, shape = [128, 256], strides = [256, 1] : !B
  %sa = make_tensor_view %s, shape = [128, 4], strides = [4, 1] : !S
  %sb = make_tensor_view %s, shape = [4, 256], strides = [256, 1] : !T
  %c = make_tensor_view %q, shape = [256, 256], strides = [256, 1] : !C
  %va = make_partition_view %a : !VA
  %vb = make_partition_view %b : !VB
  %vs = make_partition_view %sa : !VS
  %vt = make_partition_view %sb : !VT
  %vc = make_partition_view %c : !VC
  %z = constant <f32: 0.0> : tile<128x256xf32>
  %x, %t0 = load_view_tko weak %va[%i, %i] : !VA, tile<i32> -> tile<128x128xf8E4M3FN>, token
  %y, %t1 = load_view_tko weak %vb[%i, %i] : !VB, tile<i32> -> tile<128x256xf8E4M3FN>, token
  %u, %t2 = load_view_tko weak %vs[%i, %i] : !VS, tile<i32> -> tile<128x4xf8E8M0FNU>, token
  %v, %t3 = load_view_tko weak %vt[%i, %i] : !VT, tile<i32> -> tile<4x256xf8E8M0FNU>, token
  %m, %n = for %k in (%i to %n4, step %j) : tile<i32> iter_values(%p0 = %z, %p1 = %z) -> (tile<128x256xf32>, tile<128x256xf32>) {
    %m0 = mmaf_scaled %x, %y, %p0, %u, %v
      : tile<128x128xf8E4M3FN>, tile<128x256xf8E4M3FN>, tile<128x256xf32>, tile<128x4xf8E8M0FNU>, tile<4x256xf8E8M0FNU>
    %m1 = mmaf %x, %y, %p1 : tile<128x128xf8E4M3FN>, tile<128x256xf8E4M3FN>, tile<128x256xf32>
    continue %m0, %m1 : tile<128x256xf32>, tile<128x256xf32>
  }
  store_view_tko weak %m, %vc[%i, %i] : tile<128x256xf32>, !VC, tile<i32> -> token
  store_view_tko weak %n, %vc[%j, %i] : tile<128x256xf32>, !VC, tile<i32> -> token
  return
}

// CHECK: tile_gpu.multiply_scaled
// CHECK: tile_gpu.mma_sync
// CHECK: remark: the multiply is done by mma.sync: other multiplies leave 244 columns of tensor memory, and this one needs 256
