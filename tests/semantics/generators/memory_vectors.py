"""Vectors of memory: loads and stores through pointers, tokens, allocated memory, global variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from program import Program, pointer_type, tile_type
from sample import NUMBERS, codes, literal

COUNT = 8
# Offsets into a buffer of COUNT elements; a gather repeats some, a scatter does not.
GATHERED = (3, 0, 7, 7, 2, 5, 0, 4)
SCATTERED = (3, 0, 7, 1, 2, 5, 6, 4)
IN_ORDER = tuple(range(COUNT))
MASK = (1, 0, 1, 1, 0, 0, 1, 0)
SCOPES = ("tl_blk", "device", "sys")
# Tile IR has no tile of one f4E2M1FN and no tile of several pointers to f4E2M1FN: its accesses use views.
POINTED = tuple(name for name in NUMBERS if name != "f4E2M1FN")


def pointed(program: Program, base: str, element: str, offsets: tuple[int, ...]) -> tuple[str, str]:
    """A tile of pointers and its type."""
    return program.pointers(base, element, offsets), pointer_type(element, (len(offsets),))


class Elements:
    """COUNT elements at a base, accessed through a tile of pointers, or through a view if the type has no such tile."""

    def __init__(self, program: Program, base: str, element: str, offsets: tuple[int, ...] = IN_ORDER) -> None:
        self._program, self._tile = program, tile_type(element, (COUNT,))
        self._by = "ptr" if element in POINTED else "view"
        if element in POINTED:
            self._location, self._kind = pointed(program, base, element, offsets)
        else:
            view, kind = program.whole_view(base, element, (COUNT,))
            self._location, self._kind = f"{view}[{program.constant('i32', 0)}]", f"{kind}, tile<i32>"

    def load(self, token: str = "") -> tuple[str, str]:
        types = f"{self._kind} -> {self._tile}, token"
        return self._program.pair(f"load_{self._by}_tko weak {self._location}{_after(token)} : {types}")

    def store(self, value: str, token: str = "") -> str:
        """Stores a tile; returns the token of the store."""
        operands, types = [self._location, value], [self._kind, self._tile]
        if self._by == "view":
            operands, types = operands[::-1], types[::-1]
        text = f"{', '.join(operands)}{_after(token)} : {', '.join(types)} -> token"
        return self._program.let(f"store_{self._by}_tko weak {text}")


def _after(token: str) -> str:
    return f" token={token}" if token else ""


def load(element: str, form: str, access: str = "weak", **more: Any) -> dict[str, Any]:
    """`form` is plain, masked (unspecified where the mask is false) or padded."""
    program = Program("load_ptr_tko", case=f"{access} {form} {element}", **more)
    initial, padding = codes(element, "held", COUNT), codes(element, "padding", COUNT)
    pointers, kind = pointed(program, program.buffer(element, initial), element, GATHERED)
    result = tile_type(element, (COUNT,))
    operands, types, expected = [pointers], [kind], [initial[at] for at in GATHERED]
    if form != "plain":
        operands.append(program.loaded_tile("i1", MASK, (COUNT,)))
        types.append(tile_type("i1", (COUNT,)))
    if form == "padded":
        operands.append(program.loaded_tile(element, padding, (COUNT,)))
        types.append(result)
    outside = padding if form == "padded" else [None] * COUNT
    if form != "plain":
        expected = [x if active else y for active, x, y in zip(MASK, expected, outside, strict=True)]
    loaded, _ = program.pair(f"load_ptr_tko {access} {', '.join(operands)} : {', '.join(types)} -> {result}, token")
    program.expect(loaded, element, expected, (COUNT,))
    return program.record()


def store(element: str, masked: bool, access: str = "weak", **more: Any) -> dict[str, Any]:
    form = "masked" if masked else "plain"
    program = Program("store_ptr_tko", case=f"{access} {form} {element}", **more)
    initial, written = codes(element, "held", COUNT), codes(element, "written", COUNT)
    after = list(initial)
    for location, value, active in zip(SCATTERED, written, MASK, strict=True):
        if active or not masked:
            after[location] = value
    pointers, kind = pointed(program, program.buffer(element, initial, after), element, SCATTERED)
    value = program.loaded_tile(element, written, (COUNT,))
    operands, types = [pointers, value], [kind, tile_type(element, (COUNT,))]
    if masked:
        operands.append(program.loaded_tile("i1", MASK, (COUNT,)))
        types.append(tile_type("i1", (COUNT,)))
    program.let(f"store_ptr_tko {access} {', '.join(operands)} : {', '.join(types)} -> token")
    return program.record()


def scalar(element: str) -> dict[str, Any]:
    """Copies one element from a buffer to another."""
    program = Program("load_ptr_tko", "store_ptr_tko", case=f"0-D {element}")
    code = codes(element, "scalar", 8)[5]
    source, target = program.buffer(element, [code]), program.buffer(element, None, [code])
    program.store(target, program.load(source, element)[0], element)
    return program.record()


def square(masked: bool) -> dict[str, Any]:
    """Pointers, mask and values of rank 2."""
    program = Program("load_ptr_tko", "store_ptr_tko", case=f"rank 2{' masked' if masked else ''}")
    initial, shape = codes("i16", "square", 8), (2, 4)
    pairs = zip(initial, MASK, strict=True)
    target = program.buffer("i16", [0] * 8, [x if active or not masked else 0 for x, active in pairs])
    flat = [pointed(program, base, "i16", IN_ORDER) for base in (program.buffer("i16", initial), target)]
    kind, tile, bits = pointer_type("i16", shape), tile_type("i16", shape), tile_type("i1", shape)
    source, target = (program.let(f"reshape {value} : {one} -> {kind}") for value, one in flat)
    mask = f", {program.loaded_tile('i1', MASK, shape)}" if masked else ""
    masks = f", {bits}" if masked else ""
    value, _ = program.pair(f"load_ptr_tko weak {source}{mask} : {kind}{masks} -> {tile}, token")
    program.let(f"store_ptr_tko weak {target}, {value}{mask} : {kind}, {tile}{masks} -> token")
    return program.record()


def accesses() -> Iterator[dict[str, Any]]:
    for element in POINTED:
        for form in ("plain", "masked", "padded"):
            yield load(element, form)
        for masked in (False, True):
            yield store(element, masked)
        yield scalar(element)
    for masked in (False, True):
        yield square(masked)
    for scope in SCOPES:
        for element in ("i32", "f32", "i64", "f64"):
            yield load(element, "plain", f"relaxed {scope}")
            yield load(element, "padded", f"acquire {scope}")
            yield store(element, False, f"relaxed {scope}")
            yield store(element, True, f"release {scope}")


def optimization_hints() -> dict[str, Any]:
    """Hints do not change results."""
    program = Program("load_ptr_tko", "store_ptr_tko", case="optimization hints")
    initial = codes("f32", "hinted", COUNT)
    hints = "optimization_hints = <sm_100 = {latency = 3}, default = {latency = 10}>"
    source, kind = pointed(program, program.buffer("f32", initial), "f32", IN_ORDER)
    target, _ = pointed(program, program.buffer("f32", None, initial), "f32", IN_ORDER)
    tile = tile_type("f32", (COUNT,))
    value, _ = program.pair(f"load_ptr_tko weak {source} {hints} : {kind} -> {tile}, token")
    program.let(f"store_ptr_tko weak {target}, {value} {hints} : {kind}, {tile} -> token")
    return program.record()


def chain(operation: str, element: str) -> dict[str, Any]:
    """A store, an operation on its token, then a load of the same address, then a store after the load."""
    program = Program(operation, "load_ptr_tko", "store_ptr_tko", case=f"a chain of tokens, {element}")
    first, second = codes(element, "chain", 16)[10:12]
    pointer = program.buffer(element, None, [second])
    one, two = program.loaded_tile(element, [first], ()), program.loaded_tile(element, [second], ())
    start = program.let("make_token : token")
    stored = program.store(pointer, one, element, start)
    forms = {
        "make_token": lambda: stored,
        "join_tokens": lambda: program.let(f"join_tokens {start}, {stored}, {start} : token"),
        "memory_fence_alias_tko": lambda: program.let(f"memory_fence_alias_tko {stored}"),
        "gdc_wait_tko": lambda: program.let(f"gdc_wait_tko token = {stored} -> token"),
        "gdc_launch_dependents_tko": lambda: program.let(f"gdc_launch_dependents_tko token = {stored} -> token"),
    }
    value, loaded = program.load(pointer, element, forms[operation]())
    program.store(pointer, two, element, loaded)
    program.expect(value, element, [first])
    return program.record()


def without_tokens(operation: str) -> dict[str, Any]:
    """Programmatic dependent launch without a token, in a grid without dependencies."""
    program = Program(operation, case="without a token")
    value = program.loaded_tile("i32", [7], ())
    token = program.let(f"{operation} -> token")
    program.store(program.buffer("i32", None, [7]), value, "i32", token)
    return program.record()


def tokens() -> Iterator[dict[str, Any]]:
    for operation in (
        "make_token", "join_tokens", "memory_fence_alias_tko", "gdc_wait_tko", "gdc_launch_dependents_tko",
    ):  # fmt: skip
        for element in ("i8", "f32", "f64"):
            yield chain(operation, element)
    yield without_tokens("gdc_wait_tko")
    yield without_tokens("gdc_launch_dependents_tko")


def allocated(element: str, visible: bool) -> dict[str, Any]:
    """Values stored in allocated memory are loaded in reversed order."""
    program = Program("alloca", case=f"{element}{' global' if visible else ''}")
    values = codes(element, "allocated", COUNT)
    form = "alignment = 16 global" if visible else "alignment = 8"
    base = program.let(f"alloca num_elem = {COUNT}, {form} : {pointer_type(element)}")
    reversed_order = tuple(reversed(IN_ORDER)) if element in POINTED else IN_ORDER
    target, source = Elements(program, base, element), Elements(program, base, element, reversed_order)
    token = target.store(program.loaded_tile(element, values, (COUNT,)))
    value, _ = source.load(token)
    program.expect(value, element, [values[at] for at in reversed_order], (COUNT,))
    return program.record()


def aligned() -> dict[str, Any]:
    """The address of allocated memory is a multiple of the alignment."""
    program = Program("alloca", case="alignment = 128")
    base = program.let("alloca num_elem = 3, alignment = 128 : tile<ptr<i8>>")
    address = program.let(f"ptr_to_int {base} : tile<ptr<i8>> -> tile<i64>")
    size = program.constant("i64", 128)
    program.expect(program.let(f"remi {address}, {size} unsigned : tile<i64>"), "i64", [0])
    return program.record()


def global_values(element: str) -> Iterator[dict[str, Any]]:
    """Loads of a global in every form of its declaration, and a store to each global that is not constant."""
    values, written = codes(element, "global", COUNT), codes(element, "written", COUNT)
    listed = ", ".join(literal(element, code) for code in values)
    for keywords in ("", "constant ", "private ", "private constant "):
        alignment = " alignment = 64" if keywords else ""
        program = Program("global", "get_global", case=f"{keywords}{element}")
        program.module_line(
            f"global {keywords}@table{alignment} <{element}: [{listed}]> : {tile_type(element, (COUNT,))}"
        )
        base = program.let(f"get_global @table : {pointer_type(element)}")
        location = Elements(program, base, element)
        value, token = location.load()
        program.expect(value, element, values, (COUNT,))
        if "constant" not in keywords:
            token = location.store(program.loaded_tile(element, written, (COUNT,)), token)
            value, _ = location.load(token)
            program.expect(value, element, written, (COUNT,))
        yield program.record()


def splat_global() -> dict[str, Any]:
    program = Program("global", "get_global", case="a splat of one element")
    program.module_line("global @one <i32: 42> : tile<1xi32>")
    base = program.let("get_global @one : tile<ptr<i32>>")
    program.expect(program.load(base, "i32")[0], "i32", [42])
    return program.record()


def vectors() -> Iterator[dict[str, Any]]:
    yield from accesses()
    yield optimization_hints()
    yield from tokens()
    for element in NUMBERS:
        yield allocated(element, False)
        yield allocated(element, True)
    yield aligned()
    for element in NUMBERS:
        yield from global_values(element)
    yield splat_global()
