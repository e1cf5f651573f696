"""Vectors of assume: valid assumptions, which have no effect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from program import Program, Shape, pointer_type, tile_type
from sample import INTEGERS, NUMBERS, codes
from view_model import dense


def assumed(predicate: str, element: str, values: Sequence[int], shape: Shape) -> dict[str, Any]:
    program = Program("assume", case=f"{predicate} {tile_type(element, shape)}")
    bits = [value % (1 << int(element[1:])) for value in values]
    result = program.let(
        f"assume {predicate}, {program.loaded_tile(element, bits, shape)} : {tile_type(element, shape)}"
    )
    program.expect(result, element, bits, shape)
    return program.record()


def assumed_pointer(pointee: str) -> dict[str, Any]:
    """The divisor of a pointer is in bytes."""
    program = Program("assume", case=f"div_by<16> {pointer_type(pointee)}")
    initial = codes(pointee, "assumed", 4)
    base = program.buffer(pointee, initial)
    result = program.let(f"assume div_by<16>, {base} : {pointer_type(pointee)}")
    view, kind = program.whole_view(result, pointee, (4,))
    zero = program.constant("i32", 0)
    types = f"{kind}, tile<i32> -> {tile_type(pointee, (4,))}, token"
    value, _ = program.pair(f"load_view_tko weak {view}[{zero}] : {types}")
    program.expect(value, pointee, initial, (4,))
    return program.record()


def assumed_view() -> dict[str, Any]:
    program = Program("assume", case="div_by<16> tensor_view")
    view = dense("f32", (8,), (4,))
    initial = codes("f32", "assumed", 8)
    tensor = program.let(
        f"assume div_by<16>, {view.make_tensor(program, program.buffer('f32', initial))} : {view.tensor}"
    )
    view_value = program.let(f"make_partition_view {tensor} : {view.type}")
    one = program.constant("i32", 1)
    value, _ = program.pair(f"load_view_tko weak {view_value}[{one}] : {view.type}, tile<i32> -> tile<4xf32>, token")
    program.expect(value, "f32", initial[4:], (4,))
    return program.record()


def vectors() -> Iterator[dict[str, Any]]:
    for element in INTEGERS[1:]:
        yield assumed("div_by<8>", element, [16], ())
        yield assumed("div_by<8>", element, [16, -8, 0, 24], (4,))
        yield assumed("div_by<8, every 4 along 0>", element, [16, 17, 18, 19, -8, -7, -6, -5], (8,))
        yield assumed("div_by<4611686018427387904>", element, [0, 0], (2,))
        yield assumed("div_by<8, every 3 along 0>", element, [8, 9, 10, 16], (4,))
        yield assumed("div_by<16, every 2 along 1>", element, [16, 17, 32, 33, 0, 1, -16, -15], (2, 4))
        yield assumed("same_elements<[2]>", element, [5, 5, 6, 6], (4,))
        yield assumed("same_elements<[2, 4]>", element, [5, 5, 5, 5, 5, 5, 5, 5], (2, 4))
        yield assumed("same_elements<[0, 2]>", element, [1, 1, 2, 2, 3, 3, 4, 4], (2, 4))
        for bounds in ("-5, 16", "-5, ?", "?, 16", "?, ?"):
            yield assumed(f"bounded<{bounds}>", element, [-5, 16, 0, 3], (4,))
        yield assumed("bounded<3, 3>", element, [3], ())
    yield assumed("div_by<1>", "i1", [1, 0], (2,))
    yield assumed("same_elements<[2]>", "i1", [1, 1, 0, 0], (4,))
    yield assumed("bounded<-1, 0>", "i1", [1, 0], (2,))
    for pointee in NUMBERS:
        yield assumed_pointer(pointee)
    yield assumed_view()
