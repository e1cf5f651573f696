"""Vectors of shape and reduce: elements moved by index arithmetic, and reductions that are exact in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from rational import FORMATS, NAN, decode, encode
from sample import NUMBERS, codes, integers
from vector import tile, vector

Shape = tuple[int, ...]


def moved(source: list[int], shape: Shape, result: Shape, source_index: Callable[..., Shape]) -> list[int]:
    """The elements of the result, where element `index` is element `source_index(*index)` of the source."""
    return [source[flat(source_index(*index), shape)] for index in product(*map(range, result))]


def flat(index: Shape, shape: Shape) -> int:
    at = 0
    for position, extent in zip(index, shape, strict=True):
        at = at * extent + position
    return at


# A tile of rank 0 of f4E2M1FN or i4 has half a byte; Tile IR has no select of f4E2M1FN.
HALF_BYTES = ("f4E2M1FN", "i4")
# Pointers to f4E2M1FN exist only in tiles of rank 0, which two of these operations accept.
ALONE = "ptr<f4E2M1FN>"
ELEMENTS = (*NUMBERS, "i4", "ptr<f32>", "ptr<i8>")


def movements() -> Iterator[dict[str, Any]]:
    for element in ELEMENTS:
        bits = finite(element, 64)
        a, b = bits[:16], bits[16:32]
        yield vector("reshape", [tile(element, a, (4, 4))], [tile(element, a, (2, 8))])
        yield vector("reshape", [tile(element, a)], [tile(element, a, (2, 2, 2, 2))])
        if element not in HALF_BYTES:
            yield vector("reshape", [tile(element, a[:1], ())], [tile(element, a[:1], (1, 1))])
        stretched = moved(a[:4], (1, 4), (8, 4), lambda i, j: (0, j))
        yield vector("broadcast", [tile(element, a[:4], (1, 4))], [tile(element, stretched, (8, 4))])
        stretched = moved(a[:4], (2, 1, 2), (2, 4, 2), lambda i, j, k: (i, 0, k))
        yield vector("broadcast", [tile(element, a[:4], (2, 1, 2))], [tile(element, stretched, (2, 4, 2))])
        yield from permuted(element, bits)
        joined = [x for row in range(2) for x in (*a[8 * row : 8 * row + 8], *b[8 * row : 8 * row + 8])]
        halves = [tile(element, a, (2, 8)), tile(element, b, (2, 8))]
        yield vector("cat", halves, [tile(element, joined, (2, 16))], {"dim": 1})
        yield vector("cat", halves, [tile(element, a + b, (4, 8))], {"dim": 0})
        yield from parts(element, bits)
        condition = integers(1, "condition", 16)
        selected = [x if c else y for c, x, y in zip(condition, a, b, strict=True)]
        if element != "f4E2M1FN":
            yield vector(
                "select", [tile("i1", condition), tile(element, a), tile(element, b)], [tile(element, selected)]
            )
    yield from alone(ALONE)
    for width, count in ((1, 2), (8, 128), (8, 256), (16, 128), (32, 128), (64, 128)):
        yield vector("iota", [], [tile(f"i{width}", list(range(count)))])


def alone(element: str) -> Iterator[dict[str, Any]]:
    one, other = ([code] for code in codes(element, "moved", 2))
    yield vector("reshape", [tile(element, one, ())], [tile(element, one, ())])
    for condition, selected in ((1, one), (0, other)):
        operands = [tile("i1", [condition], ()), tile(element, one, ()), tile(element, other, ())]
        yield vector("select", operands, [tile(element, selected, ())])


def permuted(element: str, bits: list[int]) -> Iterator[dict[str, Any]]:
    """Result dimension i is source dimension permutation[i]."""
    for permutation in ((2, 0, 1), (1, 0, 2), (1, 0), (0, 1, 2)):
        shape = (8, 8) if len(permutation) == 2 else (2, 4, 8)
        result = tuple(shape[axis] for axis in permutation)

        def source_index(*index: int, permutation: Shape = permutation) -> Shape:
            return tuple(index[permutation.index(axis)] for axis in range(len(permutation)))

        permuted_bits = moved(bits, shape, result, source_index)
        yield vector(
            "permute",
            [tile(element, bits, shape)],
            [tile(element, permuted_bits, result)],
            {"permutation": list(permutation)},
        )


def parts(element: str, bits: list[int]) -> Iterator[dict[str, Any]]:
    """Vectors of extract and insert; indices count sub-tiles."""
    for shape, part, index in (((8, 8), (4, 2), (1, 3)), ((8, 8), (8, 8), (0, 0)), ((64,), (2,), (31,))):
        numbers = [tile("i32", [number], ()) for number in index]

        def source_index(*inside: int, part: Shape = part, index: Shape = index) -> Shape:
            return tuple(n * extent + i for n, extent, i in zip(index, part, inside, strict=True))

        extracted = moved(bits, shape, part, source_index)
        yield vector("extract", [tile(element, bits, shape), *numbers], [tile(element, extracted, part)])
        fresh = finite(element, 128)[64 : 64 + prod(part)]
        changed = list(bits)
        for inside, value in zip(product(*map(range, part)), fresh, strict=True):
            changed[flat(source_index(*inside), shape)] = value
        operands = [tile(element, fresh, part), tile(element, bits, shape), *numbers]
        yield vector("insert", operands, [tile(element, changed, shape)])


def finite(element: str, count: int) -> list[int]:
    """Bit patterns without NaN, so that every bit can be compared."""
    patterns = codes(element, "moved", 2 * count)
    if element in FORMATS:
        patterns = [code for code in patterns if decode(FORMATS[element], code)[1] != NAN]
    return patterns[:count]


def bytes_of_tiles() -> Iterator[dict[str, Any]]:
    for element in (*NUMBERS, "i4"):
        width = FORMATS[element].stored if element in FORMATS else int(element[1:])
        if width == 8:
            continue
        for count in (16, 64):
            values = finite(element, count)
            whole = sum(value << width * at for at, value in enumerate(values))
            stored = list(whole.to_bytes(count * width // 8, "little"))
            yield vector("pack", [tile(element, values)], [tile("i8", stored)])
            yield vector("unpack", [tile("i8", stored)], [tile(element, values)])


REDUCTIONS: dict[str, tuple[str, Callable[[int, int], int], int, dict[str, str]]] = {
    "addi": ("i32", lambda a, b: (a + b) % 2**32, 0, {}),
    "muli": ("i32", lambda a, b: a * b % 2**32, 1, {}),
    "xori": ("i8", lambda a, b: a ^ b, 0, {}),
    "maxi": ("i16", max, 0, {"signedness": "unsigned"}),
    "addf": ("f32", lambda a, b: a + b, 0, {}),
}


def reductions() -> Iterator[dict[str, Any]]:
    """Reductions of one operation; sums of floats are sums of small integers, which are exact in every order."""
    for body, (element, combine, identity, attributes) in REDUCTIONS.items():
        for dim, reverse in product(range(3), (None, False, True)):
            shape = (2, 4, 8)
            width = int(element[1:])
            numbers = [x % 100 if element == "f32" else x for x in integers(width, body, 64)]
            more = {"dim": dim, "identities": [identity]}
            described = {"operation": body, "attributes": attributes}
            result, extents = reduced(numbers, shape, dim, combine, identity, reverse)
            operation = "reduce" if reverse is None else "scan"
            if reverse is not None:
                more["reverse"] = reverse
            tiles = [tile(element, _codes(element, numbers), shape)], [tile(element, _codes(element, result), extents)]
            yield vector(operation, *tiles, more, body=described)
    yield single()


def single() -> dict[str, Any]:
    """A reduction of one element along the dimension."""
    described = {"operation": "addi", "attributes": {}}
    more = {"dim": 0, "identities": [0]}
    return vector("reduce", [tile("i32", [7, 9], (1, 2))], [tile("i32", [7, 9], (2,))], more, body=described)


def reduced(
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
    yield from reductions()
