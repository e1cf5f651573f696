"""A product and a sum are rounded twice in the interpreter and in compiled code, and once after fuse-fma."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tilec.lowering.tile.passes import DEFAULT, PASSES, run
from tilec.runtime.interpret.evaluate import evaluate
from tilec.runtime.interpret.run import run as interpret
from tilec.text_input.module import Module

COUNT = 256


def load(name: str) -> str:
    return f"""%{name}1 = reshape %{name}p : tile<ptr<f32>> -> tile<1xptr<f32>>
      %{name}w = broadcast %{name}1 : tile<1xptr<f32>> -> tile<{COUNT}xptr<f32>>
      %{name}q = offset %{name}w, %l : tile<{COUNT}xptr<f32>>, tile<{COUNT}xi32> -> tile<{COUNT}xptr<f32>>
      %{name}, %{name}t = load_ptr_tko weak %{name}q : tile<{COUNT}xptr<f32>> -> tile<{COUNT}xf32>, token """


def kernel(sum: str) -> str:
    """A sum of %m, the product of %a and %b, and of %c, element by element."""
    arguments = ", ".join(f"%{name}p: tile<ptr<f32>>" for name in "abc")
    return f"""cuda_tile.module @m {{ entry @k({arguments}) {{ %l = iota : tile<{COUNT}xi32>
      {"".join(map(load, "abc"))} %m = mulf %a, %b : tile<{COUNT}xf32> %s = {sum} : tile<{COUNT}xf32>
      %t = store_ptr_tko weak %cq, %s token = %ct : tile<{COUNT}xptr<f32>>, tile<{COUNT}xf32> -> token }} }}"""


def rounded(number: Fraction) -> np.float32:
    """The nearest f32 of a number in the normal range, computed with integers."""
    if number == 0:
        return np.float32(0)
    magnitude, shift = abs(number), 0
    while magnitude >= 1 << 24:
        magnitude, shift = magnitude / 2, shift + 1
    while magnitude < 1 << 23:
        magnitude, shift = magnitude * 2, shift - 1
    # Python rounds a fraction half to even, as IEEE 754 does.
    found = np.ldexp(np.float64(round(magnitude)), shift)
    return np.float32(found if number > 0 else -found)


def exact(number: np.float32) -> Fraction:
    return Fraction(float(number))


SUMS = {"addf %m, %c": (1, 1), "addf %c, %m": (1, 1), "subf %m, %c": (1, -1), "subf %c, %m": (-1, 1)}


@pytest.mark.parametrize("sum", SUMS)
def test_only_fuse_fma_rounds_once(sum: str) -> None:
    random = np.random.default_rng(1)
    a, b = (random.uniform(-2, 2, COUNT).astype(np.float32) for _ in range(2))
    # The summand is close to the negated product, so the rounding error of the product dominates the sum.
    c = (-a * b * random.choice([1, 1.5, -1], COUNT)).astype(np.float32)
    of_product, of_other = SUMS[sum]
    once, twice = [], []
    for x, y, z in zip(a, b, c, strict=True):
        product = exact(x) * exact(y)
        once.append(rounded(of_product * product + of_other * exact(z)))
        twice.append(rounded(of_product * exact(rounded(product)) + of_other * exact(z)))
    assert (np.array(once) != np.array(twice)).sum() > COUNT // 8
    every = tuple(name for name in PASSES if name != "fuse-fma")
    for names, expected in ((DEFAULT, twice), (every, twice), (("fuse-fma",), once)):
        module, result = Module.parse(kernel(sum)), c.copy()
        run(module.ir, names, evaluate=evaluate)
        interpret(module.ir, "k", 1, [a.ctypes.data, b.ctypes.data, result.ctypes.data])
        np.testing.assert_array_equal(result, np.array(expected, np.float32))
