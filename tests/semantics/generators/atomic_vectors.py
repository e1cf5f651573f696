"""Vectors of atomic: memory before and after, and the old values if the order of equal addresses does not matter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from float_vectors import add
from integer_vectors import signed
from program import Program, pointer_type, tile_type
from rational import FORMATS, decode, encode
from sample import codes
from view_model import INDEX_OUTSIDE, Index, View, indices, matrix

COUNT = 8
# Tile blocks in contention for the same memory.
BLOCKS = 12
SCATTERED = (3, 0, 7, 1, 2, 5, 6, 4)
MASK = (1, 0, 1, 1, 0, 0, 1, 0)
ORDERINGS = ("relaxed", "acquire", "release", "acq_rel")
SCOPES = ("tl_blk", "device", "sys")


def add_floats(a: int, b: int, element: str) -> int:
    form = FORMATS[element]
    return encode(form, add(decode(form, a), decode(form, b), "nearest_even"))


def _width(element: str) -> int:
    return int(element[1:])


MODES: dict[str, Callable[[int, int, str], int]] = {
    "and": lambda a, b, _: a & b,
    "or": lambda a, b, _: a | b,
    "xor": lambda a, b, _: a ^ b,
    "add": lambda a, b, element: (a + b) % (1 << _width(element)),
    "addf": add_floats,
    "max": lambda a, b, element: max(a, b, key=lambda x: signed(x, _width(element))),
    "min": lambda a, b, element: min(a, b, key=lambda x: signed(x, _width(element))),
    "umax": lambda a, b, _: max(a, b),
    "umin": lambda a, b, _: min(a, b),
    "xchg": lambda _, b, __: b,
}
ELEMENTS = {"addf": ("f16", "bf16", "f32", "f64"), "xchg": ("i32", "i64", "f32", "f64")}
PAIRS = [(mode, element) for mode in MODES for element in ELEMENTS.get(mode, ("i32", "i64"))]


def numbers(element: str, seed: str, count: int, mode: str) -> list[int]:
    """Bit patterns; values near one for sums of floats, because subnormals may be flushed (PTX ISA, atom.add.f32)."""
    if mode != "addf":
        return codes(element, seed, count)
    form = FORMATS[element]
    values = [Fraction(signed(code, 16), 2**12) for code in codes("i16", seed, count)]
    return [encode(form, (int(value < 0), abs(value))) for value in values]


def distinct_addresses(mode: str, element: str, masked: bool, access: str = "relaxed device") -> dict[str, Any]:
    """Distinct addresses, each updated once."""
    program = Program("atomic_rmw_tko", case=f"{access} {mode} {element}{' masked' if masked else ''}")
    initial, updates = numbers(element, f"held{mode}", COUNT, mode), numbers(element, f"given{mode}", COUNT, mode)
    after, old = list(initial), []
    for offset, value, active in zip(SCATTERED, updates, MASK, strict=True):
        old.append(initial[offset] if active or not masked else None)
        if active or not masked:
            after[offset] = MODES[mode](initial[offset], value, element)
    pointers = program.pointers(program.buffer(element, initial, after), element, SCATTERED)
    operands = [pointers, mode, program.loaded_tile(element, updates, (COUNT,))]
    types = [pointer_type(element, (COUNT,)), tile_type(element, (COUNT,))]
    if masked:
        operands.append(program.loaded_tile("i1", MASK, (COUNT,)))
        types.append(tile_type("i1", (COUNT,)))
    line = f"atomic_rmw_tko {access} {', '.join(operands)} : {', '.join(types)} -> {types[1]}, token"
    program.expect(program.pair(line)[0], element, old, (COUNT,))
    return program.record()


def shared_addresses(mode: str, element: str) -> dict[str, Any]:
    """All elements update two addresses in any order, so the old values are unspecified. Sums of floats are exact."""
    program = Program("atomic_rmw_tko", case=f"repeated {mode} {element}", edges=["repeated"])
    exact = mode == "addf"
    updates, before = codes(element, mode, COUNT), codes(element, "held", 2)
    if exact:
        updates = [encode(FORMATS[element], (0, Fraction(at))) for at in range(COUNT)]
        before = [encode(FORMATS[element], (0, Fraction(3)))] * 2
    offsets, after = (1, 0, 1, 1, 0, 1, 0, 1), list(before)
    for offset, value in zip(offsets, updates, strict=True):
        after[offset] = MODES[mode](after[offset], value, element)
    pointers = program.pointers(program.buffer(element, before, after), element, offsets)
    types = f"{pointer_type(element, (COUNT,))}, {tile_type(element, (COUNT,))}"
    operands = f"{pointers}, {mode}, {program.loaded_tile(element, updates, (COUNT,))}"
    program.pair(f"atomic_rmw_tko relaxed device {operands} : {types} -> {tile_type(element, (COUNT,))}, token")
    return program.record()


def contention(mode: str, element: str) -> dict[str, Any]:
    """Every tile block updates the same two addresses with all its elements. Sums of floats are exact."""
    program = Program("atomic_rmw_tko", case=f"{BLOCKS} blocks {mode} {element}", edges=["repeated"], grid=(BLOCKS,))
    updates, before = codes(element, f"blocks{mode}", COUNT), codes(element, "held", 2)
    if mode == "addf":
        updates = [encode(FORMATS[element], (0, Fraction(at))) for at in range(COUNT)]
        before = [encode(FORMATS[element], (0, Fraction(3)))] * 2
    offsets, after = (1, 0, 1, 1, 0, 1, 0, 1), list(before)
    for offset, value in list(zip(offsets, updates, strict=True)) * BLOCKS:
        after[offset] = MODES[mode](after[offset], value, element)
    pointers = program.pointers(program.buffer(element, before, after), element, offsets)
    types = f"{pointer_type(element, (COUNT,))}, {tile_type(element, (COUNT,))}"
    operands = f"{pointers}, {mode}, {program.loaded_tile(element, updates, (COUNT,))}"
    program.pair(f"atomic_rmw_tko relaxed device {operands} : {types} -> {tile_type(element, (COUNT,))}, token")
    return program.record()


def numbered_blocks() -> dict[str, Any]:
    """Each tile block takes the next number, and stores it at the element of that number."""
    program = Program("atomic_rmw_tko", case=f"{BLOCKS} blocks take numbers", grid=(BLOCKS,))
    counter = program.buffer("i32", [0], [BLOCKS])
    taken = program.buffer("i32", None, list(range(BLOCKS)))
    one = program.constant("i32", 1)
    types = f"{pointer_type('i32')}, {tile_type('i32')} -> {tile_type('i32')}, token"
    number, _ = program.pair(f"atomic_rmw_tko acq_rel device {counter}, add, {one} : {types}")
    kind = pointer_type("i32")
    program.store(program.let(f"offset {taken}, {number} : {kind}, {tile_type('i32')} -> {kind}"), number, "i32")
    return program.record()


def locked_blocks() -> dict[str, Any]:
    """Each tile block waits for a lock, increments a number without atomics, and releases the lock."""
    program = Program("atomic_cas_tko", "atomic_rmw_tko", case=f"{BLOCKS} blocks share a lock", grid=(BLOCKS,))
    lock, count = program.buffer("i32", [0], [0]), program.buffer("i32", [5], [5 + BLOCKS])
    zero, one = program.constant("i32", 0), program.constant("i32", 1)
    start = program.let("make_token : token")
    swap = f"{pointer_type('i32')}, {tile_type('i32')} -> {tile_type('i32')}, token"
    for line in (
        f"%taken = loop iter_values(%last = {start}) : token -> token {{",
        f"%old, %done = atomic_cas_tko acquire device {lock}, {zero}, {one} token=%last : {swap}",
        f"%free = cmpi equal %old, {zero}, signed : {tile_type('i32')} -> {tile_type('i1')}",
        "if %free { break %done : token }",
        "continue %done : token",
        "}",
    ):
        program.line(line)
    before, loaded = program.load(count, "i32", "%taken")
    after = program.let(f"addi {before}, {one} : {tile_type('i32')}")
    joined = program.let(f"join_tokens %taken, {loaded} : token")
    stored = program.store(count, after, "i32", joined)
    program.pair(f"atomic_rmw_tko release device {lock}, xchg, {zero} token={stored} : {swap}")
    return program.record()


def chain(mode: str, element: str) -> dict[str, Any]:
    """Two operand of one element and a load, ordered by tokens."""
    program = Program("atomic_rmw_tko", case=f"a chain of tokens, {mode} {element}")
    initial, first, second = numbers(element, f"chain{mode}", 3, mode)
    middle = MODES[mode](initial, first, element)
    last = MODES[mode](middle, second, element)
    pointer = program.buffer(element, [initial], [last])
    token, old = "", []
    for value in (first, second):
        operand = program.loaded_tile(element, [value], ())
        types = f"{pointer_type(element)}, {tile_type(element)} -> {tile_type(element)}, token"
        line = f"atomic_rmw_tko acq_rel sys {pointer}, {mode}, {operand}{token} : {types}"
        result, done = program.pair(line)
        token = f" token={done}"
        old.append(result)
    final, _ = program.load(pointer, element, done)
    for value, bits in zip((*old, final), (initial, middle, last), strict=True):
        program.expect(value, element, [bits])
    return program.record()


def compare_and_swap(element: str, masked: bool, access: str = "relaxed device") -> dict[str, Any]:
    """Every second comparison succeeds; NaN equals itself, and the zeros differ."""
    program = Program("atomic_cas_tko", case=f"{access} {element}{' masked' if masked else ''}")
    initial, fresh = codes(element, "cas", COUNT), codes(element, "fresh", COUNT)
    if element in FORMATS:
        top = 1 << FORMATS[element].stored - 1
        initial[SCATTERED[0]], initial[SCATTERED[1]] = 0, top
        initial[SCATTERED[2]] = ((1 << FORMATS[element].exponent_bits + 1) - 1) << FORMATS[element].fraction_bits - 1
        compared = [initial[offset] ^ (top if at % 2 else 0) for at, offset in enumerate(SCATTERED)]
    else:
        compared = [initial[offset] ^ at % 2 for at, offset in enumerate(SCATTERED)]
    after, old = list(initial), []
    for at, offset in enumerate(SCATTERED):
        here = bool(MASK[at]) or not masked
        old.append(initial[offset] if here else compared[at])
        if here and initial[offset] == compared[at]:
            after[offset] = fresh[at]
    pointers = program.pointers(program.buffer(element, initial, after), element, SCATTERED)
    operands = [
        pointers,
        program.loaded_tile(element, compared, (COUNT,)),
        program.loaded_tile(element, fresh, (COUNT,)),
    ]
    types = [pointer_type(element, (COUNT,)), tile_type(element, (COUNT,))]
    if masked:
        operands.append(program.loaded_tile("i1", MASK, (COUNT,)))
        types.append(tile_type("i1", (COUNT,)))
    line = f"atomic_cas_tko {access} {', '.join(operands)} : {', '.join(types)} -> {types[1]}, token"
    program.expect(program.pair(line)[0], element, old, (COUNT,))
    return program.record()


def compare_and_swap_after_a_store(element: str) -> dict[str, Any]:
    """A store, and a compare-and-swap after its token."""
    program = Program("atomic_cas_tko", case=f"after a token, {element}")
    first, second = codes(element, "after", 16)[8:10]
    pointer = program.buffer(element, None, [second])
    one, two = program.loaded_tile(element, [first], ()), program.loaded_tile(element, [second], ())
    token = program.store(pointer, one, element)
    types = f"{pointer_type(element)}, {tile_type(element)} -> {tile_type(element)}, token"
    old, _ = program.pair(f"atomic_cas_tko acquire device {pointer}, {one}, {two} token={token} : {types}")
    program.expect(old, element, [first])
    return program.record()


def view_reduction(
    view: View, index: Index, mode: str, edge: str, scope: str = "device", after: str = "", types=("i32", "i32")
) -> dict[str, Any]:
    """An update of a tile of a view; elements outside the tensor and between its rows are unchanged."""
    description = f"{scope} {mode} {edge} {view.type} {types[0]}{after}"
    program = Program("atomic_red_view_tko", case=description, edges=[edge])
    offsets = view.offsets(index)
    initial = numbers(view.element, f"held{mode}", view.size, mode)
    updates = numbers(view.element, f"given{mode}", len(offsets), mode)
    changed = list(initial)
    for offset, value in zip(offsets, updates, strict=True):
        if offset is not None:
            changed[offset] = MODES[mode](changed[offset], value, view.element)
    view_value = view.make(program, program.buffer(view.element, initial, changed))
    names, listed = indices(program, index, *types)
    if not view.contains(index):
        program.undefined(INDEX_OUTSIDE)
    tile = program.loaded_tile(view.element, updates, view.tile)
    operands = f"{view_value}[{names}], {mode}, {tile}{after}"
    kinds = f"{tile_type(view.element, view.tile)}, {view.type}, {listed}"
    program.let(f"atomic_red_view_tko relaxed {scope} {operands} : {kinds} -> token")
    return program.record()


def view_contention(view: View, index: Index, mode: str) -> dict[str, Any]:
    """Every tile block updates one tile of a view."""
    program = Program(
        "atomic_red_view_tko", case=f"{BLOCKS} blocks {mode} {view.type}", edges=["ragged"], grid=(BLOCKS,)
    )
    offsets = view.offsets(index)
    initial, updates = codes(view.element, "held", view.size), codes(view.element, f"blocks{mode}", len(offsets))
    changed = list(initial)
    for offset, value in list(zip(offsets, updates, strict=True)) * BLOCKS:
        if offset is not None:
            changed[offset] = MODES[mode](changed[offset], value, view.element)
    view_value = view.make(program, program.buffer(view.element, initial, changed))
    names, listed = indices(program, index, "i32", "i32")
    operands = f"{view_value}[{names}], {mode}, {program.loaded_tile(view.element, updates, view.tile)}"
    types = f"{tile_type(view.element, view.tile)}, {view.type}, {listed}"
    program.let(f"atomic_red_view_tko relaxed device {operands} : {types} -> token")
    return program.record()


def two_view_reductions(view: View, index: Index) -> dict[str, Any]:
    """Two updates of one tile, the second after the token of the first."""
    program = Program("atomic_red_view_tko", case=f"a chain of tokens {view.type}")
    offsets = view.offsets(index)
    initial, updates = codes("i32", "held", view.size), codes("i32", "given", len(offsets))
    changed = list(initial)
    for offset, value in zip(offsets, updates, strict=True):
        if offset is not None:
            changed[offset] = (initial[offset] + 2 * value) % 2**32
    view_value = view.make(program, program.buffer("i32", initial, changed))
    names, listed = indices(program, index, "i32", "i32")
    tile, token = program.loaded_tile("i32", updates, view.tile), ""
    for _ in range(2):
        types = f"{tile_type('i32', view.tile)}, {view.type}, {listed}"
        line = f"atomic_red_view_tko relaxed device {view_value}[{names}], add, {tile}{token} : {types} -> token"
        token = f" token = {program.let(line)}"
    return program.record()


def views() -> Iterator[dict[str, Any]]:
    for mode, element in PAIRS:
        if mode == "xchg":
            continue
        for more in ({}, {"steps": (3, 5)}):
            yield view_reduction(matrix(element, 6, 7, 1, (4, 4), **more), (1, 1), mode, "ragged")
    table, strided = matrix("i32", 6, 7, 1, (4, 2)), matrix("i32", 12, 13, 3, (4, 2), steps=(3, 5))
    for scope in ("tl_blk", "device"):
        for view in (table, strided):
            yield view_reduction(view, (0, 1), "add", "inside", scope)
            yield view_reduction(view, (0, 1), "umax", "inside", scope)
    for view in (table, strided):
        yield view_reduction(view, (1000, 0), "xor", "outside")
        yield view_reduction(view, (0, 1), "add", "inside", after=" inbounds = [true, true]")
        yield view_reduction(view, (1, 1), "add", "ragged", after=" inbounds = [false, true]")
        yield two_view_reductions(view, (0, 1))
        for types in (("i1", "i1"), ("i8", "i8"), ("i16", "i16"), ("i64", "i64")):
            yield view_reduction(view, (0, 1), "or", "inside", types=types)
    yield view_reduction(matrix("i32", 6, 10, 2, (4, 2), dim_map=(1, 0)), (2, 1), "add", "dim_map")
    yield view_reduction(matrix("i64", 6, 10, 2, (4, 2), steps=(3, 1), dim_map=(1, 0)), (2, 1), "min", "dim_map")
    yield view_reduction(View("f32", (11,), (1,), (4,)), (2,), "addf", "rank 1")
    yield view_reduction(matrix("i32", 6, 7, 1, (4, 2), dynamic="i32"), (1, 3), "add", "ragged")
    for mode in ("add", "xor", "max", "umin"):
        yield view_contention(matrix("i32", 6, 7, 1, (4, 4)), (1, 1), mode)


def vectors() -> Iterator[dict[str, Any]]:
    for mode, element in PAIRS:
        for masked in (False, True):
            yield distinct_addresses(mode, element, masked)
        if mode != "xchg":
            yield shared_addresses(mode, element)
            yield contention(mode, element)
        yield chain(mode, element)
    yield numbered_blocks()
    yield locked_blocks()
    for ordering in ORDERINGS:
        for scope in SCOPES:
            access = f"{ordering} {scope}"
            if access != "relaxed device":
                yield distinct_addresses("add", "i32", False, access)
                yield distinct_addresses("addf", "f32", True, access)
                yield compare_and_swap("i32", False, access)
                yield compare_and_swap("f64", True, access)
    for element in ("i32", "i64", "f32", "f64"):
        for masked in (False, True):
            yield compare_and_swap(element, masked)
        yield compare_and_swap_after_a_store(element)
    yield from views()
