"""Instruction descriptors of tcgen05.mma equal those that NVIDIA's tools emit."""

from __future__ import annotations

import pytest

from tilec.lowering.gpu_to_ptx.matrix.tcgen05 import instruction_descriptor


# The 16- and 32-bit types: CUTLASS's examples. The others: tileiras 13.5, whose sums of bytes saturate (bit 3).
@pytest.mark.parametrize(
    ("formats", "accumulator", "rows", "columns", "expected"),
    [
        (("f16", "f16"), "f32", 128, 128, 0x08200010),
        (("bf16", "bf16"), "f32", 256, 256, 0x10400490),
        (("tf32", "tf32"), "f32", 128, 128, 0x08200910),
        (("e4m3", "e4m3"), "f32", 128, 128, 0x08200010),
        (("e4m3", "e4m3"), "f16", 128, 128, 0x08200000),
        (("e5m2", "e5m2"), "f32", 128, 128, 0x08200490),
        # PTX ISA 9.7.16.4.2, table 42: formats of A in bits 9:7, of B in bits 12:10.
        (("e4m3", "e5m2"), "f32", 128, 128, 0x08200410),
        (("e5m2", "e4m3"), "f32", 128, 128, 0x08200090),
        (("e2m3", "e3m2"), "f32", 128, 128, 0x08201190),
        (("e3m2", "e2m3"), "f16", 128, 64, 0x08100E00),
        (("e2m1", "e4m3"), "f32", 256, 256, 0x10400290),
        (("s8", "u8"), "i32", 128, 128, 0x082000A8 & ~(1 << 3)),
    ],
    ids=str,
)
def test_k_major_operands(formats, accumulator, rows, columns, expected):
    assert instruction_descriptor(formats, accumulator, rows, columns, False, False) == expected


def test_mn_major_operands_set_bits_15_and_16():
    plain = instruction_descriptor(("u8", "s8"), "i32", 128, 64, False, False)
    assert instruction_descriptor(("u8", "s8"), "i32", 128, 64, True, False) == plain | 1 << 15
    assert instruction_descriptor(("u8", "s8"), "i32", 128, 64, False, True) == plain | 1 << 16
