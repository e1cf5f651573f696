// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// A block-scaled multiply of 256x256 needs 512 columns for its accumulator and 16 for its scale factors. As the print runs once, neither
// CTAs nor iterations divide the tile: the unit does the parts of 256x128, 256x64, 256x16 and 128x16; the others multiply
// scaled operands of bf16. Each load of B has the columns of a part.

!A = tensor_view<256x32xf8E4M3FN, strides=[32,1]>
!B = tensor_view<32x256xf8E4M3FN, strides=[1,32]>
!S = tensor_view<256x1xf8E8M0FNU, strides=[1,1]>
!T = tensor_view<1x256xf8E8M0FNU, strides=[256,1]>
!C = tensor_view<256x256xf32, strides=[256,1]>
!VA = partition_view<tile=(256x32), !A>
!VB = partition_view<tile=(32x256), !B>
!VS = partition_view<tile=(256x1), !S>
!VT = partition_view<tile=(1x256), !T>
!VC = partition_view<tile=(256x256), !C>
entry @k(%p0: tile<ptr<f8E4M3FN>>, %s: tile<ptr<f8E8M0FNU>>, %q: tile<ptr<f32>>, %n: tile<i32>) {
  %p = assume div_by<16>, %p0 : tile<ptr<f8E4M3FN>>
  %i = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %a = make_tensor_view %p, shape = [256, 32], strides = [32, 1] : !A
  %b = make_tensor_view %p, shape = [32, 256], strides = [1, 32] : !B
  %sa = make_tensor_view %s, shape = [256, 1], strides = [1, 1] : !S
  %sb = make_tensor_view %s, shape = [1, 256], strides = [256, 1] : !T
  %c = make_tensor_view %q, shape = [256, 256], strides = [256, 1] : !C
  %va = make_partition_view %a : !VA
  %vb = make_partition_view %b : !VB
  %vs = make_partition_view %sa : !VS
  %vt = make_partition_view %sb : !VT
  %vc = make_partition_view %c : !VC
  %z = constant <f32: 0.0> : tile<256x256xf32>
  %r = for %j in (%i to %n, step %one) : tile<i32> iter_values(%sum = %z) -> (tile<256x256xf32>) {
    %x, %t0 = load_view_tko weak %va[%i, %j] : !VA, tile<i32> -> tile<256x32xf8E4M3FN>, token
    %y, %t1 = load_view_tko weak %vb[%j, %i] : !VB, tile<i32> -> tile<32x256xf8E4M3FN>, token
    %u, %t2 = load_view_tko weak %vs[%i, %j] : !VS, tile<i32> -> tile<256x1xf8E8M0FNU>, token
    %v, %t3 = load_view_tko weak %vt[%j, %i] : !VT, tile<i32> -> tile<1x256xf8E8M0FNU>, token
    %m = mmaf_scaled %x, %y, %sum, %u, %v
      : tile<256x32xf8E4M3FN>, tile<32x256xf8E4M3FN>, tile<256x256xf32>, tile<256x1xf8E8M0FNU>, tile<1x256xf8E8M0FNU>
    continue %m : tile<256x256xf32>
  }
  %o = print_tko "done" -> token
  store_view_tko weak %r, %vc[%i, %i] : tile<256x256xf32>, !VC, tile<i32> -> token
  return
}

// CHECK: load_tile {{.*}} : !shared_32x128xf8E4M3FN
// CHECK: load_tile {{.*}} : !shared_32x64xf8E4M3FN
// CHECK: load_tile {{.*}} : !shared_32x16xf8E4M3FN
// CHECK-COUNT-4: multiply_scaled
// CHECK-COUNT-4: tile_gpu.multiply bf16
// CHECK: remark: the multiply of 256x256 is divided into parts that need fewer columns of tensor memory
// CHECK: remark: the multiply of 128x16 is done with operands that threads convert to 16 bits
