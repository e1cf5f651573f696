"""Vectors of view: loads and stores of tiles in every kind of view, inside, across and outside of the tensor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from program import Program, tensor_type, tile_type
from sample import INTEGERS, NUMBERS, codes
from view_model import INDEX_OUTSIDE, Index, View, dense, indices, matrix, padding_code, unsigned

PADDINGS = ("zero", "neg_zero", "nan", "pos_inf", "neg_inf")
SCOPES = ("tl_blk", "device", "sys")


def load(
    view: View, index: Index, edge: str, access: str = "weak", after: str = "", types: Sequence[str] = ("i32", "i32")
) -> dict[str, Any]:
    """A load of one tile; `after` is the text after the index."""
    index = unsigned(index, types)
    program = Program("load_view_tko", *_makers(view), case=_case(view, edge, access, after, types), edges=[edge])
    initial = codes(view.element, edge, view.size)
    view_value = view.make(program, program.buffer(view.element, initial, None, view.attribute))
    names, listed = indices(program, index, *types)
    if not view.contains(index):
        program.undefined(INDEX_OUTSIDE)
    outside = None if view.padding is None else padding_code(view.element, view.padding)
    expected = [outside if offset is None else initial[offset] for offset in view.offsets(index)]
    tile = tile_type(view.element, view.tile)
    loaded, _ = program.pair(
        f"load_view_tko {access} {view_value}[{names}]{after} : {view.type}, {listed} -> {tile}, token"
    )
    program.expect(loaded, view.element, expected, view.tile)
    return program.record()


def store(
    view: View, index: Index, edge: str, access: str = "weak", after: str = "", types: Sequence[str] = ("i32", "i32")
) -> dict[str, Any]:
    """A store of one tile; memory outside of the tensor, also between its rows, is unchanged."""
    index = unsigned(index, types)
    program = Program("store_view_tko", *_makers(view), case=_case(view, edge, access, after, types), edges=[edge])
    initial, offsets = codes(view.element, "held", view.size), view.offsets(index)
    # All elements of one address have the same value, so their order does not matter.
    fresh = codes(view.element, edge, len(offsets))
    written = [fresh[offsets.index(offset)] for offset in offsets]
    changed = list(initial)
    for offset, value in zip(offsets, written, strict=True):
        if offset is not None:
            changed[offset] = value
    view_value = view.make(program, program.buffer(view.element, initial, changed, view.attribute))
    names, listed = indices(program, index, *types)
    if not view.contains(index):
        program.undefined(INDEX_OUTSIDE)
    tile = program.loaded_tile(view.element, written, view.tile)
    kind = tile_type(view.element, view.tile)
    program.let(
        f"store_view_tko {access} {tile}, {view_value}[{names}]{after} : {kind}, {view.type}, {listed} -> token"
    )
    return program.record()


def _makers(view: View) -> tuple[str, str]:
    return f"make_{view.kind}", "make_tensor_view"


def _case(view: View, edge: str, access: str, after: str, types: Sequence[str]) -> str:
    parts = [access, edge, view.type, *(types if set(types) != {"i32"} else ()), after.strip()]
    return " ".join(part for part in parts if part)


def ragged(element: str, padding: str | None = None) -> Iterator[tuple[View, Index]]:
    """A tile of each kind of view that is partly outside of the tensor on two sides. f4E2M1FN needs even columns."""
    even = element == "f4E2M1FN"
    columns, gap = (6, 2) if even else (7, 1)
    yield matrix(element, 6, columns, gap, (4, 4), padding=padding), (1, 1)
    yield matrix(element, 6, columns, gap, (4, 4), steps=(3, 4 if even else 5), padding=padding), (1, 1)
    yield matrix(element, 6, columns, gap, (4, 4), sparse=0, padding=padding), ([5, 1, 9, 5], 4)


def elements() -> Iterator[dict[str, Any]]:
    for element in NUMBERS:
        for view, index in ragged(element):
            yield load(view, index, "ragged")
            yield store(view, index, "ragged")
        for padding in PADDINGS:
            if padding_code(element, padding) is not None:
                for view, index in ragged(element, padding):
                    yield load(view, index, "ragged")


def edges() -> Iterator[tuple[View, Index, str]]:
    """Views and indices for every position of a tile relative to the tensor."""
    table = matrix("i32", 6, 7, 1, (4, 2), padding="zero")
    yield table, (0, 1), "inside"
    yield table, (1, 3), "ragged"
    yield table, (2, 0), "outside"
    yield table, (0, 4), "outside"
    yield table, (-1, 0), "unsigned index"
    yield dense("i32", (3, 3), (4, 8), padding="zero"), (0, 0), "tensor within the tile"
    yield dense("f32", (5,), (4,), padding="nan"), (1,), "rank 1"
    yield dense("f32", (3, 5, 6), (2, 4, 4), padding="neg_inf"), (1, 1, 1), "rank 3"
    yield dense("i16", (2, 3, 2, 5), (2, 2, 1, 4), padding="zero"), (0, 1, 1, 1), "rank 4"
    yield dense("f32", (1,), (1,)), (0,), "one element"
    yield View("i32", (6, 7), (1, 8), (4, 2), padding="zero"), (1, 2), "columns in a row"
    yield View("i32", (4, 4), (9, 2), (4, 2), padding="zero"), (0, 1), "no unit stride"
    for permuted in ((1, 0),):
        yield matrix("i32", 6, 10, 2, (4, 2), dim_map=permuted, padding="zero"), (2, 1), "dim_map"
        yield matrix("f32", 6, 10, 2, (4, 2), dim_map=permuted, padding="nan"), (2, 3), "dim_map"
    for permuted in ((2, 0, 1), (1, 2, 0), (0, 2, 1)):
        yield dense("i32", (3, 5, 6), (4, 2, 2), dim_map=permuted, padding="zero"), (1, 1, 1), "dim_map"
    for steps in ((4, 2), (4, 3), (3, 2), (1, 1), (5, 7)):
        yield matrix("i32", 12, 13, 3, (4, 2), steps=steps, padding="zero"), (2, 1), "traversal strides"
    yield matrix("i32", 12, 13, 3, (4, 2), steps=(3, 5), padding="zero"), (3, 2), "ragged"
    yield matrix("i32", 12, 13, 3, (4, 2), steps=(3, 5), padding="zero"), (4, 0), "outside"
    yield matrix("i32", 12, 13, 3, (4, 2), steps=(3, 5), padding="zero"), (0, -1), "unsigned index"
    yield matrix("f32", 12, 10, 3, (4, 2), steps=(3, 5), dim_map=(1, 0), padding="pos_inf"), (2, 1), "dim_map"
    yield dense("f32", (11,), (4,), steps=(3,), padding="neg_zero"), (3,), "rank 1"
    yield dense("i32", (3, 5, 6), (2, 4, 4), steps=(1, 2, 5), padding="zero"), (1, 1, 1), "rank 3"
    yield from gathered()


def gathered() -> Iterator[tuple[View, Index, str]]:
    rows = matrix("i32", 6, 7, 1, (4, 2), sparse=0, padding="zero")
    columns = matrix("i32", 6, 7, 1, (4, 2), sparse=1, padding="zero")
    yield rows, ([3, 0, 5, 1], 2), "inside"
    yield rows, ([3, 3, 0, 3], 2), "repeated"
    yield rows, ([3, 6, 0, 700], 2), "index outside"
    yield rows, ([3, -1, 0, -6], 2), "unsigned index"
    yield rows, ([9, 9, 9, 9], 2), "outside"
    yield rows, ([3, 0, 5, 1], 6), "ragged"
    yield rows, ([3, 0, 5, 1], 7), "outside"
    yield rows, ([3, 0, 5, 1], 3), "dense index counts elements"
    yield columns, (2, [5, 0]), "inside"
    yield columns, (2, [5, 5]), "repeated"
    yield columns, (1, [5, 8]), "index outside"
    yield columns, (3, [-1, 0]), "unsigned index"
    yield columns, (4, [6, 0]), "ragged"
    yield columns, (5, [1, 2]), "dense index counts elements"
    yield dense("f32", (7,), (4,), sparse=0, padding="nan"), ([6, 2, 7, 2],), "rank 1"
    yield dense("f32", (3, 5, 6), (2, 4, 4), sparse=1, padding="pos_inf"), (1, [4, 0, 9, 2], 3), "rank 3"


# Types of the two indices.
INDEX_TYPES = (("i8", "i8"), ("i16", "i16"), ("i64", "i64"), ("i32", "i64"), ("i64", "i8"), ("i16", "i32"))


def index_types() -> Iterator[dict[str, Any]]:
    table = matrix("i32", 6, 7, 1, (4, 2), padding="zero")
    strided = matrix("i32", 6, 7, 1, (4, 2), steps=(2, 3), padding="zero")
    rows = matrix("i32", 6, 7, 1, (4, 2), sparse=0, padding="zero")
    for act in (load, store):
        for types in (("i1", "i1"), ("i8", "i8"), ("i16", "i16"), ("i64", "i64")):
            yield act(table, (1, 1), "ragged" if act is load else "inside", types=types)
            yield act(strided, (1, 1), "inside", types=types)
        for types in INDEX_TYPES:
            yield act(rows, ([3, 0, 9, 1], 2), "index outside", types=types)
        for types in (("i8", "i8"), ("i16", "i16"), ("i64", "i64")):
            yield act(table, (-1, 0), "unsigned index", types=types)
        yield act(matrix("i32", 2, 7, 1, (4, 2), sparse=0), ([1, 0, 0, 1], 1), "repeated", types=("i1", "i1"))


def accesses() -> Iterator[dict[str, Any]]:
    for view, index in ragged("f32", "zero"):
        for scope in SCOPES:
            yield load(view, index, "ragged", f"relaxed {scope}")
            yield load(view, index, "ragged", f"acquire {scope}")
            yield store(view, index, "ragged", f"relaxed {scope}")
            yield store(view, index, "ragged", f"release {scope}")
        for act in (load, store):
            hints = " optimization_hints = <sm_100 = {allow_tma = false, latency = 3}, default = {latency = 1}>"
            yield act(view, index, "ragged", after=hints)
            yield act(view, index, "ragged", after=" inbounds = [false, false]")


def inbounds_assumptions() -> Iterator[dict[str, Any]]:
    """Valid `inbounds` attributes for one index and for all indices."""
    table = matrix("i32", 6, 7, 1, (4, 2), padding="zero")
    for act in (load, store):
        yield act(table, (0, 3), "ragged", after=" inbounds = [true, false]")
        yield act(table, (1, 1), "ragged", after=" inbounds = [false, true]")
        yield act(table, (0, 1), "inside", after=" inbounds = [true, true]")
        strided = matrix("i32", 6, 7, 1, (4, 2), steps=(2, 3), padding="zero")
        yield act(strided, (1, 2), "ragged", after=" inbounds = [true, false]")
        rows = matrix("i32", 6, 7, 1, (4, 2), sparse=0, padding="zero")
        yield act(rows, ([3, 0, 5, 1], 6), "ragged", after=" inbounds = [true, false]")
        yield act(rows, ([3, 0, 9, 1], 5), "index outside", after=" inbounds = [false, true]")


def dynamic() -> Iterator[dict[str, Any]]:
    """Extents and strides passed as operands, unsigned."""
    for element in ("i8", "i16", "i32", "i64"):
        for act in (load, store):
            yield act(matrix("f32", 6, 7, 1, (4, 2), padding="nan", dynamic=element), (1, 3), "ragged")
            yield act(matrix("i32", 6, 7, 1, (4, 2), steps=(3, 5), dynamic=element), (1, 1), "ragged")
            yield act(matrix("i32", 6, 7, 1, (4, 2), sparse=0, dynamic=element), ([3, 0, 9, 1], 2), "index outside")
            yield act(dense("i32", (200,), (4,), dynamic=element), (49,), "inside")
    yield load(matrix("i32", 1, 1, 0, (1, 1), dynamic="i1"), (0, 0), "inside")


def attributed() -> Iterator[dict[str, Any]]:
    """Attributes of pointers do not change results on one device."""
    for attribute in ("none", "unicast"):
        for act in (load, store):
            yield act(matrix("f32", 6, 7, 1, (4, 2), padding="zero", attribute=attribute), (1, 3), "ragged")


def ordered() -> Iterator[dict[str, Any]]:
    """A store, a load after the token of the store, and a store to the same tile after the token of the load."""
    for view, index in ragged("i32", "zero"):
        program = Program("store_view_tko", "load_view_tko", case=f"a chain of tokens {view.kind}")
        offsets = view.offsets(index)
        first = [7 * (offsets.index(offset) + 1) for offset in offsets]
        second = [11 * (offsets.index(offset) + 1) for offset in offsets]
        after = [0] * view.size
        for offset, value in zip(offsets, second, strict=True):
            if offset is not None:
                after[offset] = value
        view_value = view.make(program, program.buffer("i32", [0] * view.size, after))
        names, listed = indices(program, index, "i32", "i32")
        tile, token = tile_type("i32", view.tile), ""
        for values in (first, second):
            stored = program.loaded_tile("i32", values, view.tile)
            types = f"{tile}, {view.type}, {listed}"
            token = program.let(f"store_view_tko weak {stored}, {view_value}[{names}]{token} : {types} -> token")
            if values is first:
                types = f"{view.type}, {listed} -> {tile}, token"
                loaded, token = program.pair(f"load_view_tko weak {view_value}[{names}] token = {token} : {types}")
                token = f" token = {token}"
        program.expect(loaded, "i32", [0 if p is None else x for p, x in zip(offsets, first, strict=True)], view.tile)
        yield program.record()


def shapes() -> Iterator[dict[str, Any]]:
    """Shapes of tensors and of index spaces, with extents above the signed range of their type."""
    largest = {"i1": 1, "i8": 255, "i16": 65535, "i32": 2**32 - 1, "i64": 2**40}
    for element in INTEGERS:
        for extent_type in (None, "i64"):
            extents = (largest[element], 1) if element == "i1" else (largest[element], 9)
            view = View("f32", extents, (9, 1), (4, 2), dynamic=extent_type)
            yield _numbers("get_tensor_shape", view, view.tensor, view.tensor, list(extents), element)
    for extent_type, extent in (("i8", 200), ("i16", 50000), ("i32", 3000000000)):
        view = View("f32", (extent, 9), (9, 1), (4, 2), dynamic=extent_type)
        yield _numbers("get_tensor_shape", view, f"of {extent_type} {view.tensor}", view.tensor, [extent, 9], "i64")
    tensors: list[dict[str, Any]] = [{}, {"steps": (5, 3)}, {"sparse": 0}, {"sparse": 1}, {"dim_map": (1, 0)}]
    tensors.append({"steps": (4, 3), "dim_map": (1, 0)})
    for more in tensors:
        for element in INTEGERS:
            small = element == "i1"
            for extent_type in (None, "i32") if element == "i32" else (None,):
                extents = (1, 1) if small else (64, 16)
                view = View("f32", extents, (extents[1], 1), (4, 2), dynamic=extent_type, **more)
                yield _numbers("get_index_space_shape", view, view.type, view.type, view.index_space(), element)


def _numbers(operation: str, view: View, case: str, kind: str, expected: list[int], element: str) -> dict[str, Any]:
    program = Program(operation, case=f"{element} {case}")
    base = program.buffer("f32", [0])
    if operation == "get_tensor_shape":
        view_value = view.make_tensor(program, base)
    else:
        view_value = view.make(program, base)
    first, second = program.pair(f"{operation} {view_value} : {kind} -> {tile_type(element)}")
    program.expect(first, element, expected[:1])
    program.expect(second, element, expected[1:])
    return program.record()


def scalar_tensor() -> dict[str, Any]:
    """make_tensor_view of rank 0; no view exists for such a tensor."""
    program = Program("make_tensor_view", case="rank 0")
    base = program.buffer("f32", [0x3F800000])
    program.let(f"make_tensor_view {base}, shape = [], strides = [] : {tensor_type('f32', (), ())}")
    return program.record()


def vectors() -> Iterator[dict[str, Any]]:
    yield from elements()
    for view, index, edge in edges():
        yield load(view, index, edge)
        yield store(view, index, edge)
    yield from index_types()
    yield from accesses()
    yield from inbounds_assumptions()
    yield from dynamic()
    yield from attributed()
    yield from ordered()
    yield from shapes()
    yield scalar_tensor()
