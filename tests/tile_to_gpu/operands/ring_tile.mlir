// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// A tile that a loop of multiplies adds to a product is loaded by TMA, and read in the layout of the product. Threads
// load the tiles for which the rings of operands leave no room, and those of loops that multiply nothing.

!A = tensor_view<1024x1024xf16, strides=[1024,1]>
!R = tensor_view<1024x1024xf32, strides=[1024,1]>
!TA = partition_view<tile=(128x64), padding_value = zero, !A>
!TB = partition_view<tile=(64x128), padding_value = zero, !A>
!TR = partition_view<tile=(128x128), padding_value = zero, !R>
!TM = partition_view<tile=(128x128), padding_value = zero, !A>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>, %n: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %i = constant <i32: 0> : tile<i32>
  %j = constant <i32: 1> : tile<i32>
  %va = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !A
  %vr = make_tensor_view %b, shape = [1024, 1024], strides = [1024, 1] : !R
  %ta = make_partition_view %va : !TA
  %tb = make_partition_view %va : !TB
  %tm = make_partition_view %va : !TM
  %tr = make_partition_view %vr : !TR
  %z = constant <f32: 0.0> : tile<128x128xf32>
  // CHECK: scf.for
  // CHECK: [[B:%.*]] = tile_gpu.load_tile {{.*}} !shared_128x128xf16
  // CHECK-NEXT: [[T:%.*]] = tile_gpu.read [[B]]
  // CHECK-NOT: convert_layout
  // CHECK: arith.addf
  %sum = for %k in (%i to %n, step %j) : tile<i32> iter_values(%acc = %z) -> (tile<128x128xf32>) {
    %x, %t0 = load_view_tko weak %ta[%i, %k] : !TA, tile<i32> -> tile<128x64xf16>, token
    %y, %t1 = load_view_tko weak %tb[%k, %i] : !TB, tile<i32> -> tile<64x128xf16>, token
    %m, %t2 = load_view_tko weak %tm[%k, %k] : !TM, tile<i32> -> tile<128x128xf16>, token
    %r, %t3 = load_view_tko weak %tr[%k, %i] : !TR, tile<i32> -> tile<128x128xf32>, token
    %s, %t4 = load_view_tko weak %tr[%k, %j] : !TR, tile<i32> -> tile<128x128xf32>, token
    %q3, %t5 = load_view_tko weak %tr[%j, %k] : !TR, tile<i32> -> tile<128x128xf32>, token
    %d = mmaf %x, %y, %z : tile<128x64xf16>, tile<64x128xf16>, tile<128x128xf32>
    %w = ftof %m rounding<nearest_even> : tile<128x128xf16> -> tile<128x128xf32>
    %e = addf %d, %w rounding<nearest_even> : tile<128x128xf32>
    %f = addf %r, %s rounding<nearest_even> : tile<128x128xf32>
    %g = addf %e, %f rounding<nearest_even> : tile<128x128xf32>
    %h2 = addf %q3, %g rounding<nearest_even> : tile<128x128xf32>
    %h = addf %acc, %h2 rounding<nearest_even> : tile<128x128xf32>
    continue %h : tile<128x128xf32>
  }
  %more = for %k in (%i to %n, step %j) : tile<i32> iter_values(%acc = %sum) -> (tile<128x128xf32>) {
    %r, %t3 = load_view_tko weak %tr[%k, %k] : !TR, tile<i32> -> tile<128x128xf32>, token
    %h = addf %acc, %r rounding<nearest_even> : tile<128x128xf32>
    continue %h : tile<128x128xf32>
  }
  store_view_tko weak %more, %tr[%j, %j] : tile<128x128xf32>, !TR, tile<i32> -> token
  return
}

// CHECK: remark: the load does not use TMA: shared memory has no room for a slot of 65536 bytes beside the operands of multiplies [tma, no estimate]
// CHECK: remark: the load does not use TMA: beside matrix multiplies only the loops of multiplies load tiles ahead [tma, no estimate]
