"""A random operation of Tile IR: from the fields of its class, or from a maker if it has further rules."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import random_attributes as attributes
import random_types as types
from random_operands import Values

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.element import ELEMENT_BITS, FLOATS, INTEGERS, NUMBERS
from tilec.dialect.cuda_tile.operations.mma import ACCUMULATORS, SCALED_ELEMENTS
from tilec.dialect.cuda_tile.types import GatherScatterViewType, PartitionViewType, TokenType
from tilec.dialect.fields import MIXED, ONE, OPTIONAL, TypeVariable, ValueField
from tilec.dialect.mlir import ir
from tilec.dialect.operation import OPERATIONS

# The number of attempts to find types for an operation from its fields.
_TRIES = 40
_EXTENTS = (1, 2, 4, 8, 16)

Made = ir.Operation | None


def by_fields(name: str, values: Values) -> Made:
    """An operation with random types that satisfy its fields and have one shape, or None if every attempt fails."""
    cls, random = OPERATIONS[f"cuda_tile.{name}"], values.random
    for _ in range(_TRIES):
        extents = types.shape(random)
        bound: dict[str, ir.Type] = {}
        operands = [_group(random, field, extents, bound) for field in cls.operand_fields]
        results = [type for field in cls.result_fields for type in _group(random, field, extents, bound) or []]
        given = {field.name: attributes.of_field(random, field) for field in cls.attribute_fields.values()}
        taken = [_values(values, group) for group in operands]
        if all(field.arity == ONE for field in cls.operand_fields):
            taken = [value for group in taken for value in group or []]
        made = build(name, taken, results, given)
        if _is_valid(made):
            return made
    return None


def _is_valid(made: ir.Operation) -> bool:
    """Whether an operation verifies; an invalid one is erased."""
    try:
        made.verify()
    except ir.MLIRError:
        made.erase()
        return False
    return True


def _group(random: Random, field: ValueField, extents: tuple[int, ...], bound: dict[str, ir.Type]) -> Any:
    if field.arity == OPTIONAL and random.random() < 0.5:
        return None
    count = 1 if field.arity in (ONE, OPTIONAL) else random.randint(2, 4)
    if isinstance(field.constraint, TypeVariable):
        key = field.constraint.name
        if key not in bound:
            bound[key] = types.of_set(random, field.set, extents)
        return [bound[key]] * count
    first = types.of_set(random, field.set, extents)
    mixed = [types.of_set(random, field.set, extents) for _ in range(count - 1)]
    return [first, *(mixed if field.arity == MIXED else [first] * (count - 1))]


def _values(values: Values, group: list[ir.Type] | None) -> Any:
    return None if group is None else [values.of(type) for type in group]


def _extents(random: Random, rank: int | None = None) -> list[int]:
    return [random.choice(_EXTENTS[:3]) for _ in range(random.randint(1, 3) if rank is None else rank)]


def _tile(values: Values, extents: list[int], element: str | ir.Type | None = None) -> ir.Value:
    random = values.random
    plain = [name for name in NUMBERS if name != "f4E2M1FN"]
    return values.of(types.tile(tuple(extents), element or random.choice([*plain, types.pointer(random)])))


def _like(value: ir.Value, extents: list[int]) -> ir.Type:
    return types.tile(tuple(extents), value.type.element)


def _constant(values: Values) -> Made:
    random = values.random
    element = random.choice(NUMBERS)
    extents = (*types.shape(random), 2) if element == "f4E2M1FN" else types.shape(random)
    # More than 100 elements are printed as bytes.
    type = types.tile(random.choice((extents, (128,))), element)
    return build("constant", [], [type], {"value": attributes.elements(random, type)})


def _broadcast(values: Values) -> Made:
    extents = _extents(values.random)
    source = _tile(values, [extent if values.random.random() < 0.5 else 1 for extent in extents])
    return build("broadcast", [source], [_like(source, extents)])


def _reshape(values: Values) -> Made:
    extents = _extents(values.random)
    source = _tile(values, extents)
    return build("reshape", [source], [_like(source, values.random.choice(([*extents, 1], [1, *reversed(extents)])))])


def _permute(values: Values) -> Made:
    extents = _extents(values.random, values.random.randint(2, 4))
    order = values.random.sample(range(len(extents)), len(extents))
    source = _tile(values, extents)
    return build("permute", [source], [_like(source, [extents[axis] for axis in order])], {"permutation": order})


def _cat(values: Values) -> Made:
    extents = _extents(values.random)
    dim = values.random.randrange(len(extents))
    lhs = _tile(values, extents)
    whole = [extent * 2 if axis == dim else extent for axis, extent in enumerate(extents)]
    return build("cat", [lhs, values.of(lhs.type)], [_like(lhs, whole)], {"dim": dim})


def _sub_tile(values: Values) -> tuple[ir.Value, ir.Value, list[ir.Value]]:
    """A tile, a part of it, and the indices of the part."""
    extents = _extents(values.random)
    whole = _tile(values, [extent * values.random.choice((1, 2)) for extent in extents])
    return whole, values.of(_like(whole, extents)), [values.scalar() for _ in extents]


def _extract(values: Values) -> Made:
    whole, part, indices = _sub_tile(values)
    return build("extract", [whole, indices], [part.type])


def _insert(values: Values) -> Made:
    whole, part, indices = _sub_tile(values)
    return build("insert", [part, whole, indices], [whole.type])


def _packed(name: str) -> Callable[[Values], Made]:
    def make(values: Values) -> Made:
        widths = {each: {"tf32": 32}.get(each, bits) for each, bits in ELEMENT_BITS.items() if bits not in (6, 8)}
        element = values.random.choice(list(widths))
        tile, packed = types.tile((64,), element), types.tile((64 * widths[element] // 8,), "i8")
        source, result = (tile, packed) if name == "pack" else (packed, tile)
        return build(name, [values.of(source)], [result])

    return make


def _matrices(values: Values, element: str, m: int, n: int, k: int) -> tuple[list[int], ir.Value, ir.Value]:
    batch = values.random.choice(([], [], [2]))
    return batch, _tile(values, [*batch, m, k], element), _tile(values, [*batch, k, n], element)


def _mmaf(values: Values) -> Made:
    element = values.random.choice(list(ACCUMULATORS))
    batch, lhs, rhs = _matrices(values, element, 4, 8, 16)
    accumulator = _tile(values, [*batch, 4, 8], values.random.choice(ACCUMULATORS[element]))
    return build("mmaf", [lhs, rhs, accumulator], [accumulator.type], {"fast_acc": values.random.random() < 0.5})


def _mmai(values: Values) -> Made:
    batch, lhs, rhs = _matrices(values, "i8", 4, 8, 16)
    accumulator = _tile(values, [*batch, 4, 8], "i32")
    signs = {name: values.random.choice(("signed", "unsigned")) for name in ("signedness_lhs", "signedness_rhs")}
    return build("mmai", [lhs, rhs, accumulator], [accumulator.type], signs)


def _mmaf_scaled(values: Values) -> Made:
    (element, scale), sizes = values.random.choice(list(SCALED_ELEMENTS.items()))
    batch, lhs, rhs = _matrices(values, element, 4, 8, 64)
    blocks = 64 // values.random.choice(sizes)
    accumulator = _tile(values, [*batch, 4, 8], "f32")
    scales = [_tile(values, [*batch, 4, blocks], scale), _tile(values, [*batch, blocks, 8], scale)]
    return build("mmaf_scaled", [lhs, rhs, accumulator, *scales], [accumulator.type])


def _assume(values: Values) -> Made:
    random = values.random
    extents = types.shape(random)
    candidates = [types.tile(extents, name) for name in INTEGERS]
    candidates += [types.tile(extents, types.pointer(random)), types.tensor_view(random)]
    value = values.of(random.choice(candidates))
    return build("assume", [value], [value.type], {"predicate": attributes.predicate(random, value.type)})


def _print(values: Values) -> Made:
    random = values.random
    printed = [values.of(types.any_tile(random, types.shape(random))) for _ in range(random.randrange(4))]
    text = attributes.text(random).replace("%", "%%") + "".join(random.choice((" %d", "%f,", "%%%x")) for _ in printed)
    return build("print_tko", [printed, _token(values)], [TokenType.get()], {"str": text})


def _token(values: Values) -> list[ir.Value]:
    return [values.of(TokenType.get())] if values.random.random() < 0.5 else []


def _order(random: Random, *orderings: str) -> dict[str, Any]:
    ordering = random.choice(orderings)
    return {
        "memory_ordering_semantics": ordering,
        "memory_scope": None if ordering == "weak" else random.choice(("tl_blk", "device", "sys")),
    }


def _hints(random: Random, *names: str) -> dict[str, Any]:
    return {"optimization_hints": attributes.hints(random, *names) if random.random() < 0.3 else None}


def _pointers(values: Values, element: str | None = None) -> tuple[ir.Value, ir.Type, ir.Value | None]:
    """Pointers, the type of the tile that they point to, and an optional mask."""
    random, extents = values.random, list(types.shape(values.random))
    element = element or random.choice([name for name in NUMBERS if name != "f4E2M1FN"])
    pointers = _tile(values, extents, types.pointer(random, element, random.choice((None, "none", "unicast"))))
    mask = _tile(values, extents, "i1") if random.random() < 0.5 else None
    return pointers, types.tile(tuple(extents), element), mask


def _load_ptr(values: Values) -> Made:
    random, (pointers, tile, mask) = values.random, _pointers(values)
    padding = values.of(tile) if random.random() < 0.5 else None
    given = _order(random, "weak", "relaxed", "acquire") | _hints(random, "latency")
    return build("load_ptr_tko", [pointers, mask, padding, _token(values)], [tile, TokenType.get()], given)


def _store_ptr(values: Values) -> Made:
    pointers, tile, mask = _pointers(values)
    given = _order(values.random, "weak", "relaxed", "release") | _hints(values.random, "latency")
    return build("store_ptr_tko", [pointers, values.of(tile), mask, _token(values)], [TokenType.get()], given)


def _atomic_cas(values: Values) -> Made:
    pointers, tile, mask = _pointers(values, values.random.choice(("i32", "i64", "f32", "f64")))
    given = _order(values.random, "relaxed", "acquire", "release", "acq_rel")
    operands = [pointers, values.of(tile), values.of(tile), mask, _token(values)]
    return build("atomic_cas_tko", operands, [tile, TokenType.get()], given)


_INTEGER_MODES = ("and", "or", "xor", "add", "max", "min", "umax", "umin")


def _mode(random: Random, exchange: bool) -> tuple[str, str]:
    """An atomic mode and an element type that it supports."""
    choices = [(mode, element) for mode in _INTEGER_MODES for element in ("i32", "i64")]
    choices += [("addf", element) for element in ("f16", "bf16", "f32", "f64")]
    choices += [("xchg", element) for element in ("i32", "i64", "f32", "f64") if exchange]
    return random.choice(choices)


def _atomic_rmw(values: Values) -> Made:
    mode, element = _mode(values.random, exchange=True)
    pointers, tile, mask = _pointers(values, element)
    given = _order(values.random, "relaxed", "acquire", "release", "acq_rel") | {"mode": mode}
    return build("atomic_rmw_tko", [pointers, values.of(tile), mask, _token(values)], [tile, TokenType.get()], given)


def _indices(values: Values, view: Any) -> list[ir.Value]:
    random = values.random
    element = random.choice(INTEGERS)
    found = [values.scalar(element) for _ in range(view.rank)]
    if isinstance(view, GatherScatterViewType):
        extent = view.tile_shape[view.sparse_dim]
        found[view.sparse_dim] = values.of(types.tile((extent,), random.choice(INTEGERS)))
    return found


def _inbounds(random: Random, view: Any) -> dict[str, Any]:
    flags = [random.random() < 0.5 for _ in range(view.rank)]
    # Readers omit flags that are all false, because they are equal to no flags.
    return {"inbounds": flags if any(flags) else None}


def _view_access(name: str, *orderings: str) -> Callable[[Values], Made]:
    def make(values: Values) -> Made:
        random, view = values.random, types.tile_view(values.random)
        given = _order(random, *orderings) | _inbounds(random, view) | _hints(random, "latency", "allow_tma")
        operands: list[Any] = [values.of(view), _indices(values, view), _token(values)]
        if name == "store_view_tko":
            return build(name, [values.of(view.tile_type), *operands], [TokenType.get()], given)
        return build(name, operands, [view.tile_type, TokenType.get()], given)

    return make


def _atomic_red(values: Values) -> Made:
    random = values.random
    mode, element = _mode(random, exchange=False)
    view = types.tile_view(random, random.choice(("partition_view", "strided_view")), element)
    scope = {"memory_ordering_semantics": "relaxed", "memory_scope": random.choice(("tl_blk", "device")), "mode": mode}
    indices = [values.scalar(random.choice(INTEGERS)) for _ in range(view.rank)]
    operands = [values.of(view), indices, values.of(view.tile_type), _token(values)]
    return build("atomic_red_view_tko", operands, [TokenType.get()], scope | _inbounds(random, view))


# The multimem reductions that each element type supports: those of loads, and those of stores.
_MULTIMEM = {
    **dict.fromkeys(("f16", "bf16"), (("add", "min", "max"), ("add",))),
    **dict.fromkeys(("f32", "f64"), (("add",), ("add",))),
    **dict.fromkeys(("i32", "i64"), (("add", "min", "max", "and", "or", "xor", "umin", "umax"),) * 2),
}


def _multimem(name: str, *orderings: str) -> Callable[[Values], Made]:
    def make(values: Values) -> Made:
        random = values.random
        element = random.choice(list(_MULTIMEM))
        rank = random.randint(1, 3)
        # Elements of 16 bits are reduced in pairs, which are adjacent in one dimension.
        tensor = types.tensor_view(random, rank, element, "multicast", unit_strides=1)
        view = PartitionViewType.get([random.choice((2, 4)) for _ in range(rank)], tensor)
        given = _order(random, *orderings) | _inbounds(random, view)
        operands: list[Any] = [values.of(view), _indices(values, view), _token(values)]
        if name == "multimem_load_reduce_view_tko":
            given["reduction"] = random.choice(_MULTIMEM[element][0])
            return build(name, operands, [view.tile_type, TokenType.get()], given)
        if name == "multimem_reduce_view_tko":
            given["reduction"] = random.choice(_MULTIMEM[element][1])
        operands.insert(1, values.of(view.tile_type))
        return build(name, operands, [TokenType.get()], given)

    return make


def _make_view(kind: str) -> Callable[[Values], Made]:
    def make(values: Values) -> Made:
        view = types.tile_view(values.random, kind, values.random.choice(NUMBERS))
        return build(f"make_{kind}", [values.of(view.tensor_view)], [view])

    return make


def _make_tensor_view(values: Values) -> Made:
    type = types.tensor_view(values.random)
    return values._make(type).owner


def _extents_of(name: str) -> Callable[[Values], Made]:
    def make(values: Values) -> Made:
        source = types.tensor_view(values.random) if name == "get_tensor_shape" else types.tile_view(values.random)
        result = types.tile((), values.random.choice(INTEGERS))
        return build(name, [values.of(source)], [result] * source.rank)

    return make


def _call(values: Values) -> Made:
    random = values.random
    operands = [values.of(types.carried(random)) for _ in range(random.randrange(4))]
    results = [types.carried(random) for _ in range(random.randrange(4))]
    cls = OPERATIONS["cuda_tile.preview_call"]
    given = {field.name: attributes.of_field(random, field) for field in cls.attribute_fields.values()}
    return build("preview_call", [operands], results, given)


def _iota(values: Values) -> Made:
    return build("iota", [], [types.tile((values.random.choice((1, 2)),), values.random.choice(INTEGERS))])


def _float_to_float(values: Values) -> Made:
    random, extents = values.random, types.shape(values.random) or (2,)
    for _ in range(_TRIES):
        source, target = (types.tile((*extents, 2), random.choice(FLOATS)) for _ in range(2))
        mode = random.choice(("nearest_even", "zero", "positive_inf", "negative_inf", "nearest_away"))
        made = build("ftof", [values.of(source)], [target], {"rounding_mode": mode})
        if _is_valid(made):
            return made
    return None


MAKERS: dict[str, Callable[[Values], Made]] = {
    "constant": _constant,
    "iota": _iota,
    "broadcast": _broadcast,
    "reshape": _reshape,
    "permute": _permute,
    "cat": _cat,
    "extract": _extract,
    "insert": _insert,
    "pack": _packed("pack"),
    "unpack": _packed("unpack"),
    "mmaf": _mmaf,
    "mmai": _mmai,
    "mmaf_scaled": _mmaf_scaled,
    "ftof": _float_to_float,
    "assume": _assume,
    "print_tko": _print,
    "load_ptr_tko": _load_ptr,
    "store_ptr_tko": _store_ptr,
    "atomic_cas_tko": _atomic_cas,
    "atomic_rmw_tko": _atomic_rmw,
    "atomic_red_view_tko": _atomic_red,
    "load_view_tko": _view_access("load_view_tko", "weak", "relaxed", "acquire"),
    "store_view_tko": _view_access("store_view_tko", "weak", "relaxed", "release"),
    "multimem_load_reduce_view_tko": _multimem("multimem_load_reduce_view_tko", "weak", "relaxed", "acquire"),
    "multimem_reduce_view_tko": _multimem("multimem_reduce_view_tko", "relaxed", "release"),
    "multimem_store_view_tko": _multimem("multimem_store_view_tko", "weak", "relaxed", "release"),
    "make_tensor_view": _make_tensor_view,
    "make_partition_view": _make_view("partition_view"),
    "make_strided_view": _make_view("strided_view"),
    "make_gather_scatter_view": _make_view("gather_scatter_view"),
    "get_tensor_shape": _extents_of("get_tensor_shape"),
    "get_index_space_shape": _extents_of("get_index_space_shape"),
    "preview_call": _call,
}
