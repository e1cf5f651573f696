// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// A block-scaled multiply of 64 rows is one of bf16: threads multiply the elements of both operands by their scale factors.

!A = tensor_view<64x128xf8E4M3FN, strides=[128,1]>
!S = tensor_view<64x4xf8E8M0FNU, strides=[4,1]>
!C = tensor_view<64x64xf32, strides=[64,1]>
!VA = partition_view<tile=(64x128), !A>
!VB = partition_view<tile=(128x64), !A, dim_map=[1, 0]>
!VS = partition_view<tile=(64x4), !S>
!VT = partition_view<tile=(4x64), !S, dim_map=[1, 0]>
!VC = partition_view<tile=(64x64), !C>
entry @k(%p: tile<ptr<f8E4M3FN>>, %s: tile<ptr<f8E8M0FNU>>, %q: tile<ptr<f32>>) {
  %i = constant <i32: 0> : tile<i32>
  %a = make_tensor_view %p, shape = [64, 128], strides = [128, 1] : !A
  %sa = make_tensor_view %s, shape = [64, 4], strides = [4, 1] : !S
  %c = make_tensor_view %q, shape = [64, 64], strides = [64, 1] : !C
  %va = make_partition_view %a : !VA
  %vb = make_partition_view %a : !VB
  %vs = make_partition_view %sa : !VS
  %vt = make_partition_view %sa : !VT
  %vc = make_partition_view %c : !VC
  %x, %t0 = load_view_tko weak %va[%i, %i] : !VA, tile<i32> -> tile<64x128xf8E4M3FN>, token
  %y, %t1 = load_view_tko weak %vb[%i, %i] : !VB, tile<i32> -> tile<128x64xf8E4M3FN>, token
  %u, %t2 = load_view_tko weak %vs[%i, %i] : !VS, tile<i32> -> tile<64x4xf8E8M0FNU>, token
  %v, %t3 = load_view_tko weak %vt[%i, %i] : !VT, tile<i32> -> tile<4x64xf8E8M0FNU>, token
  %z, %t4 = load_view_tko weak %vc[%i, %i] : !VC, tile<i32> -> tile<64x64xf32>, token
  %m = mmaf_scaled %x, %y, %z, %u, %v
    : tile<64x128xf8E4M3FN>, tile<128x64xf8E4M3FN>, tile<64x64xf32>, tile<64x4xf8E8M0FNU>, tile<4x64xf8E8M0FNU>
  store_view_tko weak %m, %vc[%i, %i] : tile<64x64xf32>, !VC, tile<i32> -> token
  return
}

// CHECK: tile_gpu.place {{.*}} -> !shared_64x128xbf16
// CHECK: tile_gpu.place {{.*}} -> !shared_128x64xbf16
// CHECK: tile_gpu.multiply bf16
// CHECK-NOT: tile_gpu.multiply
// CHECK-NOT: mma_sync
// CHECK: remark: the multiply of 64x64 is done with operands that threads convert to 16 bits
