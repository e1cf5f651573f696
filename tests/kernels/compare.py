"""Run a kernel in the simulator and the interpreter, and compare both with numpy."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import tilec
from tilec.signature import Signature

# A fused sum keeps 25 fraction bits below its largest term and is then cut to float32 (24 bits): each of the
# ceil(K / step) sums of a multiply loses less than 2^-23 of the sum of magnitudes.
SUM_CUT = 2.0**-23
ROUNDINGS = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24}
# A seed of the simulator chooses the order in which threads run.
SEEDS = range(20)


def matrix(random: np.random.Generator, shape: Sequence[int], dtype: Any, column_major: bool = False) -> np.ndarray:
    """Normally distributed numbers; each row (or column) starts at a multiple of 16 bytes, as TMA requires."""
    rows, columns = (shape[1], shape[0]) if column_major else shape
    aligned = 16 // np.dtype(dtype).itemsize
    padded = -(-columns // aligned) * aligned
    values = random.standard_normal((rows, padded), np.float32).astype(dtype)[:, :columns]
    return values.T if column_major else values


def sorted_pairs(chosen: np.ndarray, count: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of each expert, in whole blocks of `rows` (filled with -1), and the expert of each block."""
    pairs, blocks = [], []
    for expert in range(count):
        own = np.flatnonzero(chosen.ravel() == expert)
        needed = -(-len(own) // rows)
        pairs.append(np.concatenate([own, np.full(needed * rows - len(own), -1)]))
        blocks += [expert] * needed
    return np.concatenate(pairs).astype(np.int32), np.array(blocks, np.int32)


def product_tolerance(
    a: np.ndarray, b: np.ndarray, exact: np.ndarray, dtype: Any, *, operand_bits: int | None = None
) -> np.ndarray:
    """Upper bound of the rounding error of each element of a matrix multiply.

    `operand_bits`: fraction bits of operands that the tensor core truncates (tf32: 10).
    """
    magnitude = np.abs(a) @ np.abs(b)
    sums = -(-a.shape[1] // 8)
    lost = sums * SUM_CUT * magnitude
    if operand_bits is not None:
        lost = lost + 2 * 2.0**-operand_bits * magnitude
    return lost + ROUNDINGS[np.dtype(dtype).name] * (np.abs(exact) + lost) + 1e-7


def backends(seeds: Iterable[int] = SEEDS) -> list[tuple[str, dict[str, int]]]:
    """The simulator with each seed, then the interpreter, as arguments of `tilec.run`."""
    return [*(("simulate", {"seed": seed}) for seed in seeds), ("interpret", {})]


def run_everywhere(
    kernel: Any,
    grid: Sequence[int],
    args: Sequence[Any],
    outputs: Sequence[int],
    *,
    target: str,
    hints: dict[str, Any],
    seeds: Sequence[int] = (0,),
    interpret: bool = True,
) -> list[list[np.ndarray]]:
    """The outputs of the simulator for each seed, then (if `interpret`) of the interpreter, from the same inputs."""
    signature = Signature.from_arguments(kernel, args)
    compiled = _compiled(kernel, target, signature, str(signature), tuple(hints.items()))
    results = []
    for backend, settings in backends(seeds) if interpret else backends(seeds)[:-1]:
        given = [_fresh(arg) if number in outputs else arg for number, arg in enumerate(args)]
        tilec.run(compiled, grid, given, backend=backend, **settings)
        results.append([given[number] for number in outputs])
    return results


@functools.lru_cache(maxsize=16)
def _compiled(kernel: Any, target: str, signature: Signature, _text: str, hints: tuple[tuple[str, Any], ...]) -> Any:
    """The compiled kernel, which adjacent cases share that differ in the contents of arrays and in scalars.

    The text of the signature distinguishes constants that are equal, such as 1 and True.
    """
    return tilec.compile(kernel, target=target, signature=signature, hints=dict(hints))


def _fresh(array: np.ndarray) -> np.ndarray:
    """A copy with the same strides."""
    if array.flags.c_contiguous:
        # numpy cannot give strides to an array of float8_e5m2.
        return array.copy()
    base = array if array.base is None else array.base
    return np.lib.stride_tricks.as_strided(base.copy(), array.shape, array.strides)


def assert_within(found: np.ndarray, exact: np.ndarray, tolerance: np.ndarray | float) -> None:
    """Asserts that every element is within its tolerance; the message names the worst element."""
    error = np.abs(found.astype(np.float64) - exact)
    error[~np.isfinite(error)] = np.inf
    if error.size == 0:
        return
    bound = np.broadcast_to(tolerance, error.shape)
    worst = np.unravel_index(np.argmax(error - bound), error.shape)
    assert (error <= bound).all(), (
        f"{worst}: {found[worst]} for {exact[worst]}, off by {error[worst]:.3e} of {bound[worst]:.3e}"
    )


Oracle = Callable[..., np.ndarray]
