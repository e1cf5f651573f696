// expected-error: weak load must not have memory scope, but got: sys
%0, %1 = load_ptr_tko weak sys %p : tile<ptr<f32>> -> tile<f32>, token
// -----
// expected-error: memory scope is required for relaxed load
%0, %1 = load_ptr_tko relaxed %p : tile<ptr<f32>> -> tile<f32>, token
// -----
// expected-error: expect one of: weak, relaxed, or acquire, but got: release
%0, %1 = load_ptr_tko release sys %p : tile<ptr<f32>> -> tile<f32>, token
// -----
// expected-error: expect one of: weak, relaxed, or release, but got: acquire
%0 = store_ptr_tko acquire sys %p, %s : tile<ptr<f32>>, tile<f32> -> token
// -----
// expected-error: invalid memory_scope attribute specification. Got "gpu" but expect one of: tl_blk, device, sys
%0, %1 = load_ptr_tko relaxed gpu %p : tile<ptr<f32>> -> tile<f32>, token
// -----
// expected-error: invalid memory_ordering_semantics attribute specification. Got "strong" but expect one of: weak, relaxed, acquire, release, acq_rel
%0, %1 = load_ptr_tko strong %p : tile<ptr<f32>> -> tile<f32>, token
// -----
// expected-error: expects pointers to f16 for 'tile<f16>', but got 'tile<ptr<f32>>'
%0, %1 = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f16>, token
// -----
// expected-error: failed to verify that all of {source, result} have same shape
%0, %1 = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<4xf32>, token
// -----
// expected-error: expects the mask to have the shape of the pointers, but got 'tile<4x8xi1>' for 'tile<ptr<f32>>'
%0, %1 = load_ptr_tko weak %p, %m : tile<ptr<f32>>, tile<4x8xi1> -> tile<f32>, token
// -----
// expected-error: expects the padding value to have the type of the result 'tile<f32>', but got 'tile<i32>'
%0, %1 = load_ptr_tko weak %p, %c, %i : tile<ptr<f32>>, tile<i1>, tile<i32> -> tile<f32>, token
// -----
// expected-error: multicast pointer is not allowed
%q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f32, <multicast>>> %0 = store_ptr_tko weak %q, %s : tile<ptr<f32, <multicast>>>, tile<f32> -> token
// -----
// expected-error: expects at least 2 tokens, but got 1
%0 = join_tokens %t : token
// -----
// expected-error: operand #1 must be a token, but got 'tile<i32>'
%0 = join_tokens %t, %i : token
// -----
// expected-error: num_elem must not be negative, but got -1
%0 = alloca num_elem = -1, alignment = 16 : tile<ptr<f32>>
// -----
// expected-error: alignment must be a power of two, but got 3
%0 = alloca num_elem = 1, alignment = 3 : tile<ptr<f32>>
// -----
// expected-error: alignment must be at least 4, the size of f32, but got 2
%0 = alloca num_elem = 1, alignment = 2 : tile<ptr<f32>>
// -----
// expected-error: alignment must be at least 3, the size of tf32, but got 2
%0 = alloca num_elem = 1, alignment = 2 : tile<ptr<tf32>>
// -----
// expected-error: expect one of: weak, relaxed, or acquire, but got: acq_rel
%0, %1 = load_ptr_tko acq_rel sys %p : tile<ptr<f32>> -> tile<f32>, token
// -----
// expected-error: multicast pointer is not allowed
%q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f32, <multicast>>> %0, %1 = load_ptr_tko weak %q : tile<ptr<f32, <multicast>>> -> tile<f32>, token
// -----
// expected-error: expects pointers to i32 for 'tile<i32>', but got 'tile<ptr<f32>>'
%0 = store_ptr_tko weak %p, %i : tile<ptr<f32>>, tile<i32> -> token
// -----
// expected-error: failed to verify that all of {destination, value} have same shape: 'tile<ptr<f32>>' and 'tile<4x8xf32>'
%0 = store_ptr_tko weak %p, %f : tile<ptr<f32>>, tile<4x8xf32> -> token
// -----
// expected-error: expects the mask to have the shape of the pointers, but got 'tile<4x8xi1>' for 'tile<ptr<f32>>'
%0 = store_ptr_tko weak %p, %s, %m : tile<ptr<f32>>, tile<f32>, tile<4x8xi1> -> token
// -----
// expected-error: weak store must not have memory scope, but got: device
%0 = store_ptr_tko weak device %p, %s : tile<ptr<f32>>, tile<f32> -> token
// -----
// expected-error: memory scope is required for release store
%0 = store_ptr_tko release %p, %s : tile<ptr<f32>>, tile<f32> -> token
// -----
// expected-error: alignment must be a power of two, but got 0
%0 = alloca num_elem = 1, alignment = 0 : tile<ptr<f32>>
// -----
// expected-error: alignment must be a power of two, but got -4
%0 = alloca num_elem = 1, alignment = -4 : tile<ptr<f32>>
// -----
// expected-error: alignment must be at least 8, the size of f64, but got 4
%0 = alloca num_elem = 1, alignment = 4 : tile<ptr<f64>>
// -----
// expected-error: expects at least 2 tokens, but got 0
%0 = "cuda_tile.join_tokens"() : () -> !cuda_tile.token
// -----
// expected-error: expects the padding value to have the type of the result 'tile<f32>', but got 'tile<i32>'
%0, %1 = load_ptr_tko weak %p, %i : tile<ptr<f32>>, tile<i32> -> tile<f32>, token
