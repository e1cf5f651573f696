"""wgmma of 8-bit floats keeps 13 fraction bits of a sum; sums of bytes wrap, or saturate with .satfinite."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from test_fused_sum import reference, spread
from wgmma_product import PRODUCT, STAGE, WAIT, WRITE

DTYPES = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "s8": np.int8, "u8": np.uint8}
FLOATS, BYTES = ["e4m3.e4m3", "e5m2.e5m2"], ["s8.s8", "s8.u8", "u8.s8", "u8.u8"]
# D is loaded from p2 as WRITE stores it.
LOAD = "\n".join(
    f"ld.global.f32 {line.rsplit(', ')[1].removesuffix(';')}, {line.removeprefix('st.global.f32 ').rsplit(', ')[0]};"
    if line.startswith("st.global")
    else line
    for line in WRITE.splitlines()
)


def body(types: str, modifier: str = "") -> str:
    """D = D + A * B, twice."""
    text = STAGE + LOAD + PRODUCT.replace("%p3", "%p4") + WAIT + WRITE
    if types in FLOATS:
        return text.replace("kK", "k32").replace("TYPES", types).replace("IMMEDIATES", ", 1, 1")
    text = text.replace("kK.f32.TYPES", f"k32{modifier}.s32.{types}").replace("IMMEDIATES", "")
    return text.replace("global.f32", "global.s32").replace("%f", "%r3")


@pytest.fixture
def run(simulate, aligned):
    def product(types, a, b, d, modifier=""):
        simulate(body(types, modifier), aligned(a), aligned(b), d, block=128, target="sm_90a")
        return d

    return product


@pytest.mark.parametrize("types", FLOATS)
def test_sums_of_floats_keep_13_fraction_bits(run, types):
    name, rng = types.partition(".")[0], np.random.default_rng(1)
    a, b = (spread(rng, (count, 32), DTYPES[name], 3) for count in (64, 16))
    c = spread(rng, (64, 16), np.float32, 3)
    once = reference(name, a, b.T, c, 13, 13)
    np.testing.assert_array_equal(run(types, a, b, c.copy()), reference(name, a, b.T, once, 13, 13))


def test_small_float_is_lost_beside_a_large_one(run):
    # 2**13 has a unit of 1 in 13 fraction bits: a product of 1/2 is truncated, one of 1 is added by each instruction.
    a, b = (np.zeros((rows, 32), DTYPES["e4m3"]) for rows in (64, 16))
    a[:, 0], b[:, 0] = 0.5, 1.0
    d = np.full((64, 16), 2.0**13, np.float32)
    assert (run("e4m3.e4m3", a, b, d.copy()) == 2**13).all()
    assert (run("e4m3.e4m3", (a.astype(np.float32) * 2).astype(a.dtype), b, d.copy()) == 2**13 + 2).all()


@pytest.mark.parametrize("types", BYTES)
def test_sums_of_bytes_wrap(run, types):
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-128, 256, (n, 32)).astype(DTYPES[t]) for n, t in zip((64, 16), types.split("."), strict=True))
    d = rng.choice([-(2**31), -1, 0, 2**31 - 1], (64, 16)).astype(np.int32)
    exact = 2 * a.astype(np.int64) @ b.T.astype(np.int64) + d
    assert (exact != exact.astype(np.int32)).any()
    np.testing.assert_array_equal(run(types, a, b, d), exact.astype(np.int32))


@pytest.mark.parametrize("types", BYTES)
def test_sums_of_bytes_saturate(run, types):
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-128, 256, (n, 32)).astype(DTYPES[t]) for n, t in zip((64, 16), types.split("."), strict=True))
    d = rng.choice([-(2**31), -1, 0, 2**31 - 1], (64, 16)).astype(np.int32)
    once = np.clip(a.astype(np.int64) @ b.T.astype(np.int64) + d, -(2**31), 2**31 - 1)
    twice = np.clip(a.astype(np.int64) @ b.T.astype(np.int64) + once, -(2**31), 2**31 - 1)
    np.testing.assert_array_equal(run(types, a, b, d, ".satfinite"), twice)
