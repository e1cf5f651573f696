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
SCALED = {
    ("f8E4M3FN", "f8E8M0FNU"): 32,
    ("f8E5M2", "f8E8M0FNU"): 32,
    ("f4E2M1FN", "f8E4M3FN"): 16,
    ("f4E2M1FN", "f8E8M0FNU"): 16,
    ("f4E2M1FN", "fnv8E5M3FNU"): 16,
}


def drawn(form: Format, count: int, random: Random, positive: bool = False) -> list[int]:
    """Codes of values near one; of f64 small integers only, whose sums are exact in every order."""
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
    m, n, target = 4, 2, FORMATS["f32"]
    for (name, scale_name), shared in SCALED.items():
        form, scale, k = FORMATS[name], FORMATS[scale_name], 2 * shared
        random = Random(f"scaled{name}{scale_name}")
        a, b, c = drawn(form, m * k, random), drawn(form, k * n, random), drawn(target, m * n, random)
        left, right = drawn(scale, m * 2, random, positive=True), drawn(scale, 2 * n, random, positive=True)
        left_values, right_values = values(scale, left), values(scale, right)
        x = [v * left_values[at // k * 2 + at % k // shared] for at, v in enumerate(values(form, a))]
        y = [v * right_values[at // n // shared * n + at % n] for at, v in enumerate(values(form, b))]
        exact = product(x, y, values(target, c), m, n, k)
        operands = [tile(name, a, (m, k)), tile(name, b, (k, n)), tile("f32", c, (m, n))]
        operands += [tile(scale_name, left, (m, 2)), tile(scale_name, right, (2, n))]
        yield vector("mmaf_scaled", operands, [tile("f32", encoded(target, exact), (m, n))])


def whole_numbers() -> Iterator[dict[str, Any]]:
    m, n, k = 4, 2, 8
    for lhs in ("signed", "unsigned"):
        for rhs in ("signed", "unsigned"):
            a, b, c = integers(8, f"a{lhs}", m * k), integers(8, f"b{rhs}", k * n), integers(32, "c", m * n)
            exact = product(
                [Fraction(read(v, 8, lhs)) for v in a],
                [Fraction(read(v, 8, rhs)) for v in b],
                [Fraction(read(v, 32, "signed")) for v in c],
                m, n, k,
            )  # fmt: skip
            operands = [tile("i8", a, (m, k)), tile("i8", b, (k, n)), tile("i32", c, (m, n))]
            bits = [int(x) % 2**32 for x in exact]
            attributes = {"signedness_lhs": lhs, "signedness_rhs": rhs}
            yield vector("mmai", operands, [tile("i32", bits, (m, n))], attributes)


def vectors() -> Iterator[dict[str, Any]]:
    yield from floats()
    yield from scaled()
    yield from whole_numbers()
