"""Im2col views of slices of channels read and write what numpy finds in the images with adjacent channels."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from im2col_accesses import NUMPY
from interleaved_accesses import Interleaved, elements, random_case, taps

import tilec
from tilec.lowering.target import TARGETS
from tilec.lowering.tile.passes import run
from tilec.runtime.interpret.evaluate import evaluate
from tilec.text_input.module import Module

sys.path.insert(0, str(Path(__file__).parents[2] / "kernels"))

from direct_convolution import at_tap

SEEDS = range(40)


def expanded(text: str) -> Module:
    module = Module.parse(text)
    run(module.ir, ("expand-tilex",), evaluate=evaluate)
    module.verify()
    assert "tilex" not in module.to_text()
    return module


FORMS: dict[str, Callable[[str], Module]] = {"original": Module.parse, "expanded": expanded}


def geometry(case: Interleaved) -> tuple[object, ...]:
    """The parameters of the window as direct_convolution takes them."""
    given = case.case
    return given.window, given.stride, given.dilation, tuple(zip(given.lower, given.upper, strict=True))


def expected(case: Interleaved, memory: np.ndarray) -> np.ndarray:
    """What the kernel of loads stores: for each tap the matrix of pixels by channels, in whole tiles."""
    (pixels, channels), (tiles, columns, _) = case.case.tile, case.case.grid
    found = np.zeros((len(taps(case)), tiles * pixels, columns * channels), memory.dtype)
    for number, tap in enumerate(taps(case)):
        read = at_tap(case.images_of(memory), tap, *geometry(case))
        matrix = read.reshape(math.prod(read.shape[:-1]), read.shape[-1])
        found[number, : matrix.shape[0], : matrix.shape[1]] = matrix
    return found


def loaded(case: Interleaved, module: Module, memory: np.ndarray, **settings: object) -> np.ndarray:
    found = np.full(expected(case, memory).shape, 99, memory.dtype)
    tilec.run(module, case.case.grid, [memory, *case.tensor.parameters, found], **settings)
    return found


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_loads(seed: int, form: str) -> None:
    case = random_case(seed)
    if 0 in case.case.grid:
        return
    memory = elements(case)
    found = loaded(case, FORMS[form](case.tensor.loads()), memory, backend="interpret", check=True)
    np.testing.assert_array_equal(found, expected(case, memory), str(case))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_stores(seed: int, form: str) -> None:
    """A store at a tap writes the elements that a load at it reads; all others keep their values."""
    case = random_case(seed)
    if 0 in case.case.grid:
        return
    (pixels, channels), (tiles, columns, _) = case.case.tile, case.case.grid
    tap = tuple(random.Random(seed).randrange(extent) for extent in case.case.window)
    matrix = (np.arange(tiles * pixels * columns * channels) % 113 + 1).astype(NUMPY[case.case.element])
    memory = np.zeros(math.prod(case.extents), matrix.dtype)
    numbers = at_tap(1 + np.arange(memory.size).reshape(case.case.extents), tap, *geometry(case))
    numbers = numbers.reshape(math.prod(numbers.shape[:-1]), -1)
    images = np.zeros(memory.size + 1, matrix.dtype)
    images[numbers] = matrix.reshape(tiles * pixels, -1)[: numbers.shape[0], : numbers.shape[1]]
    module = FORMS[form](case.tensor.stores(tap))
    tilec.run(module, (tiles, columns, 1), [memory, *case.tensor.parameters, matrix], backend="interpret", check=True)
    np.testing.assert_array_equal(memory, case.memory_of(images[1:]), str(case))


@pytest.mark.parametrize("seed", SEEDS)
def test_shapes(seed: int) -> None:
    case = random_case(seed)
    for form in FORMS.values():
        found = np.full(2 + len(case.case.window), -1, np.int64)
        arguments = [elements(case), *case.tensor.parameters, found]
        tilec.run(form(case.tensor.shapes()), (1, 1, 1), arguments, backend="interpret", check=True)
        assert found.tolist() == [*case.case.grid[:2], *case.case.outputs], case


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("seed", range(8))
def test_simulated_loads(seed: int, target: str) -> None:
    case = random_case(seed)
    if 0 in case.case.grid:
        return
    memory = elements(case)
    found = loaded(case, Module.parse(case.tensor.loads()), memory, backend="simulate", target=target)
    np.testing.assert_array_equal(found, expected(case, memory), str(case))


def test_other_innermost_extent_is_reported() -> None:
    """The extents of the tensor may be operands; the slice has the channels of the view all the same."""
    case = next(each for each in map(random_case, SEEDS) if each.tensor.dynamic_extents[-1])
    parameters = case.tensor.parameters
    at = sum(case.tensor.dynamic_extents) - 1
    parameters[at] -= 1
    with pytest.raises(tilec.TilecError, match=f"innermost extent of an interleaved tensor must be {case.channels}"):
        arguments = [elements(case), *parameters, np.zeros(1, NUMPY[case.case.element])]
        tilec.run(Module.parse(case.tensor.loads()), (1, 1, 1), arguments, backend="interpret", check=True)
