"""Vectors of convert: each result is a rational number, rounded once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from integer_vectors import OVERFLOW_ASSUMPTIONS, WIDTHS, fits, read
from rational import FORMATS, INFINITE, NAN, Format, decode, encode
from sample import codes, floats, integers
from vector import tile, vector

MODES = ("nearest_even", "zero", "negative_inf", "positive_inf", "nearest_away")
# The modes of each pair of types, as tileirdisasm 13.5 accepts them (tests/peers/tile_ir/test_float_conversions.py).
FILE = Path(__file__).parents[1] / "float_conversions.json"
ROUNDINGS: dict[str, dict[str, list[str]]] = json.loads(FILE.read_text())
TARGETS = tuple(ROUNDINGS)


def between_floats() -> Iterator[dict[str, Any]]:
    for source, row in ROUNDINGS.items():
        for target, modes in row.items():
            for mode in modes:
                yield float_to_float(FORMATS[source], FORMATS[target], mode)
                yield from at_midpoints(FORMATS[source], FORMATS[target], mode)


def float_to_float(source: Format, target: Format, mode: str) -> dict[str, Any]:
    return rounded(source, target, mode, floats(source, f"ftof{target.name}"))


def rounded(source: Format, target: Format, mode: str, codes: list[int], count: int = 32) -> dict[str, Any]:
    """A conversion of `count` of the codes, repeated if there are too few."""
    numbers = [decode(source, code) for code in codes]
    if not target.signed:
        # The conversion of a negative number to a type without a sign is not documented.
        codes, numbers = zip(*[(c, n) for c, n in zip(codes, numbers, strict=True) if not n[0]], strict=True)
    codes, numbers = (list(codes) * count)[:count], (list(numbers) * count)[:count]
    result = [encode(target, number, mode) for number in numbers]
    return vector("ftof", [tile(source.name, codes)], [tile(target.name, result)], {"rounding_mode": mode})


def at_midpoints(source: Format, target: Format, mode: str) -> Iterator[dict[str, Any]]:
    """Values of the target and midpoints between them, each with its two neighbours in the source, if both exist."""
    source_codes: list[int] = []
    for code in floats(target, f"near{source.name}", 20):
        sign, magnitude = decode(target, code)
        if isinstance(magnitude, Fraction):
            for exact in (magnitude, (magnitude + _next(target, code)) / 2):
                source_codes += _neighbours(source, sign if source.signed else 0, exact)
    if source_codes:
        yield rounded(source, target, mode, source_codes, 64)


def _next(form: Format, code: int) -> Fraction:
    """The next magnitude after that of a code; after the largest, one more step of the same size."""
    before, magnitude, after = (decode(form, code + step)[1] for step in (-(1 << form.shift), 0, 1 << form.shift))
    return after if isinstance(after, Fraction) and after > magnitude else 2 * magnitude - before


def _neighbours(form: Format, sign: int, magnitude: Fraction) -> list[int]:
    """The codes next below, at and next above a magnitude, if the format has all three."""
    code, step = encode(form, (sign, magnitude), "zero"), 1 << form.shift
    around = [decode(form, near)[1] for near in (code - step, code, code + step)] if code >= step else []
    if not around or NAN in around or INFINITE in around or not around[0] < magnitude == around[1] < around[2]:
        return []
    return [code - step, code, code + step]


def to_integers() -> Iterator[dict[str, Any]]:
    """Values in range; with `saturating` also values out of range. No NaN: its result is not documented."""
    for name in TARGETS:
        for width in WIDTHS:
            for signedness in ("signed", "unsigned"):
                if width == 1:
                    yield from _to_predicate(FORMATS[name], signedness)
                else:
                    yield from _to_integer(FORMATS[name], width, signedness)


def _to_predicate(form: Format, signedness: str) -> Iterator[dict[str, Any]]:
    """All values except zero are true, also NaN and values below one: tileiras 13.5 compiles `x != 0` (nvdisasm)."""
    codes = floats(form, "ftoi1")[:16]
    results = [int(decode(form, code)[1] != 0) for code in codes]
    attributes = {"signedness": signedness, "rounding_mode": "nearest_int_to_zero"}
    for flags in ({}, {"saturating": True}):
        yield vector("ftoi", [tile(form.name, codes)], [tile("i1", results)], {**attributes, **flags})


def _to_integer(form: Format, width: int, signedness: str) -> Iterator[dict[str, Any]]:
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signedness == "signed" else (0, (1 << width) - 1)
    limits = [encode(form, (int(x < 0), Fraction(abs(x)))) for x in (low - 1, low, low + 1, high - 1, high, high + 1)]
    codes = limits + floats(form, f"ftoi{width}", 64) + [encode(form, (0, Fraction(x))) for x in range(0, 40, 3)]
    inside, beyond = [], []
    for code in codes:
        sign, magnitude = decode(form, code)
        if magnitude == NAN:
            continue
        whole = (10**400 if magnitude == INFINITE else int(magnitude)) * (-1 if sign else 1)
        result = min(max(whole, low), high) % (1 << width)
        beyond.append((code, result))
        if low <= whole <= high:
            inside.append((code, result))
    attributes = {"signedness": signedness, "rounding_mode": "nearest_int_to_zero"}
    for flags, pairs in (({}, inside), ({"saturating": True}, beyond)):
        source, result = zip(*(pairs * 16)[:16], strict=True)
        operands, results = [tile(form.name, list(source))], [tile(f"i{width}", list(result))]
        yield vector("ftoi", operands, results, {**attributes, **flags})


def from_integers() -> Iterator[dict[str, Any]]:
    for width in WIDTHS:
        for name in TARGETS:
            for signedness in ("signed", "unsigned"):
                form = FORMATS[name]
                if name == "f8E8M0FNU":
                    continue
                values = integers(width, f"itof{name}") if width < 64 else _ties(form)
                if not form.signed and signedness == "signed":
                    values = [value & (1 << width - 1) - 1 for value in values]
                exact = [read(value, width, signedness) for value in values]
                bits = [encode(form, (int(value < 0), Fraction(abs(value)))) for value in exact]
                attributes = {"signedness": signedness, "rounding_mode": "nearest_even"}
                yield vector("itof", [tile(f"i{width}", values)], [tile(name, bits)], attributes)


def _ties(form: Format) -> list[int]:
    """Midpoints of the format as 64-bit integers, and one less and one more: rounding these twice is wrong."""
    first = 1 << form.fraction_bits
    middles = [(2 * k + 1) << 60 - form.fraction_bits for k in range(first, first + 5)]
    return [value + step for value in middles for step in (-1, 0, 1)][:15] + integers(64, form.name, 17)


def widths() -> Iterator[dict[str, Any]]:
    for narrow in (1, 4, *WIDTHS[1:]):
        for wide in (4, *WIDTHS):
            if narrow >= wide:
                continue
            values = integers(narrow, f"exti{wide}", 16)
            for signedness in ("signed", "unsigned"):
                bits = [read(value, narrow, signedness) % (1 << wide) for value in values]
                yield vector("exti", [tile(f"i{narrow}", values)], [tile(f"i{wide}", bits)], {"signedness": signedness})
            values = integers(wide, f"trunci{narrow}", 16)
            bits = [value % (1 << narrow) for value in values]
            yield vector("trunci", [tile(f"i{wide}", values)], [tile(f"i{narrow}", bits)])
            for assumption, kinds in OVERFLOW_ASSUMPTIONS.items():
                low = [read(value, narrow, "signed") % (1 << wide) for value in values] + bits
                kept = [x for x in low if all(fits(read(x, wide, kind), narrow, kind) for kind in kinds)]
                kept = (kept * 16)[:16]
                operands, results = [tile(f"i{wide}", kept)], [tile(f"i{narrow}", [x % (1 << narrow) for x in kept])]
                yield vector("trunci", operands, results, {"overflow": assumption})


# Types of equal width for bitcast; tf32 has 19 bits there, unlike all other types.
SAME_WIDTH = (
    ("i1",), ("f4E2M1FN",), ("i8", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "fnv8E5M3FNU"), ("i16", "f16", "bf16"), ("tf32",),
    ("i32", "f32"), ("i64", "f64"),
)  # fmt: skip


def bits() -> Iterator[dict[str, Any]]:
    for names in SAME_WIDTH:
        for source in names:
            for target in names:
                # No NaN: one NaN may be replaced by another.
                forms = [FORMATS[name] for name in (source, target) if name in FORMATS]
                source_codes = codes(source, f"bitcast{target}", 64)
                values = [code for code in source_codes if NAN not in [decode(form, code)[1] for form in forms]][:16]
                yield vector("bitcast", [tile(source, values)], [tile(target, values)])


def vectors() -> Iterator[dict[str, Any]]:
    yield from between_floats()
    yield from to_integers()
    yield from from_integers()
    yield from widths()
    yield from bits()
