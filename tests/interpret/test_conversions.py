"""Conversions are exact for every encoding of types of up to 16 bits, and for their boundaries in f32 and f64.

There are two references. The first is a table of all values of the target type, from which each rounding mode selects
one of the two neighbours of a number. The second is ml_dtypes, whose conversions round once to nearest even. ml_dtypes
differs from Tile IR in three points: numbers too large for types of up to 8 bits become infinity or NaN instead of the
largest value, zero becomes NaN instead of the least value of f8E8M0FNU, and it has no fnv8E5M3FNU. Conversions of
negative numbers to types without a sign are not documented, and not tested.
"""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from tilec.dialect.cuda_tile.conversions import ftof_problem

DTYPES = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "f8E8M0FNU": np.dtype(ml_dtypes.float8_e8m0fnu),
    "f4E2M1FN": np.dtype(ml_dtypes.float4_e2m1fn),
    "fnv8E5M3FNU": np.dtype(np.uint8),
}
INTEGERS = {f"i{8 * size}": np.dtype(f"i{size}") for size in (1, 2, 4, 8)}
WIDE = {"f32": np.dtype(np.float32), "tf32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
UNSIGNED = {"f8E8M0FNU", "fnv8E5M3FNU"}
# Types of at most 8 bits saturate (Tile IR 5.1.3).
SATURATING = set(DTYPES) - {"f16", "bf16"}
MODES = ("nearest_even", "zero", "negative_inf", "positive_inf", "nearest_away")


def modes(source: str, target: str) -> list[str]:
    return [mode for mode in MODES if ftof_problem(source, target, mode) is None]


PAIRS = [(source, target) for source in DTYPES for target in [*DTYPES, *WIDE] if source != target]
NARROWING = [(source, target) for source in WIDE for target in DTYPES]


def all_codes(name: str) -> np.ndarray:
    """Every encoding of a type, as elements of its numpy type."""
    bits = {"f16": 16, "bf16": 16, "f4E2M1FN": 4}.get(name, 8)
    return np.arange(2**bits, dtype="u2" if bits == 16 else "u1").view(DTYPES[name])


def values(name: str, tile: np.ndarray) -> np.ndarray:
    """The values of elements as f64."""
    with np.errstate(invalid="ignore"):
        return ue5m3()[tile] if name == "fnv8E5M3FNU" else tile.astype(np.float64)


def ue5m3() -> np.ndarray:
    """The values of fnv8E5M3FNU: bias 15, 3 fraction bits, subnormals, no sign; the last encoding is NaN."""
    parts = [(code >> 3, code & 7) for code in range(255)]
    numbers = [Fraction(8 * (e > 0) + f, 8) * Fraction(2) ** (max(e, 1) - 15) for e, f in parts]
    return np.array([*map(float, numbers), np.nan])


def convert(execute, source: np.ndarray, origin: str, target: str, mode: str) -> np.ndarray:
    """The results of ftof."""
    return operate(execute, source, origin, target, f"ftof %x rounding<{mode}>")


def operate(execute, source: np.ndarray, origin: str, target: str, operation: str) -> np.ndarray:
    """The results of an operation on %x in the interpreter; f4E2M1FN is packed as two elements per byte."""
    count = len(source)
    extent = max(2, 1 << (count - 1).bit_length())
    held = np.concatenate([source, np.zeros(extent - count, source.dtype)]).view(f"u{source.itemsize}")
    result = np.zeros(extent, {**DTYPES, **WIDE, **INTEGERS}[target])
    given, taken = _packed(held, origin), _packed(result.view(f"u{result.itemsize}"), target)
    execute(
        f"%p: tile<ptr<{origin}>>, %q: tile<ptr<{target}>>",
        f"""%zero = constant <i32: 0> : tile<i32>
        {_view("s", "%p", extent, origin)} {_view("d", "%q", extent, target)}
        %x, %t = load_view_tko weak %sv[%zero] : {_kind(extent, origin)}, tile<i32> -> tile<{extent}x{origin}>, token
        %y = {operation} : tile<{extent}x{origin}> -> tile<{extent}x{target}>
        %k = store_view_tko weak %y, %dv[%zero]
          : tile<{extent}x{target}>, {_kind(extent, target)}, tile<i32> -> token""",
        given,
        taken,
    )
    if target == "f4E2M1FN":
        return np.stack([taken & 15, taken >> 4], axis=1).reshape(-1)[:count].view(result.dtype)
    return result[:count]


def _packed(codes: np.ndarray, name: str) -> np.ndarray:
    return codes[0::2] | codes[1::2] << 4 if name == "f4E2M1FN" else codes


def _kind(extent: int, element: str) -> str:
    return f"partition_view<tile=({extent}), tensor_view<{extent}x{element}, strides=[1]>>"


def _view(name: str, pointer: str, extent: int, element: str) -> str:
    tensor = f"tensor_view<{extent}x{element}, strides=[1]>"
    return f"""%{name}t = make_tensor_view {pointer}, shape = [{extent}], strides = [1] : {tensor}
        %{name}v = make_partition_view %{name}t : {_kind(extent, element)}"""


def rounded(numbers: np.ndarray, target: str, mode: str) -> np.ndarray:
    """The elements of `target` that numbers round to, from a table of its values; any NaN may represent NaN."""
    codes = all_codes(target)
    table = values(target, codes)
    order = [i for i in np.argsort(table, kind="stable") if np.isfinite(table[i]) and not np.signbit(table[i])]
    sizes, codes = table[order], codes[order]
    negative, size = np.signbit(numbers), np.abs(numbers)
    at = np.clip(np.searchsorted(sizes, size, side="right") - 1, 0, len(sizes) - 1)
    up = np.minimum(at + 1, len(sizes) - 1)
    # Above the largest value, numbers round as if the next step had the size of the last one.
    below, above = sizes[at], np.where(up > at, sizes[up], 2 * sizes[at] - sizes[at - 1])
    exact = (size <= sizes[0]) | (size == below)
    odd = np.arange(len(sizes))[at] % 2 == (0 if sizes[0] else 1)
    with np.errstate(invalid="ignore"):
        low, high = size - below, above - size
        upward = {
            "nearest_even": (low > high) | ((low == high) & odd),
            "nearest_away": low >= high,
            "zero": np.zeros(len(size), np.bool_),
            "negative_inf": negative,
            "positive_inf": ~negative,
        }[mode] & ~exact
    found = codes[np.where(upward, up, at)]
    return _signed(found, upward & (up == at) | np.isinf(size), np.isnan(numbers), negative, target)


def _signed(found: np.ndarray, beyond: np.ndarray, nan: np.ndarray, negative: np.ndarray, target: str) -> np.ndarray:
    """Applies overflow, the sign and NaN to rounded magnitudes."""
    if target not in SATURATING:
        found = np.where(beyond, np.asarray(np.inf, found.dtype), found)
    bits = found.view(f"u{found.itemsize}")
    if target not in UNSIGNED:
        sign = 8 if target == "f4E2M1FN" else 1 << 8 * found.itemsize - 1
        bits = bits | np.where(negative, sign, 0).astype(bits.dtype)
    # NaN becomes the largest value if the type has no NaN.
    not_a_number = {"f4E2M1FN": 7}.get(target, bits.dtype.type(2 ** (8 * found.itemsize) - 1))
    return np.where(nan, not_a_number, bits).astype(bits.dtype).view(found.dtype)


def assert_equal(got: np.ndarray, expected: np.ndarray, name: str, source: np.ndarray) -> None:
    """Asserts equal bits; all NaNs are equal."""
    unsigned = f"u{got.itemsize}"
    both_nan = np.isnan(values(name, got)) & np.isnan(values(name, expected))
    same = (got.view(unsigned) == expected.view(unsigned)) | both_nan
    assert same.all(), list(zip(source[~same][:5], got[~same][:5], expected[~same][:5], strict=True))


def comparable(numbers: np.ndarray, target: str) -> np.ndarray:
    return ~np.signbit(numbers) | np.isnan(numbers) if target in UNSIGNED else np.ones(len(numbers), np.bool_)


@pytest.mark.parametrize(("source", "target"), [pair for pair in PAIRS if pair[1] in DTYPES])
def test_every_encoding_between_types_of_up_to_16_bits(execute, source, target):
    codes = all_codes(source)
    numbers = values(source, codes)
    chosen = comparable(numbers, target)
    codes, numbers = codes[chosen], numbers[chosen]
    assert modes(source, target)
    for mode in modes(source, target):
        assert_equal(convert(execute, codes, source, target, mode), rounded(numbers, target, mode), target, codes)


@pytest.mark.parametrize(("source", "target"), [pair for pair in PAIRS if pair[1] in WIDE])
def test_every_encoding_is_exact_in_f32_tf32_and_f64(execute, source, target):
    codes = all_codes(source)
    for mode in modes(source, target):
        got = convert(execute, codes, source, target, mode)
        with np.errstate(invalid="ignore"):
            expected = values(source, codes).astype(got.dtype)
        assert np.array_equal(got, expected, equal_nan=True)
        assert (np.signbit(got) == np.signbit(expected))[~np.isnan(expected)].all()


def boundaries(target: str, dtype: np.dtype) -> np.ndarray:
    """Every value and midpoint of the target, values above the largest one, and both neighbours of all of these."""
    numbers = np.unique(values(target, all_codes(target)))
    finite = numbers[np.isfinite(numbers)]
    beyond = finite[-1] + (finite[-1] - finite[-2]) * np.array([0.5, 1.0, 1.5])
    middle = (finite[:-1] + finite[1:]) / 2
    special = [0.0, -0.0, np.inf, -np.inf, np.nan]
    with np.errstate(all="ignore"):
        found = np.concatenate([finite, middle, beyond, -beyond, special]).astype(dtype)
        up, down = (np.nextafter(found, dtype.type(direction)) for direction in (np.inf, -np.inf))
    return np.concatenate([found, up, down])


@pytest.mark.parametrize(("source", "target"), [pair for pair in NARROWING if pair[0] != "tf32"])
def test_boundaries_of_types_of_up_to_16_bits(execute, source, target):
    given = boundaries(target, WIDE[source])
    numbers = given.astype(np.float64)
    chosen = comparable(numbers, target)
    given, numbers = given[chosen], numbers[chosen]
    for mode in modes(source, target):
        got = convert(execute, given, source, target, mode)
        assert_equal(got, rounded(numbers, target, mode), target, given)


AGREEING = ("f16", "bf16", "f8E4M3FN", "f8E5M2", "f4E2M1FN")


@pytest.mark.parametrize(("source", "target"), [(s, t) for s in ("f32", *AGREEING[:2]) for t in AGREEING if s != t])
def test_nearest_even_agrees_with_ml_dtypes(execute, source, target):
    """Only numbers within the range of the target are compared."""
    given = boundaries(target, WIDE["f32"]) if source == "f32" else all_codes(source)
    numbers = values(source, given)
    table = values(target, all_codes(target))
    inside = np.abs(numbers) <= table[np.isfinite(table)].max()
    given = given[inside]
    with np.errstate(all="ignore"):
        expected = given.astype(np.float32).astype(DTYPES[target])
    assert_equal(convert(execute, given, source, target, "nearest_even"), expected, target, given)


def test_f32_to_tf32_rounds_bits(execute):
    """tf32 is f32 whose last 13 bits are zero; every pattern of these bits is tested with several upper bits."""
    heads = np.array([0, 1, 2, 0x200, 0x3FC00, 0x3FC01, 0x3FBFE, 0x3FBFF, 0x20000, 0x20001, 0x15555], np.uint32)
    bits = (heads[:, None] << 13 | np.arange(2**13, dtype=np.uint32)).reshape(-1)
    bits = np.concatenate([bits, bits | 1 << 31])
    magnitude, sign = bits & 0x7FFFFFFF, bits & 0x80000000
    expected = {
        "nearest_even": magnitude + 0xFFF + (magnitude >> 13 & 1),
        "nearest_away": magnitude + 0x1000,
        "zero": magnitude,
    }
    assert set(modes("f32", "tf32")) == set(expected)
    is_nan = magnitude > 0x7F800000
    for mode, moved in expected.items():
        got = convert(execute, bits.view(np.float32), "f32", "tf32", mode)
        expected_bits = np.where(magnitude >= 0x7F800000, magnitude, moved & 0xFFFFE000) | sign
        assert (np.isnan(got) == is_nan).all()
        assert np.array_equal(got.view(np.uint32)[~is_nan], expected_bits[~is_nan])


@pytest.mark.parametrize("target", [name for name in DTYPES if name != "f8E8M0FNU"])
@pytest.mark.parametrize("width", [8, 16])
def test_every_integer_of_8_and_16_bits(execute, width, target):
    codes = np.arange(2**width, dtype=f"u{width // 8}")
    for signedness, given in (("unsigned", codes), ("signed", codes.view(f"i{width // 8}"))):
        if signedness == "signed" and target in UNSIGNED:
            given = given[given >= 0]
        got = operate(execute, given, f"i{width}", target, f"itof %x {signedness}")
        assert_equal(got, rounded(given.astype(np.float64), target, "nearest_even"), target, given)


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", INTEGERS)
@pytest.mark.parametrize("signedness", ["signed", "unsigned"])
def test_saturating_ftoi_of_every_encoding(execute, source, target, signedness):
    """Results equal Python's truncation and clamping; the result for NaN is not documented."""
    codes = all_codes(source)
    numbers = values(source, codes)
    codes, numbers = codes[~np.isnan(numbers)], numbers[~np.isnan(numbers)]
    width = int(target[1:])
    low, high = (-(2 ** (width - 1)), 2 ** (width - 1) - 1) if signedness == "signed" else (0, 2**width - 1)
    whole = [int(np.copysign(2**70, x)) if np.isinf(x) else int(x) for x in numbers.tolist()]
    expected = np.array([min(max(x, low), high) % 2**width for x in whole], f"u{width // 8}")
    got = operate(execute, codes, source, target, f"ftoi %x {signedness} saturating")
    assert np.array_equal(got.view(expected.dtype), expected)
