// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// A wait below a branch belongs to compute alone: accesses that tokens order after it are not loads of TMA.

!A = tensor_view<1024x1024xf16, strides=[1024,1]>
!TA = partition_view<tile=(64x64), padding_value = zero, !A>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>, %c: tile<i1>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %i = constant <i32: 0> : tile<i32>
  %va = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !A
  %ta = make_partition_view %va : !TA
  %m = make_token : token
  %w = if %c -> (token) {
    %v = gdc_wait_tko -> token
    yield %v : token
  } else {
    yield %m : token
  }
  %zero = constant <f32: 0.0> : tile<64x64xf32>
  %l, %t0 = load_view_tko weak %ta[%i, %i] token = %w : !TA, tile<i32> -> tile<64x64xf16>, token
  %s = mmaf %l, %l, %zero : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
  %h = reduce %s dim=0 identities=[0.0 : f32] : tile<64x64xf32> -> tile<64xf32> (%x: tile<f32>, %y: tile<f32>) {
    %z = addf %x, %y : tile<f32>
    yield %z : tile<f32>
  }
  %o = reduce %h dim=0 identities=[0.0 : f32] : tile<64xf32> -> tile<f32> (%x: tile<f32>, %y: tile<f32>) {
    %z = addf %x, %y : tile<f32>
    yield %z : tile<f32>
  }
  %t = store_ptr_tko weak %q, %o : tile<ptr<f32>>, tile<f32> -> token
  return
}

// CHECK: scf.if
// CHECK: tile_gpu.gdc_wait
// CHECK: tile_gpu.load_view
// CHECK-NOT: tile_gpu.tma_load
