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
// expected-error: expects a partition_view or a strided_view, but got 'gather_scatter_view<tile=(8x8), tensor_view<64x16xf32, strides=[16,1]>, sparse_dim=0>'
%g = make_gather_scatter_view %tv : gather_scatter_view<tile=(8x8), tensor_view<64x16xf32, strides=[16,1]>, sparse_dim=0> %b = constant <f32: 0.0> : tile<8x8xf32> %0 = atomic_red_view_tko relaxed device %g[%v, %i], addf, %b : tile<8x8xf32>, gather_scatter_view<tile=(8x8), tensor_view<64x16xf32, strides=[16,1]>, sparse_dim=0>, tile<8xi32>, tile<i32> -> token
// -----
// expected-error: failed to verify that all of {pointers, cmp} have same shape: 'tile<ptr<f32>>' and 'tile<2xf32>'
%a = constant <f32: 1.0> : tile<2xf32> %0, %1 = atomic_cas_tko relaxed device %p, %a, %a : tile<ptr<f32>>, tile<2xf32> -> tile<2xf32>, token
// -----
// expected-error: expects pointers to i32 for 'tile<i32>', but got 'tile<ptr<f32>>'
%0, %1 = atomic_cas_tko relaxed device %p, %i, %i : tile<ptr<f32>>, tile<i32> -> tile<i32>, token
// -----
// expected-error: expects the mask to have the shape of the pointers, but got 'tile<4x8xi1>' for 'tile<ptr<f32>>'
%0, %1 = atomic_cas_tko relaxed device %p, %s, %s, %m : tile<ptr<f32>>, tile<f32>, tile<4x8xi1> -> tile<f32>, token
// -----
// expected-error: multicast pointer is not supported for atomic_cas
%q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f32, <multicast>>> %0, %1 = atomic_cas_tko relaxed device %q, %s, %s : tile<ptr<f32, <multicast>>>, tile<f32> -> tile<f32>, token
// -----
// expected-error: failed to verify that all of {cmp, result} have same type: tile<f32> and tile<i32>
%0, %1 = "cuda_tile.atomic_cas_tko"(%p, %s, %s) {memory_ordering_semantics = "relaxed", memory_scope = "device", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (!cuda_tile.tile<ptr<f32>>, !cuda_tile.tile<f32>, !cuda_tile.tile<f32>) -> (!cuda_tile.tile<i32>, !cuda_tile.token)
// -----
// expected-error: memory ordering semantics must be one of: relaxed, acquire, release, acq_rel, but got: weak
%0, %1 = atomic_rmw_tko weak device %p, addf, %s : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
// -----
// expected-error: failed to verify that all of {pointers, arg} have same shape: 'tile<ptr<f32>>' and 'tile<2xf32>'
%a = constant <f32: 1.0> : tile<2xf32> %0, %1 = atomic_rmw_tko relaxed device %p, addf, %a : tile<ptr<f32>>, tile<2xf32> -> tile<2xf32>, token
// -----
// expected-error: expects the mask to have the shape of the pointers, but got 'tile<4x8xi1>' for 'tile<ptr<f32>>'
%0, %1 = atomic_rmw_tko relaxed device %p, addf, %s, %m : tile<ptr<f32>>, tile<f32>, tile<4x8xi1> -> tile<f32>, token
// -----
// expected-error: multicast pointer is not supported for atomic_rmw
%q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f32, <multicast>>> %0, %1 = atomic_rmw_tko relaxed device %q, addf, %s : tile<ptr<f32, <multicast>>>, tile<f32> -> tile<f32>, token
// -----
// expected-error: mode add expects elements of i32 or i64, but got f32
%0 = atomic_red_view_tko relaxed device %pv[%i, %i], add, %f : tile<4x8xf32>, partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<i32> -> token
// -----
// expected-error: expected 2 index operands (based on the view), but got 1
%0 = atomic_red_view_tko relaxed device %pv[%i], addf, %f : tile<4x8xf32>, partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<i32> -> token
// -----
// expected-error: expects index #0 to be a 0-d tile, but got 'tile<8xi32>'
%0 = atomic_red_view_tko relaxed device %pv[%v, %i], addf, %f : tile<4x8xf32>, partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<8xi32>, tile<i32> -> token
// -----
// expected-error: expects one inbounds flag an index (2), but got 1
%0 = atomic_red_view_tko relaxed device %pv[%i, %i], addf, %f inbounds = [true] : tile<4x8xf32>, partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<i32> -> token
// -----
// expected-error: multicast ptr_attr is not allowed
%q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f32, <multicast>>> %x = make_tensor_view %q, shape = [8], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>> %y = make_partition_view %x : partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>> %b = constant <f32: 1.0> : tile<8xf32> %0 = atomic_red_view_tko relaxed device %y[%i], addf, %b : tile<8xf32>, partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> token
