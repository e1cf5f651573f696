"""Random launches: each passes to the driver what the Python path passes, or raises its error."""

from __future__ import annotations

import pytest

PROGRAM = """
import warnings
from typing import Annotated
from random_arguments import RandomArguments, Static

warnings.simplefilter("ignore")
@ct.kernel
def plain(x, y, n: ct.Constant): pass

@ct.kernel
def annotated(x: Static, y: ct.ScalarInt64, n: ct.Constant): pass

@ct.kernel
def wide(x: ct.IndexedWithInt64[ct.Array], y: Annotated[list, ct.ListAnnotation(element=Static)], n: ct.Constant): pass

@ct.kernel
def nested(x: tuple[Static, ct.Constant], y: tuple[ct.IndexedWithInt64[ct.Array], ...], n: ct.Constant): pass

def arguments(kernel):
    # An array in device memory selects the backend; without one there is nothing to compare.
    if kernel is nested:
        pairs = [(drawn.array(), drawn.constant()), tuple(drawn.array() for _ in range(drawn.random.randrange(3)))]
        return *pairs, drawn.constant()
    second = drawn.structure() if kernel is structured else drawn.list() if kernel is wide else drawn.value()
    return drawn.array(), second, drawn.constant()

@ct.kernel
def structured(x, y, n: ct.Constant): pass

replace_compiler(cluster=({cluster}, 1, 1))
drawn = RandomArguments({seed})
launched = 0
for step in range({steps}):
    kernel = (plain, annotated, plain, structured, wide, nested)[step % 6]
    args = arguments(kernel)
    given = drawn.stream(), drawn.grid(), kernel, args
    expected = by_python(*given)
    for found in (by_native(*given), by_native(*given)):
        assert found == expected, (step, [getattr(a, "__dict__", a) for a in args], given[:2], found, expected)
    launched += isinstance(expected, Launched)
counts = ct.launch_counts()
print(launched > {steps} / 3, counts["native"] > {steps} / 3, len(compiles) > {steps} / 20)
print(counts)
"""


LONG = [pytest.param(seed, 1, marks=pytest.mark.soak) for seed in range(3, 40)]


@pytest.mark.parametrize(("seed", "cluster"), [(1, 1), (2, 2), *LONG])
def test_random_launches_equal_the_python_path(run_program, seed: int, cluster: int) -> None:
    lines = run_program(PROGRAM.format(seed=seed, cluster=cluster, steps=600))
    assert lines[0] == "True True True", lines
