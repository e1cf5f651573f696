"""Convolutions equal numpy's in the simulator and the interpreter, for a covering array of configurations.

Integers are compared bit for bit, normally distributed numbers within their rounding error.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from compare import SEEDS, SUM_CUT, assert_within, backends, run_everywhere
from convolution_cases import (
    COUNT,
    KINDS,
    PARAMETERS,
    Case,
    Problem,
    assert_exact_everywhere,
    covering_cases,
    integer_problem,
    is_possible,
    kernel_of,
    normal_problem,
    on_targets,
    path_of,
    results_everywhere,
    signature_of,
)
from pairwise import all_pairs, pairs_of

import tilec
from tilec.errors import TilecError

CASES = covering_cases(COUNT)
RUNS = on_targets(CASES)
# How each path of a load appears in PTX.
INSTRUCTIONS = {"im2col": ".im2col.", "w": ".im2col::w.", "w128": ".im2col::w::128."}


def compiled(case: Case, target: str, arguments: tuple[Any, ...], stop: str | None = None) -> tilec.Compiled:
    """The kernel of a case, whose images are loaded as expected, and which says so if it gathers them.

    ptxas has no remark, such as C7509, that wgmma is serialized.
    """
    kernel = tilec.compile(kernel_of(case), target=target, signature=signature_of(case, arguments), stop=stop)
    # The first pixels of a run are the only ones that the corners of its map have to reach.
    is_run = any("one copy has the pixels of all taps along W" in remark.message for remark in kernel.all_remarks)
    path = "im2col" if is_run else path_of(case, arguments[0])
    assert [name for name, text in INSTRUCTIONS.items() if text in kernel.ptx] == [path] * (path != "gather"), case
    gathers = [remark for remark in kernel.all_remarks if "load through the im2col view is a gather" in remark.message]
    assert len(gathers) == (path == "gather"), (case, gathers)
    assert not any("ptxas" in remark.message for remark in kernel.all_remarks), (case, kernel.all_remarks)
    return kernel


def check(problem: Problem, target: str, seeds: Iterable[int], stop: str | None = None) -> None:
    assert_exact_everywhere(problem, compiled(problem.case, target, problem.arguments(), stop), seeds)


def test_cases_cover_all_pairs_of_values() -> None:
    assert len(set(CASES)) == COUNT >= 300
    covered = {pair for case in CASES for pair in pairs_of(vars(case))}
    assert all_pairs(PARAMETERS, is_possible) <= covered
    paths = Counter(path_of(case, integer_problem(case).arguments()[0]) for case in CASES)
    assert all(paths[path] >= 30 for path in ("im2col", "w", "w128", "gather")), paths


def _impossible_pairs() -> list[dict[str, Any]]:
    possible = all_pairs(PARAMETERS, is_possible)
    return [dict(pair) for pair in sorted(all_pairs(PARAMETERS, lambda row: True) - possible, key=repr)]


@pytest.mark.parametrize("pair", _impossible_pairs(), ids=str)
def test_excluded_pairs_are_refused(pair: dict[str, Any]) -> None:
    """Pairs that no case has are errors of the compiler."""
    case = Case(**{"pixel_tile": 128, **pair})
    arguments = integer_problem(case).arguments()
    with pytest.raises(TilecError, match=f"'{case.mode}'|mode={case.mode} cannot be followed"):
        tilec.compile(kernel_of(case), target="sm_100a", signature=signature_of(case, arguments))


@pytest.mark.parametrize(("case", "target"), RUNS[::13])
def test_two_seeds(case: Case, target: str) -> None:
    check(integer_problem(case), target, SEEDS[1:3])


@pytest.mark.parametrize(("case", "target"), RUNS)
def test_ten_seeds(case: Case, target: str) -> None:
    check(integer_problem(case), target, SEEDS[:10], stop="ptx")


@pytest.mark.soak
@pytest.mark.parametrize(("case", "target"), RUNS)
def test_twenty_seeds(case: Case, target: str) -> None:
    check(integer_problem(case), target, SEEDS)


# By TMA, one tile per block; by a gather, persistent.
SWITCHED = [
    Case(channels=40, extents="images", by_filter=True),
    Case(rank=1, channels=20, dilation=2, images=3, outputs=11, persistent=True),
]


@pytest.mark.parametrize("case", SWITCHED, ids=["tma", "gather"])
def test_switches(case: Case, target: str, switches: dict[str, bool]) -> None:
    problem = integer_problem(case)
    arguments = problem.arguments()
    found = run_everywhere(
        kernel_of(case), case.grid(), arguments, (2,), target=target, hints=switches, seeds=SEEDS[1:2], interpret=False
    )
    for (result,) in found:
        np.testing.assert_array_equal(result, problem.exact.astype(np.float32))


# Fraction bits of tf32, to which the tensor core truncates operands.
TF32_BITS = 10
# wgmma truncates 32 products of 8-bit floats and the accumulator to 13 fraction bits below the largest of these 33
# terms, and the sum once more (docs/hardware.md).
SHORT_SUM = 34 * 2.0**-13


def lost(case: Case, target: str) -> float:
    """The most that rounding loses of the sum of the magnitudes of all products."""
    products = math.prod(case.taps) * -(-case.channels // case.channel_tile) * case.channel_tile
    operands = 2 * 2.0**-TF32_BITS if case.kind == "tf32" else 0.0
    # Tiles of 32 channels are one instruction, whose sum is added in float32.
    short = SHORT_SUM if target == "sm_90a" and np.dtype(case.dtype).itemsize == 1 else 0.0
    return -(-products // 8) * SUM_CUT + operands + short


@pytest.mark.parametrize("kind", KINDS)
def test_rounding(kind: str, target: str) -> None:
    case = Case(kind=kind, channels=40, outputs=11, by_filter=True, stride=2, dilation=2)
    problem = normal_problem(case)
    for result in results_everywhere(problem, compiled(problem.case, target, problem.arguments()), SEEDS[:2]):
        assert_within(result, problem.exact, lost(case, target) * problem.magnitude)


# A window larger than the padded images, images of no pixels, and no images: nothing is computed.
EMPTY = {
    "window": ((2, 3, 3, 32), {"window": 7}),
    "outer window": ((2, 1, 9, 32), {"outer_window": 3, "outer_padding": (0, 1)}),
    "no images": ((0, 5, 5, 32), {}),
    "no rows": ((2, 0, 5, 32), {"outer_padding": (0, 0)}),
}


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("extents", ["dynamic", "static"])
@pytest.mark.parametrize("name", EMPTY)
def test_empty_results(name: str, extents: str, persistent: bool, target: str) -> None:
    shape, parameters = EMPTY[name]
    case = Case(**parameters, extents=extents, persistent=persistent)
    problem = Problem(case, np.ones(shape, np.float16), np.ones((32, *case.taps, 32), np.float16))
    arguments = problem.arguments()
    assert arguments[2].size == 0
    kernel = tilec.compile(kernel_of(case), target=target, signature=signature_of(case, arguments))
    for backend, settings in backends([0]):
        tilec.run(kernel, (2,) if persistent else (0, 1), arguments, backend=backend, **settings)
