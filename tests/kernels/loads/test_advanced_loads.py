"""Operands that threads load some iterations ahead, in loops of every number of iterations.

Copies have no padding but zero, so that threads load those with ones.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from compare import run_everywhere
from gathered_rows import COLUMNS, DEPTH, ROWS, blocks_of_depth, every_third, matrices

import tilec as ct
from tilec.signature import Signature

TARGETS = ("sm_100a", "sm_90a")


@ct.kernel
def gathered(A, B, R):
    """R = A @ B, with the rows of A gathered."""
    rows = ct.arange(ROWS, dtype=ct.int32)[:, None]
    columns = ct.arange(DEPTH, dtype=ct.int32)[None, :]
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(ct.num_tiles(B, 0, (DEPTH, COLUMNS))):
        b = ct.load(B, (k, 0), (DEPTH, COLUMNS), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(ct.gather(A, (rows, columns + DEPTH * k), padding_value=1), b, total)
    ct.store(R, (0, 0), total)


@ct.kernel
def unaligned(A, B, R):
    """R = A @ B, with rows of A that TMA cannot load."""
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(ct.num_tiles(A, 1, (ROWS, DEPTH))):
        total = ct.mma(ct.load(A, (0, k), (ROWS, DEPTH)), ct.load(B, (k, 0), (DEPTH, COLUMNS)), total)
    ct.store(R, (0, 0), total)


def assert_product(made: list, A: np.ndarray, B: np.ndarray) -> None:
    for (found,) in made:
        np.testing.assert_array_equal(found, A.astype(np.float64) @ B.astype(np.float64))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("depth", [8, 64, 72, 128, 192, 256, 328])
def test_gathered_rows_are_those_of_each_iteration(depth: int, target: str) -> None:
    A, B, R = matrices(depth, np.float16)
    assert_product(run_everywhere(gathered, (1,), (A, B, R), (2,), target=target, hints={}), A, B)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("first", "end"), [(0, 0), (3, 2), (0, 1), (0, 4), (1, 8), (2, 9), (0, 9)])
def test_a_loop_with_a_step(first: int, end: int, target: str) -> None:
    A, B, R = matrices(9 * DEPTH, np.float16)
    used = blocks_of_depth(first, end)
    made = run_everywhere(every_third, (1,), (A, B, R, first, end, 1), (2,), target=target, hints={})
    assert_product(made, A[:, used], B[used])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("depth", [65, 129, 197])
def test_rows_that_are_not_aligned(depth: int, target: str) -> None:
    A, B, R = matrices(depth, np.float16)
    assert_product(run_everywhere(unaligned, (1,), (A, B, R), (2,), target=target, hints={}), A, B)


@pytest.mark.parametrize("target", TARGETS)
def test_loads_of_several_iterations_are_on_their_way(target: str) -> None:
    """The body is repeated for each of the tiles, with a load after the signal that its tile is stored.

    Two blocks share an SM, so that two tiles of each hide the latency.
    """
    signature = Signature.from_arguments(gathered, matrices(4 * DEPTH, np.float16))
    text = ct.compile(gathered, target=target, signature=signature, stop="gpu").gpu
    assert "tile_gpu.repeats = 2" in text
    loop = re.search(r"scf\.for(?:(?!scf\.for).)*?tile_gpu\.repeats", text, re.DOTALL)
    assert loop is not None
    assert loop[0].index("put_commit") < loop[0].index("load_global")


@pytest.mark.parametrize("target", TARGETS)
def test_no_instruction_moves_a_tile_on_its_way(target: str) -> None:
    """A loop carries words of memory: a thread that took elements out of them would wait for their load."""
    signature = Signature.from_arguments(gathered, matrices(4 * DEPTH, np.float16))
    ptx = ct.compile(gathered, target=target, signature=signature, stop="ptx").ptx
    assert "%h" not in "".join(re.findall(r"bra[^\n]*\n((?:\s+mov[^\n]*\n)+)\$loop:", ptx))


@ct.kernel
def gathered_bytes(A, B, R):
    """R = A @ B of bytes, with the rows of A gathered."""
    rows = ct.arange(ROWS, dtype=ct.int32)[:, None]
    columns = ct.arange(DEPTH, dtype=ct.int32)[None, :]
    total = ct.zeros((ROWS, COLUMNS), ct.int32)
    for k in range(ct.num_tiles(B, 0, (DEPTH, COLUMNS))):
        b = ct.load(B, (k, 0), (DEPTH, COLUMNS), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(ct.gather(A, (rows, columns + DEPTH * k), padding_value=1), b, total)
    ct.store(R, (0, 0), total)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("depth", [64, 128, 272, 320])
def test_gathered_bytes(depth: int, target: str) -> None:
    A, B, R = matrices(depth, np.int8)
    made = run_everywhere(gathered_bytes, (1,), (A, B, R.astype(np.int32)), (2,), target=target, hints={})
    assert_product(made, A, B)


@pytest.mark.parametrize("target", TARGETS)
def test_an_sm_has_more_blocks_than_a_hint_asks_for(target: str) -> None:
    """Blocks that fit beside the one of `occupancy=1` load meanwhile, as they do without the hint."""
    signature = Signature.from_arguments(gathered, matrices(256, np.float16))
    loads = [
        ct.compile(gathered, target=target, signature=signature, hints=hints, stop="ptx").ptx.count("ld.global")
        for hints in ({}, {"occupancy": 1})
    ]
    assert loads[0] == loads[1] > 0
