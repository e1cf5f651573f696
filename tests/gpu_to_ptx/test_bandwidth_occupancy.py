"""Kernels whose threads load their tiles get registers for as many blocks per SM as memory bandwidth needs."""

from __future__ import annotations

import re

import pytest
from simulated import elementwise, ptx_of, tile

from tilec.lowering.layout.blocked import blocked


def blocks(shape: tuple[int, ...], target: str) -> int | None:
    """The .minnctapersm of a kernel that adds two tiles of f32."""
    layout = blocked(shape, 4, len(shape) - 1, 4)
    body = f"%y = arith.addf %x0, %x1 : {tile('f32', layout)}"
    ptx = ptx_of(elementwise(body, [("f32", layout)] * 2, ("f32", layout), target=target))
    found = re.search(r"\.minnctapersm (\d+)", ptx)
    return None if found is None else int(found[1])


# 64 KB in flight per SM of B200, 42 KB per SM of H200, for blocks that load 16 KB.
@pytest.mark.parametrize(("target", "count"), [("sm_100a", 4), ("sm_90a", 3)])
def test_blocks_fill_the_memory_bandwidth(target: str, count: int) -> None:
    assert blocks((2048,), target) == count


def test_registers_limit_the_blocks() -> None:
    """Threads that hold one element of each tile need 32 registers for blocks of 128 threads: 16 blocks at most."""
    assert blocks((128,), "sm_100a") in range(8, 17)


def test_a_large_tile_needs_one_block() -> None:
    assert blocks((16384,), "sm_90a") == 1
