"""Atomic updates of invalid addresses are reported at the user's line, by the interpreter and by the simulator."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilec as ct
from tilec.errors import SimulationError
from tilec.signature import Signature


@ct.kernel
def update(X, Index):
    ct.atomic_add(X, ct.load(Index, (0,), (4,)), 1, check_bounds=False)


@ct.kernel
def swap(X, Index):
    ct.atomic_cas(X, ct.load(Index, (0,), (4,)), 0, 1, check_bounds=False)


# The condition, and what each backend reports.
OUTSIDE = {
    "interpret": r"element \[2\]: atomic update of 4 bytes at 0x[0-9a-f]+ is outside all arrays of the launch",
    "simulate": r"write of 4 bytes at 0x[0-9a-f]+: at byte [0-9]+ of a range",
}
READ_ONLY = {
    "interpret": r"element \[0\]: atomic update of 4 bytes at 0x[0-9a-f]+ is in a read-only array",
    "simulate": r"write of 4 bytes at 0x[0-9a-f]+, which is read-only",
}


def report(backend: str, target: str, kernel, X: np.ndarray, index: list[int]) -> str:
    """The message of the error, which is at the line of the atomic."""
    args = (X, np.array(index, np.int32))
    compiled = ct.compile(kernel, target=target, signature=Signature.from_arguments(kernel, args))
    with pytest.raises(SimulationError) as caught:
        ct.run(compiled, 1, args, backend=backend)
    location = caught.value.location
    assert location is not None and location.file == __file__
    assert location.line == kernel.function.__code__.co_firstlineno + 2
    return caught.value.message


@pytest.mark.parametrize("kernel", [update, swap])
@pytest.mark.parametrize("backend", OUTSIDE)
def test_index_outside_of_the_array(backend, kernel, target):
    assert re.search(OUTSIDE[backend], report(backend, target, kernel, np.zeros(8, np.int32), [0, 1, 900_000_000, 2]))


@pytest.mark.parametrize("kernel", [update, swap])
@pytest.mark.parametrize("backend", READ_ONLY)
def test_array_that_is_read_only(backend, kernel, target):
    X = np.zeros(8, np.int32)
    X.flags.writeable = False
    assert re.search(READ_ONLY[backend], report(backend, target, kernel, X, [1, 2, 3, 4]))


MISALIGNED = """cuda_tile.module @m { entry @main(%p: tile<ptr<i8>>) {
  %two = constant <i32: 2> : tile<i32>
  %q = offset %p, %two : tile<ptr<i8>>, tile<i32> -> tile<ptr<i8>>
  %r = ptr_to_ptr %q : tile<ptr<i8>> -> tile<ptr<i32>>
  %one = constant <i32: 1> : tile<i32>
  %old, %t = atomic_rmw_tko relaxed device %r, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  return
} }"""


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        ("interpret", "atomic update of 4 bytes needs an address divisible by 4"),
        ("simulate", "'red.relaxed.gpu.global.add.u32' needs an address aligned to 4 bytes"),
    ],
)
def test_misaligned_address(backend, message, target):
    compiled = ct.compile(ct.Module.parse(MISALIGNED), target=target, stop="ptx")
    with pytest.raises(SimulationError) as caught:
        ct.run(compiled, (1,), [np.zeros(16, np.int8)], backend=backend)
    assert message in caught.value.message
    assert caught.value.location is not None and caught.value.location.line == 6
