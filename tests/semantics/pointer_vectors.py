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


def half_bytes(pointee: str) -> int:
    """The size of an element in memory: i1 has a byte of its own, two of f4E2M1FN share one."""
    if pointee == "i1":
        return 2
    return (FORMATS[pointee].stored if pointee in FORMATS else int(pointee[1:])) // 4


def moved(pointee: str, width: int) -> dict[str, Any]:
    kind, addresses = f"ptr<{pointee}>", codes(f"ptr<{pointee}>", f"offset{width}", COUNT)
    # Far from both ends, so that no address overflows.
    addresses = [2**50 + address for address in addresses]
    offsets = [offset % (1 << min(width, 40)) for offset in integers(width, pointee, COUNT)]
    expected = [
        (2 * address + signed(offset, width) * half_bytes(pointee)) // 2
        for address, offset in zip(addresses, offsets, strict=True)
    ]
    return vector("offset", [tile(kind, addresses), tile(f"i{width}", offsets)], [tile(kind, expected)])


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
        kind, addresses = f"ptr<{pointee}>", codes(f"ptr<{pointee}>", "cast", COUNT)
        yield vector("int_to_ptr", [tile("i64", addresses)], [tile(kind, addresses)])
        yield vector("ptr_to_int", [tile(kind, addresses)], [tile("i64", addresses)])
        yield vector("ptr_to_int", [tile(kind, addresses[:1], ())], [tile("i64", addresses[:1], ())])
        other = f"ptr<{NUMBERS[at - 1]}>"
        yield vector("ptr_to_ptr", [tile(kind, addresses)], [tile(other, addresses)])
        yield vector("ptr_to_ptr", [tile(kind, addresses, (2, 4))], [tile("ptr<i8>", addresses, (2, 4))])
        for width in WIDTHS:
            yield moved(pointee, width)
    for before, after in (("", "unicast"), ("unicast", ""), ("none", ""), ("multicast", ""), ("", "none")):
        yield attributed(before, after)
