"""Vectors of addresses: pointers moved by elements, and turned into integers and other pointers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from integer_vectors import WIDTHS, signed
from program import Program
from rational import FORMATS
from sample import NUMBERS, codes, integers
from vector import tile, vector

COUNT = 8
# Tiles of rank 1 and more of these do not exist: memory is reached through views of f4E2M1FN.
ALONE = ("f4E2M1FN",)
Shape = tuple[int, ...]


def half_bytes(pointee: str) -> int:
    """The size of an element in memory: i1 has a byte of its own, two of f4E2M1FN share one."""
    if pointee == "i1":
        return 2
    return (FORMATS[pointee].stored if pointee in FORMATS else int(pointee[1:])) // 4


def columns(pointees: tuple[str, ...], *values: list[int]) -> Iterator[tuple[Shape, tuple[list[int], ...]]]:
    """Shapes of tiles and their values: all in one, or where a pointee stands alone each value in its own of rank 0."""
    if not set(pointees) & set(ALONE):
        yield (COUNT,), values
        return
    for row in zip(*values, strict=True):
        yield (), tuple([value] for value in row)


def moved(pointee: str, width: int) -> Iterator[dict[str, Any]]:
    kind, addresses = f"ptr<{pointee}>", codes(f"ptr<{pointee}>", f"offset{width}", COUNT)
    # Far from both ends, so that no address overflows.
    addresses = [2**50 + address for address in addresses]
    offsets = [offset % (1 << min(width, 40)) for offset in integers(width, pointee, COUNT)]
    expected = [
        (2 * address + signed(offset, width) * half_bytes(pointee)) // 2
        for address, offset in zip(addresses, offsets, strict=True)
    ]
    for shape, (a, b, c) in columns((pointee,), addresses, offsets, expected):
        yield vector("offset", [tile(kind, a, shape), tile(f"i{width}", b, shape)], [tile(kind, c, shape)])


def cast(pointee: str, other: str) -> Iterator[dict[str, Any]]:
    """An address as a number, as a pointer, and as a pointer to `other`."""
    kind, addresses = f"ptr<{pointee}>", codes(f"ptr<{pointee}>", "cast", COUNT)
    for shape, (given,) in columns((pointee,), addresses):
        yield vector("int_to_ptr", [tile("i64", given, shape)], [tile(kind, given, shape)])
        yield vector("ptr_to_int", [tile(kind, given, shape)], [tile("i64", given, shape)])
    if pointee not in ALONE:
        yield vector("ptr_to_int", [tile(kind, addresses[:1], ())], [tile("i64", addresses[:1], ())])
    for shape, (given,) in columns((pointee, other), addresses):
        yield vector("ptr_to_ptr", [tile(kind, given, shape)], [tile(f"ptr<{other}>", given, shape)])
    square = () if pointee in ALONE else (2, 4)
    given = addresses[: 1 if pointee in ALONE else COUNT]
    yield vector("ptr_to_ptr", [tile(kind, given, square)], [tile("ptr<i8>", given, square)])


def attributed(before: str, after: str) -> dict[str, Any]:
    """Attributes of pointers come and go with ptr_to_ptr; here the element is read through the one that results."""
    program = Program("ptr_to_ptr", case=f"from {before or 'no attribute'} to {after or 'no attribute'}")
    base = program.buffer("i32", [7, 9], None, before)
    kinds = [f"tile<ptr<i32{f', <{attribute}>' if attribute else ''}>>" for attribute in (before, after)]
    pointer = program.let(f"ptr_to_ptr {base} : {kinds[0]} -> {kinds[1]}")
    value, _ = program.pair(f"load_ptr_tko weak {pointer} : {kinds[1]} -> tile<i32>, token")
    program.keep(value, "i32", [7])
    return program.record()


def vectors() -> Iterator[dict[str, Any]]:
    for at, pointee in enumerate(NUMBERS):
        yield from cast(pointee, NUMBERS[at - 1])
        for width in WIDTHS:
            yield from moved(pointee, width)
    for before, after in (("", "unicast"), ("unicast", ""), ("none", ""), ("multicast", ""), ("", "none")):
        yield attributed(before, after)
