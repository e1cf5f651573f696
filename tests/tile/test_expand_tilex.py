"""The pass expand-tilex preserves results: views of any rank, window, strides, paddings, modes and types."""

from __future__ import annotations

import random

import numpy as np
import pytest
from im2col_kernels import NUMPY, Case, random_case

import tilec
from tilec.lowering.tile.passes import run
from tilec.runtime.interpret.evaluate import evaluate
from tilec.text_input.module import Module

SEEDS = range(60)


def images_of(case: Case) -> np.ndarray:
    """Elements that differ from their neighbours, none of them zero."""
    return (np.arange(case.allocated) % 113 + 1).astype(NUMPY[case.element])


def expanded(text: str, *passes: str) -> Module:
    module = Module.parse(text)
    run(module.ir, ("expand-tilex", *passes), evaluate=evaluate)
    module.verify()
    assert "tilex" not in module.to_text()
    return module


def interpreted(module: Module, grid: tuple[int, ...], arguments: list[object]) -> None:
    tilec.run(module, grid, arguments, backend="interpret", check=True)


def both_loads(case: Case) -> list[np.ndarray]:
    """What the kernel of loads stores, before and after the pass."""
    text, results = case.loads(), []
    for module in (Module.parse(text), expanded(text)):
        tiles = max(1, case.grid[0] * case.grid[2]) * case.grid[1]
        result = np.full(tiles * case.tile[0] * case.tile[1], 99, NUMPY[case.element])
        interpreted(module, case.grid, [images_of(case), *case.parameters, result])
        results.append(result)
    return results


@pytest.mark.parametrize("seed", SEEDS)
def test_loads(seed: int) -> None:
    case = random_case(seed)
    if 0 not in case.grid:
        np.testing.assert_array_equal(*both_loads(case), err_msg=str(case))


@pytest.mark.parametrize("seed", SEEDS)
def test_stores(seed: int) -> None:
    case = random_case(seed)
    if 0 in case.grid:
        return
    chosen = random.Random(seed)
    text = case.stores(tuple(chosen.randrange(taps) for taps in case.window))
    tiles = np.arange(case.grid[0] * case.grid[1] * case.tile[0] * case.tile[1])
    results = []
    for module in (Module.parse(text), expanded(text)):
        images = np.zeros(case.allocated, NUMPY[case.element])
        matrix = (tiles % 113 + 1).astype(images.dtype)
        interpreted(module, (*case.grid[:2], 1), [images, *case.parameters, matrix])
        results.append(images)
    np.testing.assert_array_equal(*results, err_msg=str(case))


@pytest.mark.parametrize("seed", SEEDS)
def test_shapes(seed: int) -> None:
    """Also of windows that are larger than the padded input."""
    case = random_case(seed)
    text = case.shapes()
    for module in (Module.parse(text), expanded(text), expanded(text, "simplify")):
        found = np.full(2 + len(case.window), -1, np.int64)
        interpreted(module, (1, 1, 1), [np.zeros(case.allocated, NUMPY[case.element]), *case.parameters, found])
        assert found.tolist() == [*case.grid[:2], *case.outputs], case
