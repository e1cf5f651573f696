"""A computed operand is written to shared memory for wgmma: fence.proxy.async must precede the mbarrier arrival."""

from __future__ import annotations

import dataclasses
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import tilec
from tilec.errors import SimulationError
from tilec.signature import Signature

sys.path.insert(0, str(Path(__file__).parents[2] / "kernels"))
import matrix_kernels

SEEDS = range(20)
TILE = 64
DEPTH = 4 * TILE
_FENCE = re.compile(r"\s*fence\.proxy\.async\S*;")
_STORE = re.compile(r".*st\.shared.*;")
_ARRIVE = re.compile(r".*mbarrier\.arrive\.(?!expect_tx).*;")


@pytest.fixture(scope="module")
def product():
    random = np.random.default_rng(0)
    # Each copy of the loop's body has a fence, and runs.
    shapes = ((2 * TILE, DEPTH), (DEPTH, TILE), (2 * TILE, TILE))
    arrays = [random.standard_normal(shape).astype(np.float16) for shape in shapes]
    args = (*arrays, TILE, TILE, TILE)
    kernel = matrix_kernels.scaled_operand
    compiled = tilec.compile(kernel, target="sm_90a", signature=Signature.from_arguments(kernel, args), hints={})
    return compiled.artifact, args


def _fences_moved_behind_arrivals(ptx: str) -> list[str]:
    """One copy of the PTX per fence between a store and an arrival, with this fence moved after the arrival."""
    lines = ptx.splitlines()
    moved = []
    for number, line in enumerate(lines):
        # Other fences precede releases of slots that threads have only read.
        if not _FENCE.match(line) or not any(map(_STORE.match, lines[number - 3 : number])):
            continue
        after = next((i for i in range(number + 1, number + 4) if _ARRIVE.match(lines[i])), None)
        if after is not None:
            moved.append("\n".join([*lines[:number], *lines[number + 1 : after + 1], line, *lines[after + 1 :]]) + "\n")
    return moved


def _run(product, ptx: str | None, seed: int) -> None:
    artifact, args = product
    changed = artifact if ptx is None else dataclasses.replace(artifact, ptx=ptx)
    tilec.run(changed, (2, 1), args, backend="simulate", seed=seed)


def test_fence_behind_the_arrival_is_a_race(product):
    mutants = _fences_moved_behind_arrivals(product[0].ptx)
    assert mutants
    for seed in SEEDS:
        _run(product, None, seed)
        for ptx in mutants:
            with pytest.raises(SimulationError, match=r"race: .* no fence\.proxy\.async follows"):
                _run(product, ptx, seed)
