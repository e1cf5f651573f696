"""Vectors of addresses: pointer arithmetic, and conversions of pointers to integers and other pointers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from integer_vectors import WIDTHS, signed
from program import Program
from rational import FORMATS
from sample import NUMBERS, codes, integers
from vector import tile, vector

COUNT = 8
# Pointees whose pointers exist only in tiles of rank 0.
ALONE = ("f4E2M1FN",)
Shape = tuple[int, ...]


def half_bytes(pointee: str) -> int:
    """The size of an element in memory in half bytes: an i1 has a byte, two f4E2M1FN share a byte."""
    if pointee == "i1":
        return 2
    return (FORMATS[pointee].stored if pointee in FORMATS else int(pointee[1:])) // 4


def columns(pointees: tuple[str, ...], *values: list[int]) -> Iterator[tuple[Shape, tuple[list[int], ...]]]:
    """Shapes of tiles and their values: one tile of all values, or one tile of rank 0 per value for types of ALONE."""
    if not set(pointees) & set(ALONE):
        yield (COUNT,), values
        return
    for row in zip(*values, strict=True):
        yield (), tuple([value] for value in row)


def moved(pointee: str, width: int) -> Iterator[dict[str, Any]]:
    kind, addresses = f"ptr<{pointee}>", codes(f"ptr<{pointee}>", f"offset{width}", COUNT)
    # Addresses in the middle of the address space, so that none overflows.
    addresses = [2**50 + address for address in addresses]
    offsets = [offset % (1 << min(width, 40)) for offset in integers(width, pointee, COUNT)]
    expected = [
        (2 * address + signed(offset, width) * half_bytes(pointee)) // 2
        for address, offset in zip(addresses, offsets, strict=True)
    ]
    for shape, (a, b, c) in columns((pointee,), addresses, offsets, expected):
        yield vector("offset", [tile(kind, a, shape), tile(f"i{width}", b, shape)], [tile(kind, c, shape)])


def cast(pointee: str, other: str) -> Iterator[dict[str, Any]]:
    """Conversions of an address to an integer, a pointer, and a pointer to `other`."""
    kind, addresses = f"ptr<{pointee}>", codes(f"ptr<{pointee}>", "cast", COUNT)
    for shape, (bits,) in columns((pointee,), addresses):
        yield vector("int_to_ptr", [tile("i64", bits, shape)], [tile(kind, bits, shape)])
        yield vector("ptr_to_int", [tile(kind, bits, shape)], [tile("i64", bits, shape)])
    if pointee not in ALONE:
        yield vector("ptr_to_int", [tile(kind, addresses[:1], ())], [tile("i64", addresses[:1], ())])
    for shape, (bits,) in columns((pointee, other), addresses):
        yield vector("ptr_to_ptr", [tile(kind, bits, shape)], [tile(f"ptr<{other}>", bits, shape)])
    square = () if pointee in ALONE else (2, 4)
    bits = addresses[: 1 if pointee in ALONE else COUNT]
    yield vector("ptr_to_ptr", [tile(kind, bits, square)], [tile("ptr<i8>", bits, square)])


def attributed(before: str, after: str) -> dict[str, Any]:
    """ptr_to_ptr adds or removes an attribute of a pointer; the element is loaded through the result."""
    program = Program("ptr_to_ptr", case=f"from {before or 'no attribute'} to {after or 'no attribute'}")
    base = program.buffer("i32", [7, 9], None, before)
    kinds = [f"tile<ptr<i32{f', <{attribute}>' if attribute else ''}>>" for attribute in (before, after)]
    pointer = program.let(f"ptr_to_ptr {base} : {kinds[0]} -> {kinds[1]}")
    value, _ = program.pair(f"load_ptr_tko weak {pointer} : {kinds[1]} -> tile<i32>, token")
    program.expect(value, "i32", [7])
    return program.record()


def vectors() -> Iterator[dict[str, Any]]:
    for at, pointee in enumerate(NUMBERS):
        yield from cast(pointee, NUMBERS[at - 1])
        for width in WIDTHS:
            yield from moved(pointee, width)
    for before, after in (("", "unicast"), ("unicast", ""), ("none", ""), ("multicast", ""), ("", "none")):
        yield attributed(before, after)
