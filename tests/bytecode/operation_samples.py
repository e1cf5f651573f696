"""Kernels with one operation of Tile IR each; all their other operations and types are of version 13.1."""

from __future__ import annotations

PRELUDE = """
  %f = constant <f32: [1.5, -2.0, 0.25, 3.0]> : tile<4xf32>
  %h = constant <f16: 1.5> : tile<4xf16>
  %i = iota : tile<4xi32>
  %j = constant <i64: [5, -6, 7, 8]> : tile<4xi64>
  %c = constant <i1: [true, false, false, true]> : tile<4xi1>
  %one = constant <i32: 1> : tile<i32>
  %x = constant <f32: 1.0> : tile<f32>
  %line = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %ps = broadcast %line : tile<1xptr<f32>> -> tile<4xptr<f32>>
  %qline = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %qs = broadcast %qline : tile<1xptr<i32>> -> tile<4xptr<i32>>
  %t = make_token : token
  %tv = make_tensor_view %p, shape = [%n, 64], strides = [%n, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[?,1]>
  %pv = make_partition_view %tv : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[?,1]>>
  %tile = constant <f32: 2.0> : tile<4x2xf32>
"""
TENSOR = "tensor_view<?x64xf32, strides=[?,1]>"
PARTITION = f"partition_view<tile=(4x2), {TENSOR}>"
INTEGERS = "tensor_view<?x64xi32, strides=[?,1]>"
STEPS = f"strided_view<tile=(4x2), traversal_strides=[4,3], {INTEGERS}>"
DEVICES = "tensor_view<128x128xf32, strides=[128,1], #cuda_tile.ptr_attr<multicast>>"
MULTICAST = f"""%tm = make_tensor_view %m, shape = [128, 128], strides = [128, 1] : {DEVICES}
    %pm = make_partition_view %tm : partition_view<tile=(4x2), {DEVICES}>
    """
INTEGER_DEVICES = "tensor_view<8xi32, strides=[1], #cuda_tile.ptr_attr<multicast>>"
INTEGER_MULTICAST = f"""%mi = ptr_to_ptr %m : tile<ptr<f32, <multicast>>> -> tile<ptr<i32, <multicast>>>
    %tm = make_tensor_view %mi, shape = [8], strides = [1] : {INTEGER_DEVICES}
    %pm = make_partition_view %tm : partition_view<tile=(4), {INTEGER_DEVICES}>
    """
ACCESSES = (("relaxed device", " inbounds = [true, false]"), ("weak", " token = %t"))
COUNTERS = f"%ti = make_tensor_view %q, shape = [%n, 64], strides = [%n, 1] : tile<i32> -> {INTEGERS}\n    "

# Kernel bodies by operation; several if the forms of an operation differ in more than keywords and flags.
SAMPLES: dict[str, list[str]] = {
    "absf": ["%r = absf %f : tile<4xf32>"],
    "absi": ["%r = absi %i : tile<4xi32>"],
    "addf": ["%r = addf %f, %f rounding<zero> : tile<4xf32>"],
    "addi": ["%r = addi %i, %i : tile<4xi32>"],
    "alloca": ["%r = alloca num_elem = 64, alignment = 16 : tile<ptr<f32>>"],
    "andi": ["%r = andi %i, %i : tile<4xi32>"],
    "assert": ['assert %c, "wrong" : tile<4xi1>', 'assert %c, "\\"quotes\\" \\\\ and a\\0Aline" : tile<4xi1>'],
    "assume": [
        "%r = assume div_by<16>, %p : tile<ptr<f32>>",
        "%r = assume div_by<4, every 2 along 0>, %i : tile<4xi32>",
        "%r = assume same_elements<[2]>, %i : tile<4xi32>",
        "%r = assume bounded<?, ?>, %n : tile<i32>",
        "%r = assume bounded<-5, 70000>, %n : tile<i32>",
        "%r = assume bounded<?, -1>, %n : tile<i32>",
    ],
    "atan2": ["%r = atan2 %f, %f : tile<4xf32>"],
    "atomic_cas_tko": [
        "%r, %u = atomic_cas_tko relaxed device %qs, %i, %i : tile<4xptr<i32>>, tile<4xi32> -> tile<4xi32>, token",
        "%r, %u = atomic_cas_tko relaxed device %qs, %i, %i, %c token=%t"
        " : tile<4xptr<i32>>, tile<4xi32>, tile<4xi1> -> tile<4xi32>, token",
    ],
    "atomic_red_view_tko": [
        COUNTERS + f"%g = make_strided_view %ti : {STEPS}\n    %v = constant <i32: 3> : tile<4x2xi32>\n"
        f"    %r = atomic_red_view_tko relaxed device %g[%n, %n], {mode}, %v{token}"
        f" : tile<4x2xi32>, {STEPS}, tile<i32> -> token"
        for mode, token in (("add", " token = %t"), ("umax", ""))
    ],
    "atomic_rmw_tko": [
        "%r, %u = atomic_rmw_tko relaxed device %qs, add, %i : tile<4xptr<i32>>, tile<4xi32> -> tile<4xi32>, token",
        "%r, %u = atomic_rmw_tko acq_rel sys %ps, addf, %f, %c token=%t"
        " : tile<4xptr<f32>>, tile<4xf32>, tile<4xi1> -> tile<4xf32>, token",
    ],
    "bitcast": ["%r = bitcast %f : tile<4xf32> -> tile<4xi32>"],
    "break": ["loop { break }", "%r = loop : tile<f32> { break %x : tile<f32> }"],
    "broadcast": [
        "%s = reshape %i : tile<4xi32> -> tile<1x4xi32>\n    %r = broadcast %s : tile<1x4xi32> -> tile<8x4xi32>"
    ],
    "cat": ["%r = cat %i, %i dim = 0 : tile<4xi32>, tile<4xi32> -> tile<8xi32>"],
    "ceil": ["%r = ceil %f : tile<4xf32>"],
    "cmpf": ["%r = cmpf less_than ordered %f, %f : tile<4xf32> -> tile<4xi1>"],
    "cmpi": ["%r = cmpi less_than %i, %i, signed : tile<4xi32> -> tile<4xi1>"],
    "constant": ["%r = constant <i16: [[1, -2], [3, -32768]]> : tile<2x2xi16>"],
    "continue": ["for %k in (%n to %n, step %one) : tile<i32> { continue }"],
    "cos": ["%r = cos %f : tile<4xf32>"],
    "cosh": ["%r = cosh %f : tile<4xf32>"],
    "divf": ["%r = divf %f, %f rounding<full> : tile<4xf32>"],
    "divi": ["%r = divi %i, %i signed : tile<4xi32>"],
    "exp": ["%r = exp %f : tile<4xf32>"],
    "exp2": ["%r = exp2 %f : tile<4xf32>"],
    "extract": ["%r = extract %i[%n] : tile<4xi32> -> tile<2xi32>"],
    "exti": ["%r = exti %i signed : tile<4xi32> -> tile<4xi64>"],
    "floor": ["%r = floor %f : tile<4xf32>"],
    "fma": ["%r = fma %f, %f, %f rounding<positive_inf> : tile<4xf32>"],
    "for": [
        "for %k in (%n to %n, step %one) : tile<i32> { }",
        "%r:2 = for %k in (%n to %n, step %one) : tile<i32> iter_values(%a = %x, %d = %i)"
        " -> (tile<f32>, tile<4xi32>) {\n"
        "      %s = addi %d, %d : tile<4xi32>\n      continue %a, %s : tile<f32>, tile<4xi32>\n    }\n"
        "    %after = addi %r#1, %i : tile<4xi32>",
    ],
    "fpowf": ["%r = fpowf %f, %f : tile<4xf32>"],
    "fpowi": ["%r = fpowi %f, %i : tile<4xf32>, tile<4xi32>"],
    "ftof": [
        "%r = ftof %f : tile<4xf32> -> tile<4xf16>",
        "%r = ftof %h : tile<4xf16> -> tile<4xf8E5M2>",
        "%r = ftof %f rounding<nearest_away> : tile<4xf32> -> tile<4xtf32>",
    ],
    "ftoi": ["%r = ftoi %f signed : tile<4xf32> -> tile<4xi32>"],
    "gdc_launch_dependents_tko": [
        "%r = gdc_launch_dependents_tko -> token",
        "%r = gdc_launch_dependents_tko token = %t -> token",
    ],
    "gdc_wait_tko": ["%r = gdc_wait_tko -> token", "%r = gdc_wait_tko token = %t -> token"],
    "get_global": ["%r = get_global @table : tile<ptr<f32>>"],
    "get_index_space_shape": [f"%r:2 = get_index_space_shape %pv : {PARTITION} -> tile<i64>"],
    "get_num_tile_blocks": ["%r, %s, %u = get_num_tile_blocks : tile<i32>"],
    "get_tensor_shape": [f"%r:2 = get_tensor_shape %tv : {TENSOR} -> tile<i32>"],
    "get_tile_block_id": ["%r, %s, %u = get_tile_block_id : tile<i32>"],
    "if": [
        "if %b { }",
        "if %b { } else { }",
        "if %b { return } else { return }",
        "%r:2 = if %b -> (tile<f32>, tile<4xi32>) {\n      %s = addi %i, %i : tile<4xi32>\n"
        "      yield %x, %s : tile<f32>, tile<4xi32>\n    } else {\n"
        "      yield %x, %i : tile<f32>, tile<4xi32>\n    }\n"
        "    %after = addi %r#1, %i : tile<4xi32>",
    ],
    "insert": ["%s = constant <i32: 1> : tile<2xi32>\n    %r = insert %s, %i[%n] : tile<2xi32>, tile<4xi32>"],
    "int_to_ptr": ["%r = int_to_ptr %j : tile<4xi64> -> tile<4xptr<f16>>"],
    "iota": ["%r = iota : tile<64xi8>"],
    "itof": ["%r = itof %i signed : tile<4xi32> -> tile<4xf32>"],
    "join_tokens": ["%s = make_token : token\n    %r = join_tokens %t, %s, %t : token"],
    "load_ptr_tko": [
        "%r, %u = load_ptr_tko weak %ps : tile<4xptr<f32>> -> tile<4xf32>, token",
        "%r, %u = load_ptr_tko relaxed device %ps, %c, %f token=%t optimization_hints = <sm_90 = {latency = 4}>"
        " : tile<4xptr<f32>>, tile<4xi1>, tile<4xf32> -> tile<4xf32>, token",
        "%r, %u = load_ptr_tko acquire sys %ps, %c : tile<4xptr<f32>>, tile<4xi1> -> tile<4xf32>, token",
        "%r, %u = load_ptr_tko weak %ps token=%t : tile<4xptr<f32>> -> tile<4xf32>, token",
    ],
    "load_view_tko": [
        f"%r, %u = load_view_tko weak %pv[%n, %n] : {PARTITION}, tile<i32> -> tile<4x2xf32>, token",
        "%r, %u = load_view_tko relaxed device %pv[%n, %n] token = %t"
        " optimization_hints = <sm_100 = {allow_tma = false, latency = 3}, sm_90 = {latency = 10}>"
        f" : {PARTITION}, tile<i32> -> tile<4x2xf32>, token",
    ],
    "log": ["%r = log %f : tile<4xf32>"],
    "log2": ["%r = log2 %f : tile<4xf32>"],
    "loop": [
        "loop { continue }",
        "%r = loop iter_values(%a = %x, %k = %n) : tile<f32>, tile<i32> -> tile<i32> {\n      if %b {\n"
        "        break %k : tile<i32>\n      }\n      continue %a, %one : tile<f32>, tile<i32>\n    }",
    ],
    "make_gather_scatter_view": [
        "%r = make_gather_scatter_view %tv :"
        f" gather_scatter_view<tile=(4x2), padding_value = zero, {TENSOR}, sparse_dim=1>"
    ],
    "make_partition_view": [
        f"%r = make_partition_view %tv : partition_view<tile=(4x2), padding_value = nan, {TENSOR}, dim_map=[1, 0]>"
    ],
    "make_strided_view": [
        "%r = make_strided_view %tv : strided_view<tile=(4x2), traversal_strides=[3,7], padding_value = neg_inf,"
        f" {TENSOR}, dim_map=[1, 0]>"
    ],
    "make_tensor_view": [
        "%r = make_tensor_view %p, shape = [], strides = [] : tensor_view<f32>",
        f"%r = make_tensor_view %p, shape = [%n, 64], strides = [%n, 1] : tile<i32> -> {TENSOR}",
        "%r = make_tensor_view %p, shape = [5000000000, 7], strides = [7, 1]"
        " : tensor_view<5000000000x7xf32, strides=[7,1]>",
    ],
    "make_token": ["%r = make_token : token"],
    "maxf": ["%r = maxf %f, %f : tile<4xf32>"],
    "maxi": ["%r = maxi %i, %i signed : tile<4xi32>"],
    "memory_fence_alias_tko": ["%r = memory_fence_alias_tko %t"],
    "minf": ["%r = minf %f, %f : tile<4xf32>"],
    "mini": ["%r = mini %i, %i signed : tile<4xi32>"],
    "mmaf": [
        "%a = constant <f16: 1.0> : tile<16x16xf16>\n    %z = constant <f32: 0.0> : tile<16x16xf32>\n"
        "    %r = mmaf %a, %a, %z : tile<16x16xf16>, tile<16x16xf16>, tile<16x16xf32>"
    ],
    "mmaf_scaled": [
        "%a = constant <f8E4M3FN: 1.0> : tile<32x32xf8E4M3FN>\n    %z = constant <f32: 0.0> : tile<32x32xf32>\n"
        "    %s = constant <f8E8M0FNU: 1.0> : tile<32x1xf8E8M0FNU>\n"
        "    %u = constant <f8E8M0FNU: 1.0> : tile<1x32xf8E8M0FNU>\n"
        "    %r = mmaf_scaled %a, %a, %z, %s, %u : tile<32x32xf8E4M3FN>, tile<32x32xf8E4M3FN>, tile<32x32xf32>,"
        " tile<32x1xf8E8M0FNU>, tile<1x32xf8E8M0FNU>"
    ],
    "mmai": [
        "%a = constant <i8: 1> : tile<16x16xi8>\n    %z = constant <i32: 0> : tile<16x16xi32>\n"
        "    %r = mmai %a, %a, %z signed unsigned : tile<16x16xi8>, tile<16x16xi8>, tile<16x16xi32>"
    ],
    "mulf": ["%r = mulf %f, %f rounding<negative_inf> : tile<4xf32>"],
    "mulhii": ["%r = mulhii %i, %i : tile<4xi32>"],
    "muli": ["%r = muli %i, %i : tile<4xi32>"],
    "multimem_load_reduce_view_tko": [
        MULTICAST + f"%r, %u = multimem_load_reduce_view_tko {order} %pm[%n, %n]{tail} : "
        f"partition_view<tile=(4x2), {DEVICES}>, tile<i32> -> tile<4x2xf32>, token"
        for order, tail in ACCESSES
    ]
    + [
        INTEGER_MULTICAST + "%r, %u = multimem_load_reduce_view_tko weak %pm[%n] : "
        f"partition_view<tile=(4), {INTEGER_DEVICES}>, tile<i32> -> tile<4xi32>, token"
    ],
    "multimem_reduce_view_tko": [
        MULTICAST + f"%r = multimem_reduce_view_tko relaxed device %pm, %tile[%n, %n]{tail} : "
        f"partition_view<tile=(4x2), {DEVICES}>, tile<4x2xf32>, tile<i32> -> token"
        for _, tail in ACCESSES
    ],
    "multimem_store_view_tko": [
        MULTICAST + f"%r = multimem_store_view_tko {order} %pm, %tile[%n, %n]{tail} : "
        f"partition_view<tile=(4x2), {DEVICES}>, tile<4x2xf32>, tile<i32> -> token"
        for order, tail in ACCESSES
    ],
    "negf": ["%r = negf %f : tile<4xf32>"],
    "negi": ["%r = negi %i : tile<4xi32>"],
    "offset": ["%r = offset %ps, %i : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>"],
    "ori": ["%r = ori %i, %i : tile<4xi32>"],
    "pack": ["%r = pack %i : tile<4xi32> -> tile<16xi8>"],
    "permute": [
        "%s = reshape %i : tile<4xi32> -> tile<1x4x1xi32>\n"
        "    %r = permute %s [1, 2, 0] : tile<1x4x1xi32> -> tile<4x1x1xi32>"
    ],
    "print_tko": [
        '%r = print_tko "nothing" -> token',
        '%r = print_tko "%f of %i\\0A", %f, %i : tile<4xf32>, tile<4xi32> -> token',
        '%r = print_tko "%f", %f token=%t : tile<4xf32> -> token\n    %s = join_tokens %r, %t : token',
    ],
    "ptr_to_int": ["%r = ptr_to_int %ps : tile<4xptr<f32>> -> tile<4xi64>"],
    "ptr_to_ptr": ["%r = ptr_to_ptr %ps : tile<4xptr<f32>> -> tile<4xptr<i8>>"],
    "reduce": [
        "%r = reduce %f dim=0 identities=[0.0 : f32] : tile<4xf32> -> tile<f32>\n"
        "    (%a: tile<f32>, %d: tile<f32>) {\n      %s = addf %a, %d : tile<f32>\n      yield %s : tile<f32>\n    }",
        "%r:2 = reduce %f, %i dim=0 identities=[0xFF800000 : f32, -1 : i32] : tile<4xf32>, tile<4xi32> -> tile<f32>,"
        " tile<i32>\n    (%a: tile<f32>, %d: tile<f32>, %e: tile<i32>, %g: tile<i32>) {\n"
        "      %s = maxf %a, %d : tile<f32>\n      yield %s, %g : tile<f32>, tile<i32>\n    }",
        "%r:2 = reduce %h, %c dim=0 identities=[-1.5 : f16, true] : tile<4xf16>, tile<4xi1> -> tile<f16>,"
        " tile<i1>\n    (%a: tile<f16>, %d: tile<f16>, %e: tile<i1>, %g: tile<i1>) {\n"
        "      yield %a, %g : tile<f16>, tile<i1>\n    }",
        "%k = constant <i8: 1> : tile<16xi8>\n    %d = unpack %k : tile<16xi8> -> tile<32xi4>\n"
        "    %r = reduce %d dim=0 identities=[-8 : i4] : tile<32xi4> -> tile<i4>\n"
        "    (%a: tile<i4>, %e: tile<i4>) {\n      yield %a : tile<i4>\n    }",
        # The most significant bit of the 64-bit identity is set.
        "%d = constant <f64: 1.0> : tile<4xf64>\n"
        "    %r = reduce %d dim=0 identities=[-1.0 : f64] : tile<4xf64> -> tile<f64>\n"
        "    (%a: tile<f64>, %e: tile<f64>) {\n      %s = addf %a, %e : tile<f64>\n      yield %s : tile<f64>\n    }",
        "%r = reduce %j dim=0 identities=[-9223372036854775808 : i64] : tile<4xi64> -> tile<i64>\n"
        "    (%a: tile<i64>, %d: tile<i64>) {\n      %s = maxi %a, %d signed : tile<i64>\n"
        "      yield %s : tile<i64>\n    }",
    ],
    "remf": ["%r = remf %f, %f : tile<4xf32>"],
    "remi": ["%r = remi %i, %i signed : tile<4xi32>"],
    "reshape": ["%r = reshape %i : tile<4xi32> -> tile<2x1x2xi32>"],
    "return": [""],
    "rsqrt": ["%r = rsqrt %f : tile<4xf32>"],
    "scan": [
        "%r = scan %f dim=0 reverse=false identities=[0.0 : f32] : tile<4xf32> -> tile<4xf32>\n"
        "    (%a: tile<f32>, %d: tile<f32>) {\n      %s = addf %a, %d : tile<f32>\n      yield %s : tile<f32>\n    }"
    ],
    "select": ["%r = select %c, %i, %i : tile<4xi1>, tile<4xi32>"],
    "shli": ["%r = shli %i, %i : tile<4xi32>"],
    "shri": ["%r = shri %i, %i signed : tile<4xi32>"],
    "sin": ["%r = sin %f : tile<4xf32>"],
    "sinh": ["%r = sinh %f : tile<4xf32>"],
    "sqrt": ["%r = sqrt %f rounding<zero> : tile<4xf32>"],
    "store_ptr_tko": [
        "%r = store_ptr_tko weak %ps, %f : tile<4xptr<f32>>, tile<4xf32> -> token",
        "%r = store_ptr_tko release sys %ps, %f, %c token=%t optimization_hints = <sm_100 = {latency = 1}>"
        " : tile<4xptr<f32>>, tile<4xf32>, tile<4xi1> -> token",
    ],
    "store_view_tko": [
        f"%r = store_view_tko weak %tile, %pv[%n, %n] : tile<4x2xf32>, {PARTITION}, tile<i32> -> token",
        "%r = store_view_tko relaxed tl_blk %tile, %pv[%n, %n] token = %t optimization_hints = <sm_90 = {latency = 2}>"
        f" : tile<4x2xf32>, {PARTITION}, tile<i32> -> token",
    ],
    "subf": ["%r = subf %f, %f rounding<nearest_even> : tile<4xf32>"],
    "subi": ["%r = subi %i, %i : tile<4xi32>"],
    "tan": ["%r = tan %f : tile<4xf32>"],
    "tanh": ["%r = tanh %f : tile<4xf32>"],
    "trunci": ["%r = trunci %j : tile<4xi64> -> tile<4xi16>"],
    "unpack": ["%s = constant <i8: 1> : tile<16xi8>\n    %r = unpack %s : tile<16xi8> -> tile<4xi32>"],
    "xori": ["%r = xori %i, %i : tile<4xi32>"],
    "yield": ["%r = if %b -> (tile<f32>) { yield %x : tile<f32> } else { yield %x : tile<f32> }"],
}


def kernel(name: str, body: str) -> str:
    """The text of a kernel with the operations of a sample."""
    devices = ", %m: tile<ptr<f32, <multicast>>>" if "%m" in body else ""
    arguments = f"%p: tile<ptr<f32>>, %q: tile<ptr<i32>>, %n: tile<i32>, %b: tile<i1>{devices}"
    return f"entry @{name}({arguments}) {{{PRELUDE}    {body}\n    return\n}}\n"


_SIGNED = "[0.0, -0.5, 1.5, -2.0]"
_POSITIVE = "[0.5, 1.0, 2.0, 4.0]"
# Four different numbers of each element type, some at the limits of its range or outside of it.
ELEMENTS = {
    "i1": "[true, false, false, true]",
    "i8": "[-128, 127, 0, 200]",
    "i16": "[-32768, 32767, 0, 65535]",
    "i32": "[-2147483648, 2147483647, 0, 4294967295]",
    "i64": "[-9223372036854775808, 9223372036854775807, 0, 0xFFFFFFFFFFFFFFFE]",
    "f16": "[0x7C00, 0x7E01, -0.0, 1.0e-7]",
    "bf16": "[0x7F80, 0xFFC1, -0.0, 1.1]",
    "f32": "[0x7F800000, 0x7FC00001, -0.0, 1.1]",
    "tf32": "[0x3FC00, 0x7FE01, -0.0, 1.1]",
    "f64": "[0x7FF0000000000000, 0x7FF8000000000001, -0.0, 1.1]",
    "f8E4M3FN": "[0x7F, 0xFF, -0.0, 448.0]",
    "f8E5M2": "[0x7C, 0xFE, -0.0, 57344.0]",
    "f8E8M0FNU": "[0xFF, 1.0, 2.0, 0.5]",
    "f4E2M1FN": "[-6.0, 0.5, -0.0, 3.0]",
    "fnv8E5M3FNU": "[1.125, 0.0, 2.0, 0.5]",
}
PADDING = ("zero", "neg_zero", "nan", "pos_inf", "neg_inf")
KINDS = {
    "partition_view": "partition_view<tile=(4x2), {padding}" + TENSOR + ">",
    "strided_view": "strided_view<tile=(4x2), traversal_strides=[1,9], {padding}" + TENSOR + ">",
    "gather_scatter_view": "gather_scatter_view<tile=(4x2), {padding}" + TENSOR + ", sparse_dim=0>",
}


def _constants(element: str, numbers: str) -> str:
    one = numbers[1:-1].split(", ")
    many = ", ".join(one * 32)
    return f"""%k0 = constant <{element}: {numbers}> : tile<4x{element}>
    %k1 = constant <{element}: {one[-1]}> : tile<8x{element}>
    %k2 = constant <{element}: [{many}]> : tile<128x{element}>
    %k3 = constant <{element}: [[{one[0]}, {one[1]}], [{one[2]}, {one[3]}]]> : tile<2x2x{element}>"""


def _pointers(element: str) -> str:
    return f"""%k0 = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<{element}>>
    %k1 = make_tensor_view %k0, shape = [64, 2], strides = [1, 64] : tensor_view<64x2x{element}, strides=[1,64]>"""


def _attributed(attribute: str) -> str:
    view = f"tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<{attribute}>>"
    return f"""%k0 = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f32, <{attribute}>>>
    %k1 = make_tensor_view %k0, shape = [8], strides = [1] : {view}
    %k2 = make_partition_view %k1 : partition_view<tile=(4), {view}>"""


# Kernel bodies with each type.
TYPES = [
    *(_constants(element, numbers) for element, numbers in ELEMENTS.items()),
    # A splat of i1 is one byte of equal bits for any number of elements; other constants are packed bits.
    "%k0 = constant <i1: [true, false]> : tile<2xi1>\n    %k1 = constant <i1: true> : tile<i1>\n"
    "    %k2 = constant <i1: false> : tile<64xi1>\n    %k3 = constant <i1: [true]> : tile<1xi1>",
    *(_pointers(element) for element in ELEMENTS),
    *(_attributed(attribute) for attribute in ("none", "unicast", "multicast")),
    "%k0 = constant <i8: 1> : tile<16xi8>\n    %k1 = unpack %k0 : tile<16xi8> -> tile<32xi4>",
    *(
        f"%v = make_{kind} %tv : {text.format(padding=f'padding_value = {padding}, ' if padding else '')}"
        for kind, text in KINDS.items()
        for padding in ("", *PADDING)
    ),
    "%k0 = make_tensor_view %p, shape = [%n, %n, 5], strides = [%n, 5, 1] : tile<i32>"
    " -> tensor_view<?x?x5xf32, strides=[?,5,1]>\n    %k1 = make_partition_view %k0 : partition_view<tile=(1x8x2),"
    " tensor_view<?x?x5xf32, strides=[?,5,1]>, dim_map=[2, 0, 1]>",
]
