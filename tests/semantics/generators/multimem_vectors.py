"""Vectors of multimem on one device: a reduction over one device is the value of that device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from atomic_vectors import MODES, numbers
from program import Program, tile_type
from sample import codes
from view_model import Index, View, indices, matrix

INTEGERS, FLOATS = ("i32", "i64"), ("f16", "bf16", "f32", "f64")
SCOPES = ("tl_blk", "device", "sys")
ONE_DEVICE = {"choice": "multimem on one device"}
# Reductions and their element types.
KINDS = {"add": (*INTEGERS, *FLOATS), "min": INTEGERS, "max": INTEGERS, "and": INTEGERS, "or": INTEGERS}
KINDS |= {"xor": INTEGERS, "umin": INTEGERS, "umax": INTEGERS}


def view_of(element: str, **more: Any) -> View:
    return matrix(element, 6, 7, 1, (4, 4), attribute="multicast", **more)


def pairs_of(element: str) -> View:
    """A view whose elements of 16 bits can be accessed in pairs: extents and strides are even."""
    return matrix(element, 6, 6, 2, (4, 4), attribute="multicast")


def base_of(program: Program, view: View, before: list[int], after: list[int] | None) -> str:
    """A new buffer; the program states its alignment if the rows of the view have whole pairs."""
    base = program.buffer(view.element, before, after, "multicast")
    if view.shape[1] % 2:
        return base
    return program.let(f"assume div_by<16>, {base} : {tile_type(f'ptr<{view.element}, <multicast>>')}")


def attributes(reduction: str | None) -> str:
    """The default reduction is add."""
    return "" if reduction is None else f" attributes {{reduction = #cuda_tile.multimem_reduction_kind<{reduction}>}}"


def program_of(operation: str, view: View, index: Index, *parts: str) -> Program:
    return Program(operation, case=" ".join([*parts, view.type, str(list(index))]), **ONE_DEVICE)


def load(
    view: View, index: Index, reduction: str | None = None, access: str = "relaxed device", after: str = ""
) -> dict[str, Any]:
    program = program_of("multimem_load_reduce_view_tko", view, index, access, reduction or "", after)
    initial = codes(view.element, "held", view.size)
    view_value = view.make(program, base_of(program, view, initial, None))
    names, listed = indices(program, index, "i32", "i32")
    tile, inbounds = tile_type(view.element, view.tile), after or " inbounds = [false, false]"
    line = f"multimem_load_reduce_view_tko {access} {view_value}[{names}]{inbounds}{attributes(reduction)}"
    value, _ = program.pair(f"{line} : {view.type}, {listed} -> {tile}, token")
    program.expect(value, view.element, [None if p is None else initial[p] for p in view.offsets(index)], view.tile)
    return program.record()


def reduce(
    view: View, index: Index, reduction: str | None = None, access: str = "relaxed device", after: str = ""
) -> dict[str, Any]:
    mode = "addf" if view.element in FLOATS else reduction or "add"
    offsets = view.offsets(index)
    initial, values = numbers(view.element, "held", view.size, mode), numbers(view.element, "given", len(offsets), mode)
    changed = list(initial)
    for offset, value in zip(offsets, values, strict=True):
        if offset is not None:
            changed[offset] = MODES[mode](initial[offset], value, view.element)
    parts = (access, reduction or "", after)
    return _written("multimem_reduce_view_tko", view, index, initial, values, changed, parts, attributes(reduction))


def store(view: View, index: Index, access: str = "weak", after: str = "") -> dict[str, Any]:
    offsets = view.offsets(index)
    initial, values = codes(view.element, "held", view.size), codes(view.element, "given", len(offsets))
    changed = list(initial)
    for offset, value in zip(offsets, values, strict=True):
        if offset is not None:
            changed[offset] = value
    return _written("multimem_store_view_tko", view, index, initial, values, changed, (access, after), "")


def _written(operation, view, index, initial, values, changed, parts, attributes) -> dict[str, Any]:
    program = program_of(operation, view, index, *parts)
    view_value = view.make(program, base_of(program, view, initial, changed))
    tile = program.loaded_tile(view.element, values, view.tile)
    names, listed = indices(program, index, "i32", "i32")
    inbounds = parts[-1] or " inbounds = [false, false]"
    types = f"{view.type}, {tile_type(view.element, view.tile)}, {listed}"
    program.let(f"{operation} {parts[0]} {view_value}, {tile}[{names}]{inbounds}{attributes} : {types} -> token")
    return program.record()


def ordered() -> dict[str, Any]:
    """A store, a reduction into it and a load of the result, each after the token of the one before."""
    operations = [f"multimem_{name}_view_tko" for name in ("store", "reduce", "load_reduce")]
    program = Program(*operations, case="a chain of tokens", **ONE_DEVICE)
    view = matrix("i32", 4, 4, 0, (4, 4), attribute="multicast")
    values = codes("i32", "given", 16)
    doubled = [2 * value % 2**32 for value in values]
    view_value = view.make(program, program.buffer("i32", None, doubled, "multicast"))
    tile, zero = program.loaded_tile("i32", values, (4, 4)), program.constant("i32", 0)
    types, flags = f"{view.type}, tile<4x4xi32>, tile<i32> -> token", " inbounds = [true, true]"
    start = program.let("make_token : token")
    index_and_token = f"[{zero}, {zero}] token = "
    token = program.let(f"{operations[0]} weak {view_value}, {tile}{index_and_token}{start}{flags} : {types}")
    token = program.let(f"{operations[1]} relaxed device {view_value}, {tile}{index_and_token}{token}{flags} : {types}")
    types = f"{view.type}, tile<i32> -> tile<4x4xi32>, token"
    value, _ = program.pair(f"{operations[2]} weak {view_value}{index_and_token}{token}{flags} : {types}")
    program.expect(value, "i32", doubled, (4, 4))
    return program.record()


def vectors() -> Iterator[dict[str, Any]]:
    inside, ragged = (0, 0), (1, 1)
    for reduction, elements in KINDS.items():
        halves = ("f16", "bf16") if reduction in ("min", "max") else ()
        for element in (*elements, *halves):
            yield load(view_of(element), ragged, reduction)
        for element in elements:
            yield reduce(view_of(element), ragged, reduction)
    for element in (*INTEGERS, *FLOATS):
        yield load(view_of(element), inside)
        yield reduce(view_of(element), inside)
        yield store(view_of(element), inside)
        yield store(view_of(element), ragged)
    for element in ("f16", "bf16"):
        for reduction in (None, "min", "max"):
            yield load(pairs_of(element), ragged, reduction)
        yield load(pairs_of(element), inside)
        for index in (inside, ragged):
            yield reduce(pairs_of(element), index)
            yield store(pairs_of(element), index)
    for scope in SCOPES:
        yield load(view_of("f32"), ragged, "add", f"relaxed {scope}")
        yield load(view_of("f32"), ragged, "add", f"acquire {scope}")
        yield reduce(view_of("i32"), ragged, "xor", f"relaxed {scope}")
        yield reduce(view_of("i32"), ragged, "xor", f"release {scope}")
        yield store(view_of("f32"), ragged, f"relaxed {scope}")
        yield store(view_of("f32"), ragged, f"release {scope}")
    yield load(view_of("f32"), ragged, "add", "weak")
    for act in (load, reduce, store):
        yield act(view_of("i64"), inside, after=" inbounds = [true, true]")
        yield act(view_of("i64", dim_map=(1, 0)), ragged)
    yield ordered()
