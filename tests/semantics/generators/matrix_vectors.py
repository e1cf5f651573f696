"""Vectors of mma: the exact rational sum of all products and the accumulator, rounded once."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import Any

from float_vectors import value
from integer_vectors import read
from rational import FORMATS, Format, decode, encode
from sample import integers
from vector import tile, vector

ACCUMULATORS = {
    "f16": ("f16", "f32"),
    "bf16": ("f32",),
    "tf32": ("f32",),
    "f32": ("f32",),
    "f64": ("f64",),
    "f8E4M3FN": ("f16", "f32"),
    "f8E5M2": ("f16", "f32"),
}
# Types of inputs and scales, and the number of consecutive elements that share a scale.
SCALED = (
    ("f8E4M3FN", "f8E8M0FNU", 32),
    ("f8E5M2", "f8E8M0FNU", 32),
    ("f4E2M1FN", "f8E4M3FN", 16),
    ("f4E2M1FN", "f8E8M0FNU", 16),
    ("f4E2M1FN", "f8E8M0FNU", 32),
    ("f4E2M1FN", "fnv8E5M3FNU", 16),
    ("f4E2M1FN", "fnv8E5M3FNU", 32),
)


def drawn(form: Format, count: int, random: Random, positive: bool = False) -> list[int]:
    """Codes of values near one; for f64 only small integers, whose sums are exact in every order."""
    found = []
    for _ in range(count):
        sign = 0 if positive or not form.signed else random.getrandbits(1)
        if form.name == "f64":
            found.append(encode(form, (sign, Fraction(random.randint(0, 2**20)))))
        else:
            magnitude = Fraction(random.randint(1, 2**40), 2**40) * Fraction(2) ** random.randint(-2, 2)
            found.append(encode(form, (sign, magnitude), "zero"))
    return found


def product(a: list[Fraction], b: list[Fraction], c: list[Fraction], m: int, n: int, k: int) -> list[Fraction]:
    def element(i: int, j: int) -> Fraction:
        return c[i * n + j] + sum((a[i * k + x] * b[x * n + j] for x in range(k)), Fraction(0))

    return [element(i, j) for i in range(m) for j in range(n)]


def values(form: Format, codes: list[int]) -> list[Fraction]:
    return [value(decode(form, code)) for code in codes]


def encoded(form: Format, exact: list[Fraction]) -> list[int]:
    return [encode(form, (int(x < 0), abs(x))) for x in exact]


def floats() -> Iterator[dict[str, Any]]:
    for name, accumulators in ACCUMULATORS.items():
        for accumulator in accumulators:
            for batch in (None, 2):
                yield one(FORMATS[name], FORMATS[accumulator], batch)


def one(form: Format, target: Format, batch: int | None) -> dict[str, Any]:
    m, n, k = 4, 2, 8
    random = Random(f"mmaf{form.name}{target.name}{batch}")
    a, b, c, result = [], [], [], []
    for _ in range(batch or 1):
        part = [drawn(form, m * k, random), drawn(form, k * n, random), drawn(target, m * n, random)]
        exact = product(values(form, part[0]), values(form, part[1]), values(target, part[2]), m, n, k)
        for whole, piece in zip((a, b, c, result), (*part, encoded(target, exact)), strict=True):
            whole.extend(piece)
    outer = () if batch is None else (batch,)
    operands = [
        tile(form.name, a, (*outer, m, k)), tile(form.name, b, (*outer, k, n)), tile(target.name, c, (*outer, m, n))
    ]  # fmt: skip
    return vector("mmaf", operands, [tile(target.name, result, (*outer, m, n))])


def scaled() -> Iterator[dict[str, Any]]:
    for name, scale_name, shared in SCALED:
        for batch in (None, 2):
            yield one_scaled(FORMATS[name], FORMATS[scale_name], shared, batch)


def one_scaled(form: Format, scale: Format, shared: int, batch: int | None) -> dict[str, Any]:
    m, n, k, target = 4, 2, 2 * shared, FORMATS["f32"]
    random = Random(f"scaled{form.name}{scale.name}{shared if shared == 32 else ''}{batch or ''}")
    columns: list[list[int]] = [[] for _ in range(6)]
    for _ in range(batch or 1):
        a, b, c = drawn(form, m * k, random), drawn(form, k * n, random), drawn(target, m * n, random)
        left, right = drawn(scale, m * 2, random, positive=True), drawn(scale, 2 * n, random, positive=True)
        left_values, right_values = values(scale, left), values(scale, right)
        x = [v * left_values[at // k * 2 + at % k // shared] for at, v in enumerate(values(form, a))]
        y = [v * right_values[at // n // shared * n + at % n] for at, v in enumerate(values(form, b))]
        result = encoded(target, product(x, y, values(target, c), m, n, k))
        for whole, piece in zip(columns, (a, b, c, left, right, result), strict=True):
            whole.extend(piece)
    outer = () if batch is None else (batch,)
    shapes = ((m, k), (k, n), (m, n), (m, 2), (2, n), (m, n))
    names = (form.name, form.name, "f32", scale.name, scale.name, "f32")
    tiles = [tile(name, bits, (*outer, *shape)) for name, bits, shape in zip(names, columns, shapes, strict=True)]
    return vector("mmaf_scaled", tiles[:5], tiles[5:])


def short_sums() -> Iterator[dict[str, Any]]:
    """fast_acc allows fewer bits within a sum; these sums of small integers are exact in every order."""
    m, n, k = 4, 2, 8
    for name, accumulators in ACCUMULATORS.items():
        for accumulator in accumulators:
            form, target, random = FORMATS[name], FORMATS[accumulator], Random(f"short{name}{accumulator}")
            a, b, c = ([Fraction(random.randint(-4, 4)) for _ in range(count)] for count in (m * k, k * n, m * n))
            operands = [tile(name, encoded(form, a), (m, k)), tile(name, encoded(form, b), (k, n))]
            operands.append(tile(accumulator, encoded(target, c), (m, n)))
            result = tile(accumulator, encoded(target, product(a, b, c, m, n, k)), (m, n))
            yield vector("mmaf", operands, [result], {"fast_acc": True})


def whole_numbers() -> Iterator[dict[str, Any]]:
    m, n, k = 4, 2, 8
    for lhs in ("signed", "unsigned"):
        for rhs in ("signed", "unsigned"):
            for batch in (1, 2):
                parts: list[list[int]] = [[], [], [], []]
                for at in range(batch):
                    more = at or ""
                    drawn = integers(8, f"a{lhs}{more}", m * k), integers(8, f"b{rhs}{more}", k * n)
                    a, b, c = *drawn, integers(32, f"c{more}", m * n)
                    exact = product(
                        [Fraction(read(v, 8, lhs)) for v in a],
                        [Fraction(read(v, 8, rhs)) for v in b],
                        [Fraction(read(v, 32, "signed")) for v in c],
                        m, n, k,
                    )  # fmt: skip
                    for whole, piece in zip(parts, (a, b, c, [int(x) % 2**32 for x in exact]), strict=True):
                        whole.extend(piece)
                outer = () if batch == 1 else (batch,)
                shapes = ((m, k), (k, n), (m, n), (m, n))
                kinds = zip(("i8", "i8", "i32", "i32"), parts, shapes, strict=True)
                tiles = [tile(name, bits, (*outer, *shape)) for name, bits, shape in kinds]
                yield vector("mmai", tiles[:3], tiles[3:], {"signedness_lhs": lhs, "signedness_rhs": rhs})


def vectors() -> Iterator[dict[str, Any]]:
    yield from floats()
    yield from scaled()
    yield from short_sums()
    yield from whole_numbers()
