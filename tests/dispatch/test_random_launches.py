"""Random launches: each passes to the driver what the Python path passes, or raises its error."""

from __future__ import annotations

import pytest

PROGRAM = """
import warnings
from typing import Annotated
from random_arguments import RandomArguments

warnings.simplefilter("ignore")
Static = Annotated[ct.Array, ct.ArrayAnnotation(static_shape_dims=(0,), static_stride_dims=(-1,))]

@ct.kernel
def plain(x, y, n: ct.Constant): pass

@ct.kernel
def annotated(x: Static, y: ct.ScalarInt64, n: ct.Constant): pass

replace_compiler(cluster=({cluster}, 1, 1))
drawn = RandomArguments({seed})
launched = 0
for step in range({steps}):
    kernel = plain if step % 4 else annotated
    # An array in device memory selects the backend; without one there is nothing to compare.
    args = (drawn.array(), drawn.value(), drawn.constant())
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
