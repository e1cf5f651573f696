"""Multiplies with a sparse lhs: what their assembly says, what the verifier refuses, and what bytecode cannot hold."""

from __future__ import annotations

import pytest

from tilec.dialect.assembly.printer import print_module
from tilec.dialect.assembly.reader import read_module
from tilec.dialect.bytecode.writing.writer import write_module
from tilec.dialect.mlir import context, ir
from tilec.errors import InputError

TYPES = ("32x32xf16", "32x2xi32", "64x8xf16", "32x8xf32")


def module_with(types: tuple[str, ...] = TYPES, flags: str = "") -> str:
    names = ("%a", "%e", "%b", "%c")
    tiles = [f"tile<{type}>" for type in types]
    made = "\n".join(
        f"    {name} = constant <{tile.split('x')[-1][:-1]}: {0 if 'xi' in tile else '0.0'}> : {tile}"
        for name, tile in zip(names, tiles, strict=True)
    )
    return f"""cuda_tile.module @m {{
  entry @k() {{
{made}
    %d = tilex.mma_sparse {flags}%a, %e, %b, %c : {", ".join(tiles)}
    return
  }}
}}
"""


def read(text: str) -> ir.Module:
    module = read_module(text, "kernel.mlir")
    with context():
        module.operation.verify()
    return module


BYTES = ("8x32xi8", "8x2xi32", "64x8xi8", "8x8xi32")


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize(
    ("types", "flags"), [(TYPES, ""), (BYTES, "lhs_unsigned "), (BYTES, "lhs_unsigned rhs_unsigned ")], ids=str
)
def test_round_trip(types: tuple[str, ...], flags: str, generic: bool) -> None:
    first = print_module(read(module_with(types, flags)), generic=generic)
    assert all(flag in first for flag in flags.split())
    assert print_module(read(first), generic=generic) == first


def test_generic_form_of_mlir() -> None:
    first = read(module_with())
    with context():
        assert print_module(ir.Module.parse(str(first))) == print_module(first)


REFUSED = {
    "rank": (("1x32x32xf16", *TYPES[1:]), "expects tiles of rank 2, but got tile<1x32x32xf16>"),
    "element of rhs": (
        (*TYPES[:2], "64x8xbf16", TYPES[3]),
        "expects lhs and rhs of one element type, but got f16 and bf16",
    ),
    "element of lhs": (("32x32xf32", TYPES[1], "64x8xf32", TYPES[3]), "tile of f16 or bf16 or tf32 or f8E4M3FN"),
    "element of metadata": ((TYPES[0], "32x2xi16", *TYPES[2:]), "tile of i32 values"),
    "accumulator": (
        ("32x32xbf16", TYPES[1], "64x8xbf16", "32x8xf16"),
        "expects an accumulator of f32 for inputs of bf16, but got f16",
    ),
    "accumulator of bytes": ((*BYTES[:3], "8x8xf32"), "expects an accumulator of i32 for inputs of i8, but got f32"),
    "shape of the accumulator": ((*TYPES[:3], "32x16xf32"), "expects an accumulator of 32x8, but got tile<32x16xf32>"),
    "rows of rhs": (
        (*TYPES[:2], "32x8xf16", TYPES[3]),
        "expected 64 rows of rhs, two for each of the 32 columns of kept elements, but got 32",
    ),
    "part of a word": (
        ("32x8xf16", "32x1xi32", "16x8xf16", TYPES[3]),
        "a word of metadata covers 32 elements of f16 along K, but K is 16",
    ),
    "part of a block": (
        ("8x32xf16", "8x2xi32", TYPES[2], "8x8xf32"),
        "the metadata of f16 has blocks of 16 rows, but got 8 rows",
    ),
    "shape of metadata": ((TYPES[0], "32x4xi32", *TYPES[2:]), "expected metadata of 32x2 words, but got 32x4"),
    "words of tf32": (
        ("32x32xtf32", "32x2xi32", "64x8xtf32", TYPES[3]),
        "expected metadata of 32x4 words, but got 32x2",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    types, message = REFUSED[case]
    with pytest.raises((InputError, ir.MLIRError)) as refused:
        read(module_with(types))
    assert message in str(refused.value)


def test_signs_of_floats_are_refused() -> None:
    with pytest.raises((InputError, ir.MLIRError), match="expects operands of i8 with lhs_unsigned or rhs_unsigned"):
        read(module_with(flags="rhs_unsigned "))


def test_bytecode_refuses_them() -> None:
    module = read(module_with())
    wanted = "'tilex.mma_sparse' cannot be encoded in bytecode.*rewrite the module by 'tilec opt --passes expand"
    with context(), pytest.raises(InputError, match=wanted):
        write_module(module)
