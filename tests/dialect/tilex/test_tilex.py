"""The dialect tilex: what its assembly says, what the verifier refuses, and what bytecode cannot hold."""

from __future__ import annotations

import pytest

from tilec.dialect.assembly.printer import print_module
from tilec.dialect.assembly.reader import read_module
from tilec.dialect.bytecode.writing.writer import write_module
from tilec.dialect.cuda_tile.types import TensorViewType
from tilec.dialect.mlir import context, ir
from tilec.dialect.tilex.im2col_type import Im2colViewType
from tilec.errors import InputError

TENSOR = "tensor_view<2x9x9x8xf16, strides=[648,72,8,1]>"
VIEW = (
    "tilex.im2col_view<tile=(32x8), window=[3, 3], dilation=[1, 2], stride=[2, 1], lower=[1, 0], upper=[-1, 1], "
    f"mode=im2col, {TENSOR}>"
)


def module_with(body: str, parameters: str = "%x: tile<ptr<f16>>, %i: tile<i32>, %l: tile<i64>") -> str:
    return f"cuda_tile.module @m {{\n  entry @k({parameters}) {{\n{body}\n    return\n  }}\n}}\n"


def viewed(view: str = VIEW, tensor: str = TENSOR) -> str:
    return f"""    %t = make_tensor_view %x, shape = [2, 9, 9, 8], strides = [648, 72, 8, 1] : {tensor}
    %v = tilex.make_im2col_view %t : {view}"""


def read(text: str) -> ir.Module:
    module = read_module(text, "kernel.mlir")
    with context():
        module.operation.verify()
    return module


@pytest.mark.parametrize("generic", [False, True])
def test_round_trip(generic):
    body = f"""{viewed()}
    %n:2 = tilex.get_im2col_index_space_shape %v : {VIEW} -> tile<i32>
    %p:2 = tilex.get_im2col_output_shape %v : {VIEW} -> tile<i64>
    %a, %b = tilex.load_im2col_tko weak %v[%i, %i] offset [%i, %i] optimization_hints = <sm_100a = {{latency = 3}}>
      : {VIEW}, tile<i32> -> tile<32x8xf16>, token
    %c = tilex.store_im2col_tko weak %a, %v[%l, %l] offset [%l, %l] token = %b
      : tile<32x8xf16>, {VIEW}, tile<i64> -> token"""
    first = print_module(read(module_with(body)), generic=generic)
    assert VIEW in first
    assert print_module(read(first), generic=generic) == first


def test_generic_form_of_mlir():
    first = read(module_with(viewed()))
    with context():
        again = ir.Module.parse(str(first))
        assert print_module(again) == print_module(first)


SLICES = "tensor_view<2x4x9x9x8xf16, strides=[2592,648,72,8,1]>"
INTERLEAVED = VIEW.replace("mode=im2col", "interleave=8").replace(TENSOR, SLICES)


def in_slices(view: str = INTERLEAVED) -> str:
    return f"""    %t = make_tensor_view %x, shape = [2, 4, 9, 9, 8], strides = [2592, 648, 72, 8, 1] : {SLICES}
    %v = tilex.make_im2col_view %t : {view}"""


@pytest.mark.parametrize("generic", [False, True])
def test_round_trip_of_slices(generic):
    first = print_module(read(module_with(in_slices())), generic=generic)
    assert INTERLEAVED in first
    assert print_module(read(first), generic=generic) == first
    with context():
        module = read(module_with(in_slices()))
        assert print_module(ir.Module.parse(str(module))) == print_module(module)


# tf32 occupies four bytes of memory, though its values have 19 bits.
@pytest.mark.parametrize("channels", [4, 8])
def test_slices_of_tf32(channels):
    view = INTERLEAVED.replace("9x8xf16", f"9x{channels}xtf32").replace("interleave=8", f"interleave={channels}")
    body = in_slices(view).replace("9x8xf16", f"9x{channels}xtf32").replace("9, 9, 8]", f"9, 9, {channels}]")
    assert view in print_module(read(module_with(body, "%x: tile<ptr<tf32>>")))


REFUSED_SLICES = {
    "rank": (
        INTERLEAVED.replace(SLICES, "tensor_view<9x9x8xf16, strides=[72,8,1]>"),
        "im2col_view expects a tensor of slices of channels, [N, C/8, one to three spatial dimensions, 8], but",
    ),
    "bytes": (
        INTERLEAVED.replace("interleave=8", "interleave=4"),
        "interleave expects slices of 16 or 32 bytes, but got 4 channels of f16",
    ),
    "bytes of tf32": (
        INTERLEAVED.replace("xf16", "xtf32").replace("interleave=8", "interleave=7"),
        "interleave expects slices of 16 or 32 bytes, but got 7 channels of tf32",
    ),
    "negative": (
        INTERLEAVED.replace("interleave=8", "interleave=-8"),
        "interleave expects slices of 16 or 32 bytes, but got -8 channels of f16",
    ),
    "innermost extent": (
        INTERLEAVED.replace("interleave=8", "interleave=16"),
        "interleave expects an innermost extent of 16, but got 8",
    ),
    "mode": (
        INTERLEAVED.replace("interleave=8", "interleave=8, mode=w"),
        "mode expects im2col or none with interleave: other modes have no slices, but got mode w",
    ),
    "window": (
        INTERLEAVED.replace("window=[3, 3]", "window=[3, 3, 3]"),
        "window expects 2 values, one for each spatial dimension, but got [3, 3, 3]",
    ),
}


@pytest.mark.parametrize("case", REFUSED_SLICES)
def test_refused_slices(case):
    view, message = REFUSED_SLICES[case]
    with pytest.raises((InputError, ir.MLIRError)) as refused:
        read(module_with(in_slices(view)))
    assert message in str(refused.value)


REFUSED = {
    "rank": (
        VIEW.replace(TENSOR, "tensor_view<8x8xf16, strides=[8,1]>"),
        "im2col_view expects a tensor of images, [N, W, C], [N, H, W, C] or [N, D, H, W, C], but got rank 2",
    ),
    "count": (
        VIEW.replace("stride=[2, 1]", "stride=[2]"),
        "stride expects 2 values, one for each spatial dimension, but got [2]",
    ),
    "window": (VIEW.replace("[3, 3]", "[3, 0]"), "window must be positive and below 2^31, but got [3, 0]"),
    "dilation": (VIEW.replace("[1, 2]", "[-1, 2]"), "dilation must be positive and below 2^31, but got [-1, 2]"),
    "large": (VIEW.replace("[1, 2]", "[1, 2147483648]"), "dilation exceeds the limits of i32: [1, 2147483648]"),
    "pixels": (VIEW.replace("32x8", "24x8"), "all dimensions must be powers of two, got [24, 8]"),
    "tile of rank 1": (
        VIEW.replace("32x8", "32"),
        "the tile of an im2col_view has two dimensions, pixels and channels, but got [32]",
    ),
    "mode": (
        VIEW.replace("mode=im2col", "mode=tile"),
        "mode must be one of: im2col, w, w128, run, stationary, weights, but got: tile",
    ),
    "w128": (
        VIEW.replace("mode=im2col", "mode=w128"),
        "mode w128 expects tiles of 128, 256, 512 or 1024 pixels, but got 32",
    ),
    "stationary": (
        VIEW.replace("mode=im2col", "mode=stationary"),
        "mode stationary expects tiles of 128, 256, 512 or 1024 pixels, but got 32",
    ),
    "element": (
        VIEW.replace(TENSOR, TENSOR.replace("f16", "f4E2M1FN")),
        "im2col_view does not support elements of f4E2M1FN",
    ),
    "other tensor": (
        VIEW.replace("2x9x9x8", "4x9x9x8"),
        "expects an operand of type 'tensor_view<4x9x9x8xf16, strides=[648,72,8,1]>', the tensor_view inside the "
        f"result, but got '{TENSOR}'",
    ),
    "unknown type": ("tilex.im2row_view<tile=(4x4)>", "unknown type: tilex.im2row_view"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_views(case):
    view, message = REFUSED[case]
    with pytest.raises((InputError, ir.MLIRError)) as refused:
        read(module_with(viewed(view)))
    assert message in str(refused.value)


def test_corner_beyond_32_bits_is_refused():
    with context():
        view = TensorViewType.get([2, 9, 9, 8], ir.F16Type.get(), [648, 72, 8, 1])
        with pytest.raises(ValueError) as refused:
            Im2colViewType.get([32, 8], view, [3, 3], [1, 2], [2, 1], [-(1 << 31) - 1, 0], [0, 0])
    assert str(refused.value) == "lower must be at least -2^31 and below 2^31, but got [-2147483649, 0]"


ACCESSES = {
    "indices": ("[%i] offset [%i, %i]", "tile<32x8xf16>", "expected 2 index operands (based on the view), but got 1"),
    "offsets": (
        "[%i, %i] offset [%i]",
        "tile<32x8xf16>",
        "expected 2 offset operands (based on the view), but got 1",
    ),
    "types": (
        "[%i, %i] offset [%l, %l]",
        "tile<32x8xf16>",
        "expects offsets of type 'tile<i32>', as the index has, but got 'tile<i64>'",
    ),
    "tile": (
        "[%i, %i] offset [%i, %i]",
        "tile<8x32xf16>",
        "expects a tile of type 'tile<32x8xf16>', as the view has, but got 'tile<8x32xf16>'",
    ),
}


@pytest.mark.parametrize("case", ACCESSES)
def test_refused_loads(case):
    operands, tile, message = ACCESSES[case]
    body = f"{viewed()}\n    %a, %b = tilex.load_im2col_tko weak %v{operands} : {VIEW}, tile<i32> -> {tile}, token"
    with pytest.raises((InputError, ir.MLIRError)) as refused:
        read(module_with(body))
    assert message in str(refused.value)


def test_bytecode_refuses_the_dialect():
    module = read(module_with(viewed()))
    wanted = "'tilex.make_im2col_view' cannot be encoded in bytecode.*rewrite the module by 'tilec opt --passes expand"
    with context(), pytest.raises(InputError, match=wanted) as refused:
        write_module(module)
    assert refused.value.location is not None and refused.value.location.line == 4
