"""Precise functions compute two elements by packed instructions on sm_100a, with the bits of single ones on sm_90a."""

from __future__ import annotations

import numpy as np
import pytest

import tilec as ct
from tilec.lowering.math.functions import FUNCTIONS, function
from tilec.signature import Signature

SINGLE, PACKED = "sm_90a", "sm_100a"
ROWS = 64
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    np.inf,
    -np.inf,
    np.nan,
    1e-40,
    -1e-40,
    88.7,
    88.8,
    -87.3,
    -87.4,
    -103.9,
    -104.0,
    0.55,
    0.6,
]


@ct.kernel
def functions(X, R, columns: ct.Constant[int]):
    x = ct.load(X, (0, 0), (ROWS, columns))
    ct.store(R, (0, 0, 0), ct.exp(x)[None])
    ct.store(R, (1, 0, 0), ct.tanh(x)[None])
    ct.store(R, (2, 0, 0), ct.cosh(x)[None])


def compiled_for(target: str, args: list) -> ct.Compiled:
    return ct.compile(functions, target=target, signature=Signature.from_arguments(functions, args))


# With two columns a thread has one element.
@pytest.mark.parametrize("columns", [2, 128])
def test_bits_are_equal(columns):
    random = np.random.default_rng(columns)
    x = random.integers(0, 1 << 32, (ROWS, columns), np.uint32).view(np.float32)
    x[::2] = random.standard_normal((ROWS // 2, columns), np.float32) * 20
    x.reshape(-1)[: len(SPECIAL)] = SPECIAL
    found = []
    for target in (SINGLE, PACKED):
        args = [x, np.zeros((3, ROWS, columns), np.float32), columns]
        ct.run(compiled_for(target, args), (1,), args, backend="simulate")
        found.append(args[1])
    np.testing.assert_array_equal(*(result.view(np.uint32) for result in found))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found[0], [np.exp(x), np.tanh(x), np.cosh(x)], rtol=1e-6, atol=1e-45)


def test_steps_that_are_packed():
    args = [np.zeros((ROWS, 128), np.float32), np.zeros((3, ROWS, 128), np.float32), 128]
    assert "fma.rm.f32x2" in compiled_for(PACKED, args).ptx
    assert "f32x2" not in compiled_for(SINGLE, args).ptx
    packed = {name: len(function(name, "f32", PACKED).packed) for name in FUNCTIONS}
    assert {name: count for name, count in packed.items() if count} == {"cosh": 3, "exp": 4, "tanh": 6}
    # The instruction before the saturation has it as a modifier.
    assert 0 not in function("exp", "f32", PACKED).packed
