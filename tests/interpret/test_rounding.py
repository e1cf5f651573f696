"""Rounding to the small formats: every value of a format is unchanged, midpoints and overflow follow the manual."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tilec.runtime.interpret.float_format import FORMATS, UE5M3
from tilec.runtime.interpret.rounding import round_to

MODES = ("nearest_even", "zero", "negative_inf", "positive_inf", "nearest_away")
BYTE_FORMATS = {
    "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2, "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
}  # fmt: skip


def finite_values(name: str) -> np.ndarray:
    if name == UE5M3:
        exponent, fraction = np.divmod(np.arange(255), 8)
        return np.where(exponent == 0, fraction / 8 * 2.0**-14, (1 + fraction / 8) * 2.0 ** (exponent - 15))
    count = 16 if name == "f4E2M1FN" else 256
    values = np.arange(count, dtype=np.uint8).view(BYTE_FORMATS[name]).astype(np.float64)
    return np.unique(values[np.isfinite(values)])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [*BYTE_FORMATS, UE5M3])
def test_between_two_values(name: str, mode: str) -> None:
    """A value a quarter, a half and three quarters between neighbours goes down or up as the mode says."""
    values = finite_values(name)
    below, above = values[:-1], values[1:]
    down, up = {"negative_inf": (1, 0), "positive_inf": (0, 1)}.get(mode, (None, None))
    for part in (0.25, 0.5, 0.75):
        x = below + (above - below) * part
        if mode == "zero":
            expected = np.where(x > 0, below, above)
        elif down is not None:
            expected = below if down else above
        elif part != 0.5:
            expected = below if part < 0.5 else above
        else:
            index_is_even = np.arange(len(x)) % 2 == (np.searchsorted(values, 0) % 2 if 0 in values else 0)
            if mode == "nearest_even":
                # Codes grow with magnitude, and the even code is the one whose last fraction bit is 0.
                expected = np.where(index_is_even, below, above)
            else:
                expected = np.where(x > 0, above, below)
            if name == "f8E8M0FNU":
                expected = above
        assert np.array_equal(round_to(x, FORMATS[name], mode), expected)


@pytest.mark.parametrize("name", [*BYTE_FORMATS, UE5M3])
def test_values_encode_and_decode_to_themselves(name: str) -> None:
    values, form = finite_values(name), FORMATS[name]
    assert np.array_equal(form.decode(form.encode(round_to(values, form, "nearest_even"))), values)


@pytest.mark.parametrize(
    ("name", "largest", "nan"),
    [("f8E4M3FN", 448.0, np.nan), ("f8E5M2", 57344.0, np.nan), ("f4E2M1FN", 6.0, 6.0), (UE5M3, 114688.0, np.nan)],
)
def test_small_formats_saturate(name: str, largest: float, nan: float) -> None:
    got = round_to(np.array([1e30, np.inf, np.nan]), FORMATS[name], "nearest_even")
    assert np.array_equal(got, [largest, largest, nan], equal_nan=True)


@pytest.mark.parametrize(
    ("mode", "positive", "negative"),
    [
        ("nearest_even", np.inf, -np.inf),
        ("nearest_away", np.inf, -np.inf),
        ("zero", 65504.0, -65504.0),
        ("negative_inf", 65504.0, -np.inf),
        ("positive_inf", np.inf, -65504.0),
    ],
)
def test_f16_overflow(mode: str, positive: float, negative: float) -> None:
    got = round_to(np.array([1e5, -1e5, np.inf, -np.inf]), FORMATS["f16"], mode)
    assert got.tolist() == [positive, negative, np.inf, -np.inf]


def test_f16_overflow_starts_half_a_step_above_the_largest() -> None:
    assert round_to(np.array([65519.999, 65520.0]), FORMATS["f16"], "nearest_even").tolist() == [65504.0, np.inf]


def test_f64_to_bf16_rounds_once() -> None:
    # Through f32 this would round to the midpoint first and then to even, one step too low.
    x = np.array([1 + 2.0**-8 + 2.0**-40])
    assert round_to(x, FORMATS["bf16"], "nearest_even").tolist() == [1 + 2.0**-7]
