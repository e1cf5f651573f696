"""Layouts in shared memory: panels and swizzles, widths of vectors, and scratch without bank conflicts."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.errors import VerificationError
from tilec.lowering.layout.bit_matrix import BitMatrix
from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.conversion import scratch_matrix
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.shared_layout import SharedLayout, parse_shared_layout
from tilec.lowering.layout.tensor_layout import tensor_memory_32x32b
from tilec.lowering.layout.vectors import global_vector, register_vector, vector_groups
from tilec.lowering.layout.wgmma import wgmma_accumulator

SPANS = {"32B": 32, "64B": 64, "128B": 128, "128B_atom_32B": 128}


def pattern(swizzle: str, a):
    """PTX ISA 5.5.7, on the byte address."""
    return {
        "none": lambda: a,
        "32B": lambda: a ^ ((a >> 7 & 1) << 4),
        "64B": lambda: a ^ ((a >> 7 & 3) << 4),
        "128B": lambda: a ^ ((a >> 7 & 7) << 4),
        "128B_atom_32B": lambda: a ^ ((a >> 7 & 3) << 5),
    }[swizzle]()


@pytest.mark.parametrize("swizzle", ["none", *SPANS])
@pytest.mark.parametrize("element_bytes", [1, 2, 4])
@pytest.mark.parametrize("contiguous", [0, 1])
def test_panels_and_swizzle(swizzle, element_bytes, contiguous):
    shape = (128, 256)
    layout = SharedLayout(shape, element_bytes, contiguous, swizzle)
    row, column = np.ogrid[: shape[0], : shape[1]]
    inner, outer = (column, row) if contiguous == 1 else (row, column)
    byte = inner * element_bytes
    span = SPANS.get(swizzle, shape[contiguous] * element_bytes)
    expected = pattern(swizzle, byte // span * span * shape[1 - contiguous] + outer * span + byte % span)
    assert np.array_equal(layout.offset(row, column), expected)
    assert np.array_equal(layout.matrix(row * shape[1] + column), expected)


def test_one_offset_of_the_128_byte_swizzle():
    """The first 16 bytes of row 3 of 64 f16 are in the chunk of 16 bytes with index 3."""
    assert SharedLayout((8, 64), 2, 1, "128B").offset(3, 0) == 3 * 128 + 3 * 16


def test_rows_narrower_than_the_swizzle_are_refused():
    with pytest.raises(ValueError, match="narrower"):
        SharedLayout((8, 32), 2, 1, "128B")


@pytest.mark.parametrize(
    "text", ["contiguous=1 swizzle=128B", "contiguous=0 swizzle=none", "contiguous=1 swizzle=none panel=16"]
)
def test_text_round_trip(text):
    assert str(parse_shared_layout(text, (64, 64), 2)) == text


@pytest.mark.parametrize(
    "text", ["swizzle=128B", "contiguous=2 swizzle=none", "contiguous=1 swizzle=96B", "contiguous=1 swizzle=128B"]
)
def test_bad_text_is_refused(text):
    with pytest.raises(VerificationError):
        parse_shared_layout(text, (64, 32), 2)


def shared_vector(layout: LinearLayout, matrix: BitMatrix, element_bytes: int) -> tuple[int, ...]:
    """The register bits of the widest access of up to 16 bytes."""
    registers, threads = matrix @ layout.register_matrix, matrix @ layout.thread_matrix
    return register_vector(registers.columns, threads.columns, element_bytes, 16 // element_bytes)


def test_register_vectors_into_shared_memory():
    swizzled = SharedLayout((128, 64), 2, 1, "128B").matrix
    assert shared_vector(tensor_memory_32x32b((128, 64), 4), swizzled, 2) == (0, 1, 2)
    assert shared_vector(wgmma_accumulator((128, 64), 4), swizzled, 2) == (0,)
    assert shared_vector(blocked((128, 64), 4, 0, 8), swizzled, 2) == ()


def test_register_vectors_into_global_memory():
    layout = blocked((64, 32), 4, 0, 4)
    assert global_vector(layout, 0, 8) == (0, 1)
    assert global_vector(layout, 0, 2) == (0,)
    assert global_vector(layout, 1, 4) == ()
    assert vector_groups(8, (2, 0)) == [[0, 4, 1, 5], [2, 6, 3, 7]]


LAYOUTS = {
    "rows": blocked((128, 64), 4, 1, 4),
    "columns": blocked((128, 64), 4, 0, 4),
    "wgmma": wgmma_accumulator((128, 64), 4),
    "tensor_memory": tensor_memory_32x32b((128, 64), 4),
}


def wavefronts(layout, matrix, element_bytes: int) -> list[int]:
    """Wavefronts of each vector access of warp 0: the most distinct 4-byte words that map to one bank."""
    vector = shared_vector(layout, matrix, element_bytes)
    vector_bytes = element_bytes << len(vector)
    together = min(32, 128 // vector_bytes)
    passes = []
    for group in vector_groups(layout.register_count, vector):
        for first in range(0, 32, together):
            words = set()
            for lane in range(first, first + together):
                offset = matrix(layout.register_matrix(group[0]) ^ layout.thread_matrix(lane))
                words |= {(offset + byte) // 4 for byte in range(0, vector_bytes, min(4, vector_bytes))}
            passes.append(max(np.bincount([word % 32 for word in words])))
    return passes


@pytest.mark.parametrize("source", LAYOUTS)
@pytest.mark.parametrize("target", LAYOUTS)
def test_scratch_is_a_bijection_without_bank_conflicts(source, target):
    matrix = scratch_matrix(LAYOUTS[source], LAYOUTS[target], 4)
    assert sorted(matrix(np.arange(128 * 64))) == list(range(0, 128 * 64 * 4, 4))
    assert max(wavefronts(LAYOUTS[source], matrix, 4)) == 1
    assert max(wavefronts(LAYOUTS[target], matrix, 4)) == 1
