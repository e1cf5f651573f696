// RUN: tilec compile %s --emit ptx --target sm_90a
// One ldmatrix loads the four registers of an operand: as they lie for the left one, transposed for the right one.

!A = tensor_view<1024x1024xf16, strides=[1024,1]>
!C = tensor_view<1024x1024xf32, strides=[1024,1]>
!TA = partition_view<tile=(32x32), padding_value = zero, !A>
!TB = partition_view<tile=(32x32), padding_value = zero, !A>
!TC = partition_view<tile=(32x32), !C>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %i = constant <i32: 0> : tile<i32>
  %va = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !A
  %vc = make_tensor_view %q, shape = [1024, 1024], strides = [1024, 1] : !C
  %ta = make_partition_view %va : !TA
  %tb = make_partition_view %va : !TB
  %tc = make_partition_view %vc : !TC
  %z = constant <f32: 0.0> : tile<32x32xf32>
  %x, %t0 = load_view_tko weak %ta[%i, %i] : !TA, tile<i32> -> tile<32x32xf16>, token
  %y, %t1 = load_view_tko weak %tb[%i, %i] : !TB, tile<i32> -> tile<32x32xf16>, token
  %m = mmaf %x, %y, %z : tile<32x32xf16>, tile<32x32xf16>, tile<32x32xf32>
  store_view_tko weak %m, %tc[%i, %i] : tile<32x32xf32>, !TC, tile<i32> -> token
  return
}

// CHECK: .minnctapersm 1
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {[[A:%r[0-9]+, %r[0-9]+, %r[0-9]+, %r[0-9]+]]},
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {[[B0:%r[0-9]+, %r[0-9]+]], [[B1:%r[0-9]+, %r[0-9]+]]},
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{[{][^}]*[}]}}, {[[A]]}, {[[B0]]},
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{[{][^}]*[}]}}, {[[A]]}, {[[B1]]},
// CHECK-NOT: ld.shared
