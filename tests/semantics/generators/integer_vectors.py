"""Vectors of arith: Python's integers, reduced to the width."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sample import integers
from vector import tile, vector

WIDTHS = (1, 8, 16, 32, 64)


def signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> width - 1 else value


def read(value: int, width: int, signedness: str) -> int:
    return signed(value, width) if signedness == "signed" else value


def divide(a: int, b: int, rounding: str) -> int:
    """The quotient of exact integers; Python's // rounds down."""
    if rounding == "negative_inf":
        return a // b
    if rounding == "positive_inf":
        return -(-a // b)
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


BINARY: dict[str, Callable[[int, int, int], int]] = {
    "addi": lambda a, b, _: a + b,
    "subi": lambda a, b, _: a - b,
    "muli": lambda a, b, _: a * b,
    "mulhii": lambda a, b, width: a * b >> width,
    "andi": lambda a, b, _: a & b,
    "ori": lambda a, b, _: a | b,
    "xori": lambda a, b, _: a ^ b,
}
UNARY: dict[str, Callable[[int, int], int]] = {
    "negi": lambda a, width: -signed(a, width),
    "absi": lambda a, width: abs(signed(a, width)),
}
SIGNED: dict[str, Callable[[int, int], int]] = {"maxi": max, "mini": min}
COMPARED: dict[str, Callable[[int, int], bool]] = {
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "less_than": lambda a, b: a < b,
    "less_than_or_equal": lambda a, b: a <= b,
    "greater_than": lambda a, b: a > b,
    "greater_than_or_equal": lambda a, b: a >= b,
}


def _apply(name: str, width: int, rows: list[tuple[int, ...]], result: list[int], **attributes: Any) -> dict[str, Any]:
    operands = [tile(f"i{width}", list(column)) for column in zip(*rows, strict=True)]
    return vector(name, operands, [tile(f"i{width}", [value % (1 << width) for value in result])], attributes)


def arithmetic(width: int) -> Iterator[dict[str, Any]]:
    pairs = list(zip(integers(width, f"a{width}"), integers(width, f"b{width}"), strict=True))
    for name, meaning in BINARY.items():
        yield _apply(name, width, pairs, [meaning(a, b, width) for a, b in pairs])
    for name, single in UNARY.items():
        yield _apply(name, width, [(a,) for a, _ in pairs], [single(a, width) for a, _ in pairs])
    for signedness in ("signed", "unsigned"):
        read_pairs = [(read(a, width, signedness), read(b, width, signedness)) for a, b in pairs]
        for name, choose in SIGNED.items():
            yield _apply(name, width, pairs, [choose(a, b) for a, b in read_pairs], signedness=signedness)
        for predicate, compare in COMPARED.items():
            result = [tile("i1", [int(compare(a, b)) for a, b in read_pairs])]
            operands = [tile(f"i{width}", list(column)) for column in zip(*pairs, strict=True)]
            yield vector("cmpi", operands, result, {"comparison_predicate": predicate, "signedness": signedness})
        yield from division(width, signedness)


def division(width: int, signedness: str) -> Iterator[dict[str, Any]]:
    """Only defined divisions: no zero divisor, and not the most negative integer by -1."""
    least = -(1 << width - 1)
    drawn = zip(integers(width, f"n{width}", 200), integers(width, f"d{width}", 200), strict=True)
    undefined = (least % (1 << width), (1 << width) - 1) if signedness == "signed" else None
    pairs = ([(a, b) for a, b in drawn if b and (a, b) != undefined] * 32)[:32]
    exact = [(read(a, width, signedness), read(b, width, signedness)) for a, b in pairs]
    for rounding in ("zero", "positive_inf", *(("negative_inf",) if signedness == "signed" else ())):
        yield _apply(
            "divi", width, pairs, [divide(a, b, rounding) for a, b in exact], signedness=signedness, rounding=rounding
        )
    yield _apply("remi", width, pairs, [a - divide(a, b, "zero") * b for a, b in exact], signedness=signedness)


def shifts(width: int) -> Iterator[dict[str, Any]]:
    values = integers(width, f"s{width}")
    pairs = [(value, index % width) for index, value in enumerate(values)]
    yield _apply("shli", width, pairs, [a << b for a, b in pairs])
    for signedness in ("signed", "unsigned"):
        yield _apply("shri", width, pairs, [read(a, width, signedness) >> b for a, b in pairs], signedness=signedness)


OVERFLOW_ASSUMPTIONS = {
    "no_signed_wrap": ("signed",), "no_unsigned_wrap": ("unsigned",), "no_wrap": ("signed", "unsigned"),
}  # fmt: skip
EXACT: dict[str, Callable[..., int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "shli": lambda a, b: a << b,
    "negi": lambda a: -a,
}


def fits(value: int, width: int, signedness: str) -> bool:
    low = -(1 << width - 1) if signedness == "signed" else 0
    return low <= value < low + (1 << width)


def satisfies(name: str, row: tuple[int, ...], width: int, assumption: str) -> bool:
    """Whether the exact result fits, with operands read by the signedness of the assumption, shift amounts unsigned."""
    for signedness in OVERFLOW_ASSUMPTIONS[assumption]:
        operands = [read(a, width, "unsigned" if name == "shli" and at else signedness) for at, a in enumerate(row)]
        if not fits(EXACT[name](*operands), width, signedness):
            return False
    return True


def overflow_assumptions(width: int) -> Iterator[dict[str, Any]]:
    """Only operands that satisfy the assumption; some are small, because few large operands satisfy it."""
    drawn = []
    for step in range(0, width, 3):
        lefts, rights = integers(width, f"p{width}{step}", 40), integers(width, f"q{width}{step}", 40)
        drawn += [(signed(a, width) >> step, signed(b, width) >> step) for a, b in zip(lefts, rights, strict=True)]
    rows = [(a % (1 << width), b % (1 << width)) for a, b in drawn]
    for name, exact in EXACT.items():
        for assumption in OVERFLOW_ASSUMPTIONS:
            if name == "negi" and assumption == "no_unsigned_wrap":
                continue
            operands = rows if name != "negi" else [(a,) for a, _ in rows]
            if name == "shli":
                operands = [(a, b % min(width, 9)) for a, b in rows]
            valid = [row for row in operands if satisfies(name, row, width, assumption)]
            valid = (valid[:: max(len(valid) // 16, 1)] * 16)[:16]
            yield _apply(name, width, valid, [exact(*row) for row in valid], overflow=assumption)


def vectors() -> Iterator[dict[str, Any]]:
    for width in WIDTHS:
        yield from arithmetic(width)
        yield from shifts(width)
        yield from overflow_assumptions(width)
