"""Packed views of tilex: what their assembly says, what the verifier refuses, and what bytecode cannot hold."""

from __future__ import annotations

import pytest

from tilec.dialect.assembly.printer import print_module
from tilec.dialect.assembly.reader import read_module
from tilec.dialect.bytecode.writing.writer import write_module
from tilec.dialect.mlir import context, ir
from tilec.errors import InputError

TENSOR = "tensor_view<16x24xi8, strides=[24,1]>"
VIEW = f"tilex.packed_view<tile=(8x32), bits=6, {TENSOR}>"


def module_with(body: str) -> str:
    parameters = "%p: tile<ptr<i8>>, %i: tile<i32>, %l: tile<i64>"
    return f"cuda_tile.module @m {{\n  entry @k({parameters}) {{\n{body}\n    return\n  }}\n}}\n"


def viewed(view: str = VIEW, tensor: str = TENSOR, strides: str = "24, 1") -> str:
    return f"""    %t = make_tensor_view %p, shape = [16, 24], strides = [{strides}] : {tensor}
    %v = tilex.make_packed_view %t : {view}"""


def read(text: str) -> ir.Module:
    module = read_module(text, "kernel.mlir")
    with context():
        module.operation.verify()
    return module


@pytest.mark.parametrize("generic", [False, True])
def test_round_trip(generic: bool) -> None:
    body = f"""{viewed()}
    %n:2 = tilex.get_packed_index_space_shape %v : {VIEW} -> tile<i32>
    %a, %b = tilex.load_packed_tko weak %v[%i, %i] optimization_hints = <sm_100a = {{latency = 3}}>
      : {VIEW}, tile<i32> -> tile<8x32xi8>, token
    %c = tilex.store_packed_tko weak %a, %v[%l, %l] token = %b : tile<8x32xi8>, {VIEW}, tile<i64> -> token"""
    first = print_module(read(module_with(body)), generic=generic)
    assert VIEW in first
    assert print_module(read(first), generic=generic) == first


def test_generic_form_of_mlir() -> None:
    first = read(module_with(viewed()))
    with context():
        assert print_module(ir.Module.parse(str(first))) == print_module(first)


REFUSED = {
    "bits": (VIEW.replace("bits=6", "bits=5"), "packed_view expects bits to be one of: 2, 4, 6, but got: 5"),
    "rank": (VIEW.replace("8x32", "32"), "expected tensor_view rank and tile rank to match"),
    "tile of 24 elements": (VIEW.replace("8x32", "8x24"), "tile shape dimensions must have power of two length"),
    "two elements of 6 bits": (
        VIEW.replace("8x32", "8x2"),
        "a tile of 6-bit elements covers whole bytes: the innermost extent of the tile must be a multiple of 4, but "
        "got 2",
    ),
    "one element of 4 bits": (
        VIEW.replace("8x32", "8x1").replace("bits=6", "bits=4"),
        "a tile of 4-bit elements covers whole bytes: the innermost extent of the tile must be a multiple of 2, but "
        "got 1",
    ),
    "other tensor": (
        VIEW.replace("16x24", "16x48"),
        "expects an operand of type 'tensor_view<16x48xi8, strides=[24,1]>', the tensor_view inside the result, but "
        f"got '{TENSOR}'",
    ),
    "elements of i16": (
        VIEW.replace("xi8", "xi16"),
        "packed_view expects a tensor of bytes, i8, but got elements of i16",
    ),
    "bytes that are not adjacent": (
        VIEW.replace("strides=[24,1]", "strides=[1,16]"),
        "packed_view expects a static stride of 1 in the innermost dimension, but got "
        "'tensor_view<16x24xi8, strides=[1,16]>'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_views(case: str) -> None:
    view, message = REFUSED[case]
    with pytest.raises((InputError, ir.MLIRError)) as refused:
        read(module_with(viewed(view)))
    assert message in str(refused.value)


def test_refused_type_in_generic_form() -> None:
    text = str(read(module_with(viewed()))).replace("6 : i32", "3 : i32")
    with context(), pytest.raises(ir.MLIRError, match="bits to be one of: 2, 4, 6, but got: 3"):
        ir.Module.parse(text)


ACCESSES = {
    "indices": ("[%i]", "tile<8x32xi8>", "expected 2 index operands (based on the view), but got 1"),
    "tile": (
        "[%i, %i]",
        "tile<32x8xi8>",
        "expects a tile of type 'tile<8x32xi8>', as the view has, but got 'tile<32x8xi8>'",
    ),
}


@pytest.mark.parametrize("case", ACCESSES)
def test_refused_loads(case: str) -> None:
    operands, tile, message = ACCESSES[case]
    body = f"{viewed()}\n    %a, %b = tilex.load_packed_tko weak %v{operands} : {VIEW}, tile<i32> -> {tile}, token"
    with pytest.raises((InputError, ir.MLIRError)) as refused:
        read(module_with(body))
    assert message in str(refused.value)


def test_refused_number_of_extents() -> None:
    body = f"{viewed()}\n    %n = tilex.get_packed_index_space_shape %v : {VIEW} -> tile<i32>"
    with pytest.raises((InputError, ir.MLIRError), match="expects 2 results for .*, but got 1"):
        read(module_with(body))


def test_bytecode_refuses_packed_views() -> None:
    module = read(module_with(viewed()))
    wanted = "'tilex.make_packed_view' cannot be encoded in bytecode.*rewrite the module by 'tilec opt --passes expand"
    with context(), pytest.raises(InputError, match=wanted) as refused:
        write_module(module)
    assert refused.value.location is not None and refused.value.location.line == 4
