"""Vectors of shape and reduce: elements moved by index arithmetic, and folds whose results are exact in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from rational import FORMATS, encode
from sample import integers
from vector import tile, vector

Shape = tuple[int, ...]


def moved(source: list[int], shape: Shape, result: Shape, place: Callable[..., Shape]) -> list[int]:
    """Element `index` of the result is element place(*index) of the source."""
    return [source[flat(place(*index), shape)] for index in product(*map(range, result))]


def flat(index: Shape, shape: Shape) -> int:
    at = 0
    for position, extent in zip(index, shape, strict=True):
        at = at * extent + position
    return at


def movements() -> Iterator[dict[str, Any]]:
    for element, width in (("f32", 32), ("i1", 1), ("i8", 8), ("bf16", 16), ("i64", 64)):
        bits = _numbers(element, width, 64)
        a, b = bits[:16], bits[16:32]
        yield vector("reshape", [tile(element, a, (4, 4))], [tile(element, a, (2, 8))])
        yield vector("reshape", [tile(element, a[:1], ())], [tile(element, a[:1], (1, 1))])
        stretched = moved(a[:4], (1, 4), (8, 4), lambda i, j: (0, j))
        yield vector("broadcast", [tile(element, a[:4], (1, 4))], [tile(element, stretched, (8, 4))])
        turned = moved(bits, (2, 4, 8), (8, 2, 4), lambda i, j, k: (j, k, i))
        operand = [tile(element, bits, (2, 4, 8))]
        yield vector("permute", operand, [tile(element, turned, (8, 2, 4))], {"permutation": [2, 0, 1]})
        joined = [x for row in range(2) for x in (*a[8 * row : 8 * row + 8], *b[8 * row : 8 * row + 8])]
        halves = [tile(element, a, (2, 8)), tile(element, b, (2, 8))]
        yield vector("cat", halves, [tile(element, joined, (2, 16))], {"dim": 1})
        yield vector("cat", halves, [tile(element, a + b, (4, 8))], {"dim": 0})
        part = moved(bits, (8, 8), (4, 2), lambda i, j: (4 + i, 6 + j))
        indices = [tile("i32", [1], ()), tile("i32", [3], ())]
        yield vector("extract", [tile(element, bits, (8, 8)), *indices], [tile(element, part, (4, 2))])
        changed = list(bits)
        for i, j in product(range(4), range(2)):
            changed[(4 + i) * 8 + 6 + j] = a[i * 2 + j]
        operands = [tile(element, a[:8], (4, 2)), tile(element, bits, (8, 8)), *indices]
        yield vector("insert", operands, [tile(element, changed, (8, 8))])
        condition = integers(1, "condition", 16)
        chosen = [x if c else y for c, x, y in zip(condition, a, b, strict=True)]
        yield vector("select", [tile("i1", condition), tile(element, a), tile(element, b)], [tile(element, chosen)])
    for width in (8, 16, 32, 64):
        yield vector("iota", [], [tile(f"i{width}", list(range(128)))])


def _numbers(element: str, width: int, count: int) -> list[int]:
    """Bit patterns; of floats only finite ones, so that every bit can be compared."""
    if element in FORMATS:
        return [encode(FORMATS[element], (at % 2, Fraction(at * 37 % 101, 8))) for at in range(count)]
    return integers(width, element, count)


def bytes_of_tiles() -> Iterator[dict[str, Any]]:
    for element, width in (("i1", 1), ("i16", 16), ("i32", 32), ("f64", 64), ("bf16", 16), ("f4E2M1FN", 4)):
        values = _numbers(element, width, 16)
        whole = sum(value << width * at for at, value in enumerate(values))
        stored = list(whole.to_bytes(16 * width // 8, "little"))
        yield vector("pack", [tile(element, values)], [tile("i8", stored)])
        yield vector("unpack", [tile("i8", stored)], [tile(element, values)])


FOLDS: dict[str, tuple[str, Callable[[int, int], int], int, dict[str, str]]] = {
    "addi": ("i32", lambda a, b: (a + b) % 2**32, 0, {}),
    "muli": ("i32", lambda a, b: a * b % 2**32, 1, {}),
    "xori": ("i8", lambda a, b: a ^ b, 0, {}),
    "maxi": ("i16", max, 0, {"signedness": "unsigned"}),
    "addf": ("f32", lambda a, b: a + b, 0, {}),
}


def folds() -> Iterator[dict[str, Any]]:
    """Sums of floats are of small integers, exact in every order; identities stand as numbers."""
    for body, (element, combine, identity, attributes) in FOLDS.items():
        for dim, reverse in product(range(3), (None, False, True)):
            shape = (2, 4, 8)
            width = int(element[1:])
            numbers = [x % 100 if element == "f32" else x for x in integers(width, body, 64)]
            more = {"dim": dim, "identities": [identity]}
            described = {"operation": body, "attributes": attributes}
            result, extents = folded(numbers, shape, dim, combine, identity, reverse)
            operation = "reduce" if reverse is None else "scan"
            if reverse is not None:
                more["reverse"] = reverse
            tiles = [tile(element, _codes(element, numbers), shape)], [tile(element, _codes(element, result), extents)]
            yield vector(operation, *tiles, more, body=described)
    yield single()


def single() -> dict[str, Any]:
    """One element along the dimension: the fold with the identity."""
    described = {"operation": "addi", "attributes": {}}
    more = {"dim": 0, "identities": [0]}
    return vector("reduce", [tile("i32", [7, 9], (1, 2))], [tile("i32", [7, 9], (2,))], more, body=described)


def folded(
    numbers: list[int], shape: Shape, dim: int, combine: Callable[[int, int], int], identity: int, reverse: bool | None
) -> tuple[list[int], Shape]:
    extents = shape[:dim] + shape[dim + 1 :]
    outcome = [0] * prod(shape)
    last = {}
    for rest in product(*map(range, extents)):
        total = identity
        order = range(shape[dim])
        for at in reversed(order) if reverse else order:
            index = (*rest[:dim], at, *rest[dim:])
            total = combine(total, numbers[flat(index, shape)])
            outcome[flat(index, shape)] = total
        last[rest] = total
    return ([last[rest] for rest in product(*map(range, extents))], extents) if reverse is None else (outcome, shape)


def _codes(element: str, numbers: list[int]) -> list[int]:
    return [encode(FORMATS[element], (0, Fraction(x))) for x in numbers] if element in FORMATS else numbers


def vectors() -> Iterator[dict[str, Any]]:
    yield from movements()
    yield from bytes_of_tiles()
    yield from folds()
