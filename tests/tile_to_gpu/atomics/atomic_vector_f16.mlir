// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// RUN: tilec compile %s --target sm_90a --check-prefix=PTX
// Sums through consecutive, aligned pointers are vectors, in any order; a mask of 4 equal elements allows 4.

entry @k(%p: tile<ptr<f16>>, %n: tile<i32>, %x: tile<f16>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %m = assume div_by<4>, %n : tile<i32>
  %l = iota : tile<1024xi32>
  %r = reshape %a : tile<ptr<f16>> -> tile<1xptr<f16>>
  %b = broadcast %r : tile<1xptr<f16>> -> tile<1024xptr<f16>>
  %o = offset %b, %l : tile<1024xptr<f16>>, tile<1024xi32> -> tile<1024xptr<f16>>
  %x1 = reshape %x : tile<f16> -> tile<1xf16>
  %v = broadcast %x1 : tile<1xf16> -> tile<1024xf16>
  %m1 = reshape %m : tile<i32> -> tile<1xi32>
  %mb = broadcast %m1 : tile<1xi32> -> tile<1024xi32>
  %inside = cmpi less_than %l, %mb, signed : tile<1024xi32> -> tile<1024xi1>
  %x0, %t0 = atomic_rmw_tko relaxed device %o, addf, %v : tile<1024xptr<f16>>, tile<1024xf16> -> tile<1024xf16>, token
  %x2, %t1 = atomic_rmw_tko release device %o, addf, %v, %inside
    : tile<1024xptr<f16>>, tile<1024xf16>, tile<1024xi1> -> tile<1024xf16>, token
  return
}

// CHECK: tile_gpu.atomic_global addf {{.*}} vector 8 order relaxed
// CHECK: tile_gpu.atomic_global addf {{.*}} vector 4 order release
// PTX: red.relaxed.gpu.global.add.noftz.v4.f16x2 [{{.*}}], {%r
// PTX: fence.acq_rel.gpu
// PTX: @%p{{.*}} red.relaxed.gpu.global.add.noftz.v2.f16x2
