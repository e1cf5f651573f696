"""The kernels of docs/tensor_core.md equal exact sums of numpy in the interpreter and the simulator."""

from __future__ import annotations

import ast
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from compare import backends
from narrow_floats import aligned
from tensor_core_kernels import PROGRAMS, TYPES, compiled

import tilec
import tilec as ct

RUNS = [pytest.param(name, target, id=f"{name}-{target}") for name in PROGRAMS for target in PROGRAMS[name].targets]
E4M3, E8M0 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu
# The arguments with the result as the last array, the grid, and the exact result.
Problem = tuple[list[Any], tuple[int, ...], np.ndarray]


def integers(random: np.random.Generator, *shape: int) -> np.ndarray:
    return random.integers(-2, 3, shape)


def stored(numbers: np.ndarray, name: str) -> np.ndarray:
    """The numbers as elements of a type of signatures, packed if they have less than 8 bits."""
    if name in ("f6E2M3FN", "f4E2M1FN"):
        return aligned(ct.pack_rows(numbers.astype(np.float32), TYPES[name]))
    types = {"f16": np.float16, "tf32": np.float32, "i8": np.int8, "f8E4M3FN": E4M3}
    return aligned(numbers.astype(types[name]))


def product(random: np.random.Generator, constants: dict[str, str]) -> Problem:
    depth, element = 4 * int(constants["tk"]), constants["dtype"]
    a, b = integers(random, 256, depth), integers(random, 128, depth)
    result = np.zeros((256, 128), np.int32 if element == "i8" else np.float32)
    return [stored(a, element), stored(b, element), result], (2, 2), a @ b.T


def chained(random: np.random.Generator, constants: dict[str, str]) -> Problem:
    a, b, c = (random.integers(-1, 2, shape) for shape in ((128, 64), (64, 128), (128, 64)))
    return [*(stored(x, "f16") for x in (a, b, c)), np.zeros((128, 64), np.float32)], (1,), a @ b @ c


def narrow(random: np.random.Generator, constants: dict[str, str]) -> Problem:
    a, b = integers(random, 128, 512), integers(random, 64, 512)
    arrays = [stored(a, constants["a_type"]), stored(b, constants["b_type"]), np.zeros((128, 64), np.float32)]
    return arrays, (1,), a @ b.T


def scaled(random: np.random.Generator, constants: dict[str, str]) -> Problem:
    (a, b), block = (integers(random, rows, 512) for rows in (128, 64)), int(constants["block"])
    factors = [2 ** random.integers(0, 2, shape) for shape in ((128, 512 // block), (512 // block, 64))]
    exact = (a * np.repeat(factors[0], block, 1)) @ (b.T * np.repeat(factors[1], block, 0))
    scale = E8M0 if block == 32 else E4M3
    a_scale, b_scale = (each.astype(np.float32).astype(scale) for each in factors)
    matrices = stored(a, constants["a_type"]), stored(b, constants["b_type"])
    return [matrices[0], a_scale, matrices[1], b_scale, np.zeros((128, 64), np.float32)], (1,), exact


def sparse(random: np.random.Generator, constants: dict[str, str]) -> Problem:
    a, b = integers(random, 128, 256).reshape(128, 64, 4), integers(random, 256, 64)
    a[:, :, 1], a[:, :, 2] = 0, 0
    a = a.reshape(128, 256)
    kept, metadata = ct.compress_2_4(a.astype(np.float16))
    return [kept, metadata, stored(b, "f16"), np.zeros((128, 64), np.float32)], (1,), a @ b


def convolution(random: np.random.Generator, constants: dict[str, str]) -> Problem:
    """Images of 9 by 9 pixels, of which 7 rows of 9 outputs each are computed."""
    images, filters = random.integers(-1, 2, (20, 9, 9, 32)), random.integers(-1, 2, (3, 3, 32, 32))
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (0, 0)))
    taps = [(r, s) for r in range(3) for s in range(3)]
    exact = sum(padded[:, r : r + 7, s : s + 9] @ filters[r, s] for r, s in taps)
    by_row = constants["stored"] != "None"
    grid = (7 * -(-20 * 9 // 128),) if by_row else (-(-20 * 7 * 9 // 128),)
    return [stored(images, "f16"), stored(filters, "f16"), np.zeros((20, 7, 9, 32), np.float16)], grid, exact


PROBLEMS = {each.__name__: each for each in (product, chained, narrow, scaled, sparse, convolution)}


@pytest.mark.parametrize(("name", "target"), RUNS)
def test_equals_the_exact_sums(name: str, target: str) -> None:
    program = PROGRAMS[name]
    constants = dict(part.split("=") for part in program.signature.split(", ") if "=" in part)
    arrays, grid, exact = PROBLEMS[name.split(" ")[0]](np.random.default_rng(5), constants)
    assert np.abs(exact).max() < 2048  # exact in f16, and in the 13 fraction bits of wgmma
    values = [TYPES[text] if text in TYPES else ast.literal_eval(text) for text in constants.values()]
    for backend, options in backends(range(2)):
        arguments = [array.copy() if array is arrays[-1] else array for array in arrays]
        tilec.run(compiled(name, target), grid, [*arguments, *values], backend=backend, **options)
        np.testing.assert_array_equal(arguments[-1].astype(np.float64), exact)
