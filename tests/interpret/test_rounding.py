"""Rounding to float formats: values of the format are unchanged; others, ties and overflow follow the specification."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tilec.runtime.interpret.numbers.float_format import FORMATS, UE5M3
from tilec.runtime.interpret.numbers.rounding import round_to

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
def test_rounding_between_adjacent_values(name: str, mode: str) -> None:
    """Values at 1/4, 1/2 and 3/4 between two adjacent values round down or up, depending on the mode."""
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
                # Encodings increase with magnitude; the even ones have a last fraction bit of 0.
                expected = np.where(index_is_even, below, above)
            else:
                expected = np.where(x > 0, above, below)
            if name == "f8E8M0FNU":
                expected = above
        assert np.array_equal(round_to(x, FORMATS[name], mode), expected)


@pytest.mark.parametrize("name", [*BYTE_FORMATS, UE5M3])
def test_encoding_round_trip(name: str) -> None:
    values, form = finite_values(name), FORMATS[name]
    assert np.array_equal(form.decode(form.encode(round_to(values, form, "nearest_even"))), values)


@pytest.mark.parametrize(
    ("name", "largest", "nan"),
    [("f8E4M3FN", 448.0, np.nan), ("f8E5M2", 57344.0, np.nan), ("f4E2M1FN", 6.0, 6.0), (UE5M3, 114688.0, np.nan)],
)
def test_formats_of_up_to_8_bits_saturate(name: str, largest: float, nan: float) -> None:
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


def test_f16_overflows_from_half_a_step_above_the_largest_value() -> None:
    assert round_to(np.array([65519.999, 65520.0]), FORMATS["f16"], "nearest_even").tolist() == [65504.0, np.inf]


def test_f64_to_bf16_rounds_once() -> None:
    # Rounding to f32 first would yield a tie, which rounds to the even value below.
    x = np.array([1 + 2.0**-8 + 2.0**-40])
    assert round_to(x, FORMATS["bf16"], "nearest_even").tolist() == [1 + 2.0**-7]
