"""Variables of a module: the bytes of every element type, linkage, alignment and names."""

from __future__ import annotations

import re
import struct

import ml_dtypes
import numpy as np
import pytest

import tilec
from tilec.dialect.mlir import context, ir
from tilec.errors import CompileError
from tilec.lowering.gpu_to_ptx.registers.elements import element_of
from tilec.lowering.gpu_to_ptx.registers.literals import memory_bytes


def bytes_of(text: str) -> bytes:
    with context():
        elements = ir.DenseElementsAttr(ir.Attribute.parse(text))
        return memory_bytes(elements, element_of(ir.RankedTensorType(elements.type)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dense<[true, false, true, true]> : tensor<4xi1>", bytes([1, 0, 1, 1])),
        ("dense<true> : tensor<16xi1>", bytes([1] * 16)),
        ("dense<[1, -2]> : tensor<2xi8>", bytes([1, 254])),
        ("dense<[1, -2]> : tensor<2xi16>", struct.pack("<2h", 1, -2)),
        ("dense<-3> : tensor<2xi64>", struct.pack("<2q", -3, -3)),
        ("dense<[1.5, -0.0]> : tensor<2xf16>", np.array([1.5, -0.0], np.float16).tobytes()),
        ("dense<[1.5, 3.0e38]> : tensor<2xbf16>", np.array([1.5, 3.0e38], ml_dtypes.bfloat16).tobytes()),
        ("dense<0x7FC00001> : tensor<1xf32>", struct.pack("<I", 0x7FC00001)),
        # The fields of a tf32 are the upper 19 bits of an f32.
        ("dense<[1.5, -2.0]> : tensor<2xtf32>", struct.pack("<2f", 1.5, -2.0)),
        ("dense<2.5> : tensor<2xf64>", struct.pack("<2d", 2.5, 2.5)),
        ("dense<[448.0, -1.0]> : tensor<2xf8E4M3FN>", np.array([448, -1], ml_dtypes.float8_e4m3fn).tobytes()),
        ("dense<[0.5, 2.0]> : tensor<2xf8E8M0FNU>", np.array([0.5, 2.0], ml_dtypes.float8_e8m0fnu).tobytes()),
        # Codes of 1, -6 and 0.5 are 2, 15 and 1; the first of two elements is the low half of a byte.
        ("dense<[1.0, -6.0, 0.5, 1.0]> : tensor<4xf4E2M1FN>", bytes([0xF2, 0x21])),
        ("dense<1.0> : tensor<4xf4E2M1FN>", bytes([0x22, 0x22])),
    ],
)  # fmt: skip
def test_bytes_in_memory(text: str, expected: bytes) -> None:
    assert bytes_of(text) == expected


MODULE = """cuda_tile.module @m {{
{globals}
entry @k(%p: tile<ptr<i32>>) {{
  %g = get_global @{name} : tile<ptr<i32>>
  %x, %t = load_ptr_tko weak %g : tile<ptr<i32>> -> tile<i32>, token
  %s = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token
  return
}}
}}"""


def ptx_of(globals: str, name: str = "g") -> str:
    module = tilec.Module.parse(MODULE.format(globals=globals, name=name))
    return tilec.compile(module, target="sm_90a", stop="ptx").ptx


def test_linkage_and_alignment() -> None:
    ptx = ptx_of(
        "global @g <i32: [1, 2]> : tile<2xi32>\nglobal private @h alignment = 256 <i8: 3> : tile<2xi8>\n"
        "global @zeros <i32: 0> : tile<4xi32>"
    )
    assert re.findall(r"^.*\.global \.align.*$", ptx, re.MULTILINE) == [
        ".visible .global .align 16 .b8 g[8] = {1, 0, 0, 0, 2, 0, 0, 0};",
        ".global .align 256 .b8 h[2] = {3, 3};",
        ".visible .global .align 16 .b8 zeros[16];",
    ]


@pytest.mark.parametrize("name", ["vprintf", "shared_memory", "tilec_text_0"])
def test_names_of_the_compiler_are_refused(name: str) -> None:
    with pytest.raises(CompileError, match=f"expected another name of global '{name}'") as raised:
        ptx_of(f"global @{name} <i32: 1> : tile<1xi32>", name)
    assert raised.value.location is not None and raised.value.location.line == 2


@pytest.mark.parametrize("name", ["a.b", "1a", "\u00e9"])
def test_names_that_ptx_cannot_have_are_refused(name: str) -> None:
    with pytest.raises(CompileError, match=f"expected another name of global '{name}': names in PTX begin") as raised:
        ptx_of(f'global @"{name}" <i32: 1> : tile<1xi32>', f'"{name}"')
    assert raised.value.location is not None and raised.value.location.line == 2


def test_constant_of_ptx_is_no_name() -> None:
    with pytest.raises(CompileError, match="expected another name of kernel 'WARP_SZ': WARP_SZ is a constant of PTX"):
        tilec.compile(tilec.Module.parse("entry @WARP_SZ() { return }"), target="sm_90a", stop="ptx")


@pytest.mark.parametrize("name", ["a.b", "malloc", "shared_memory"])
def test_names_of_kernels_are_refused_alike(name: str) -> None:
    with pytest.raises(CompileError, match=f"expected another name of kernel '{name}'") as raised:
        tilec.compile(tilec.Module.parse(f'entry @"{name}"() {{ return }}'), target="sm_90a", stop="ptx")
    assert raised.value.location is not None and raised.value.location.line == 1
