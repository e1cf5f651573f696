// expected-error: memory ordering semantics must be one of: relaxed, acquire, release, acq_rel, but got: weak
%0, %1 = atomic_cas_tko weak device %p, %s, %s : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
// -----
// expected-error: expects elements of i32 or i64 or f32 or f64, but got f16
%q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f16>> %a = constant <f16: 1.0> : tile<f16> %0, %1 = atomic_cas_tko relaxed device %q, %a, %a : tile<ptr<f16>>, tile<f16> -> tile<f16>, token
// -----
// expected-error: mode add expects elements of i32 or i64, but got f32
%0, %1 = atomic_rmw_tko relaxed device %p, add, %s : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
// -----
// expected-error: mode addf expects elements of f16 or bf16 or f32 or f64, but got i32
%q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<i32>> %0, %1 = atomic_rmw_tko relaxed device %q, addf, %i : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
// -----
// expected-error: unknown atomic RMW mode: 'nand'; expected one of: and, or, xor, add, addf, max, min, umax, umin, xchg
%0, %1 = atomic_rmw_tko relaxed device %p, nand, %s : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
// -----
// expected-error: expects pointers to i32 for 'tile<i32>', but got 'tile<ptr<f32>>'
%0, %1 = atomic_rmw_tko relaxed device %p, add, %i : tile<ptr<f32>>, tile<i32> -> tile<i32>, token
// -----
// expected-error: expects a value of type 'tile<4x8xf32>', as the view has, but got 'tile<f32>'
%0 = atomic_red_view_tko relaxed device %pv[%i, %i], addf, %s : tile<f32>, partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<i32> -> token
// -----
// expected-error: mode xchg is not supported for views
%0 = atomic_red_view_tko relaxed device %pv[%i, %i], xchg, %f : tile<4x8xf32>, partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<i32> -> token
// -----
// expected-error: memory scope must be one of: tl_blk, device, but got: sys
%0 = atomic_red_view_tko relaxed sys %pv[%i, %i], addf, %f : tile<4x8xf32>, partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<i32> -> token
// -----
// expected-error: memory ordering semantics must be relaxed, but got: acquire
%0 = atomic_red_view_tko acquire device %pv[%i, %i], addf, %f : tile<4x8xf32>, partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<i32> -> token
// -----
// expected-error: expects a view without padding_value
%x = make_partition_view %tv : partition_view<tile=(4x8), padding_value = zero, tensor_view<64x16xf32, strides=[16,1]>> %0 = atomic_red_view_tko relaxed device %x[%i, %i], addf, %f : tile<4x8xf32>, partition_view<tile=(4x8), padding_value = zero, tensor_view<64x16xf32, strides=[16,1]>>, tile<i32> -> token
// -----
// expected-error: expects a partition_view or a strided_view, but got 'gather_scatter_view<tile=(8x8), tensor_view<64x16xf32, strides=[16,1]>, sparse_dim=0>'
%g = make_gather_scatter_view %tv : gather_scatter_view<tile=(8x8), tensor_view<64x16xf32, strides=[16,1]>, sparse_dim=0> %b = constant <f32: 0.0> : tile<8x8xf32> %0 = atomic_red_view_tko relaxed device %g[%v, %i], addf, %b : tile<8x8xf32>, gather_scatter_view<tile=(8x8), tensor_view<64x16xf32, strides=[16,1]>, sparse_dim=0>, tile<8xi32>, tile<i32> -> token
