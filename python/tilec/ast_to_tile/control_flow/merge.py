"""Merges the values of a name from several control-flow paths: after an `if`, and at the start of a loop body."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilec.ast_to_tile.control_flow.merged_arrays import (
    CarriedArray,
    array_operands,
    array_types,
    is_local_array,
    rebuild_array,
    unify_arrays,
    unlike_arrays,
)
from tilec.ast_to_tile.emitter import Emitter, tile_type
from tilec.ast_to_tile.operations.convert import to_dtype
from tilec.ast_to_tile.values.structured_value import parts_of, structure_of, with_parts
from tilec.ast_to_tile.values.values import (
    KernelValue,
    Number,
    Operand,
    Shape,
    Tile,
    TypedConstant,
    View,
    describe,
    describe_tile,
    is_number,
    is_tile_like,
    shape_of,
)
from tilec.dialect.mlir import ir
from tilec.errors import CompileError
from tilec.language import datatypes
from tilec.language.datatypes import DType


class NoMerge(CompileError):
    """Raised for values that cannot be merged; the message describes each value."""


@dataclass(frozen=True)
class Same:
    """The same compile-time value on every path."""

    value: KernelValue


@dataclass(frozen=True)
class Carried:
    """A tile passed as an operand."""

    dtype: DType
    shape: Shape


@dataclass(frozen=True)
class Several:
    """A structured value, merged element by element; `like` is one of the values."""

    like: KernelValue
    items: tuple[Plan, ...]


Plan = Same | Carried | CarriedArray | Several


def unify(values: Sequence[KernelValue], *, local: bool = False) -> Plan:
    """The plan that merges the values; raises NoMerge if they cannot be merged.

    `local` values are defined in the block that ends, so that even identical values must be passed as operands.
    """
    first = values[0]
    defined_locally = isinstance(first, Tile | TypedConstant) or bool(parts_of(first)) or is_local_array(first)
    if local and defined_locally or not all(same(first, v) for v in values[1:]):
        return _unify_different(values, local)
    return Same(first)


def _unify_different(values: Sequence[KernelValue], local: bool) -> Plan:
    first = values[0]
    structure = structure_of(first)
    if structure is not None and all(structure_of(value) == structure for value in values):
        elements = zip(*(parts_of(value) or () for value in values), strict=True)
        return Several(first, tuple(unify(items, local=local) for items in elements))
    operands = [value for value in values if is_tile_like(value)]
    if len(operands) == len(values):
        return _unify_tiles(operands)
    if (plan := unify_arrays(values)) is not None:
        return plan
    raise NoMerge(_listed(values))


def same(x: KernelValue, y: KernelValue) -> bool:
    """Whether two values are identical: the same object, equal constants of a type, or equal views of an array."""
    if x is y:
        return True
    if isinstance(x, View):
        return x == y
    if (structure := structure_of(x)) is not None:
        return structure_of(y) == structure and all(map(same, parts_of(x) or (), parts_of(y) or ()))
    if isinstance(x, TypedConstant) and isinstance(y, TypedConstant):
        return x.dtype is y.dtype and same(x.value, y.value)
    if type(x) is not type(y) or isinstance(x, Tile):
        return isinstance(x, Tile) and isinstance(y, Tile) and x == y
    return is_number(x) and repr(x) == repr(y) or isinstance(x, str) and x == y


def _unify_tiles(values: Sequence[Operand]) -> Carried:
    typed = [value for value in values if not is_number(value)]
    numbers = [value for value in values if is_number(value)]
    types = {(value.dtype, shape_of(value)) for value in typed} or {(datatypes.of_literal(n), ()) for n in numbers}
    if len(types) > 1:
        raise NoMerge(_listed(values))
    ((dtype, shape),) = types
    if any(shape or _literal_type(dtype, number) is not dtype for number in numbers):
        raise NoMerge(_listed(values))
    return Carried(dtype, shape)


def _literal_type(dtype: DType, value: Number) -> DType | None:
    try:
        return datatypes.promote_literal(dtype, value)
    except CompileError:
        return None


def _listed(values: Sequence[KernelValue]) -> str:
    described = list(map(describe, values))
    if isinstance(values[0], View) and len(set(described)) == 1:
        return f"{described[0]} and one with other parameters"
    return " and ".join(described)


def carry(value: KernelValue) -> Plan:
    """The plan of a loop-carried value; Python numbers become scalars of their default element type."""
    if isinstance(value, Tile | TypedConstant):
        return Carried(value.dtype, shape_of(value))
    if is_number(value):
        return Carried(datatypes.of_literal(value), ())
    if parts := parts_of(value):
        return Several(value, tuple(map(carry, parts)))
    return unify_arrays([value]) or Same(value)


def with_kept_constants(initial: KernelValue, following: Sequence[KernelValue], carried: KernelValue) -> KernelValue:
    """The carried value, with the constants of the initial value that all following values have too."""
    if is_number(initial) or isinstance(initial, TypedConstant):
        return initial if all(same(initial, value) for value in following) else carried
    rows = [parts_of(value) or () for value in (initial, carried, *following)]
    if not rows[0]:
        return carried
    columns = zip(*rows, strict=True)
    return with_parts(carried, [with_kept_constants(first, rest, item) for first, item, *rest in columns])


def types_of(plan: Plan) -> list[ir.Type]:
    """The operand types of a plan."""
    if isinstance(plan, Carried):
        return [tile_type(plan.dtype, plan.shape)]
    if isinstance(plan, CarriedArray):
        return array_types(plan)
    return [type for item in plan.items for type in types_of(item)] if isinstance(plan, Several) else []


def lower(emitter: Emitter, plan: Plan, value: KernelValue) -> list[ir.Value]:
    """The operands that pass the value; raises NoMerge if it does not match the plan."""
    if isinstance(plan, Same):
        if not same(plan.value, value):
            raise NoMerge(_listed([plan.value, value]))
        return []
    if isinstance(plan, Several):
        if structure_of(value) != structure_of(plan.like):
            raise NoMerge(_listed([plan.like, value]))
        parts = parts_of(value) or ()
        return [operand for item, part in zip(plan.items, parts, strict=True) for operand in lower(emitter, item, part)]
    if isinstance(plan, CarriedArray):
        operands = array_operands(emitter, plan, value)
        if operands is None:
            raise NoMerge(_listed([plan.like, value]) + unlike_arrays(plan, value))
        return operands
    return [_lower_tile(emitter, plan, value).value]


def _lower_tile(emitter: Emitter, plan: Carried, value: KernelValue) -> Tile:
    if is_number(value) and plan.shape == () and _literal_type(plan.dtype, value) is plan.dtype:
        return to_dtype(emitter, value, plan.dtype)
    if isinstance(value, Tile | TypedConstant) and (value.dtype, shape_of(value)) == (plan.dtype, plan.shape):
        return emitter.as_tile(value)
    raise NoMerge(f"{describe_tile(plan.dtype, plan.shape)} and {describe(value)}")


def rebuild(plan: Plan, values: Iterator[ir.Value]) -> KernelValue:
    """The value that the operands represent."""
    if isinstance(plan, Carried):
        return Tile(next(values), plan.dtype, plan.shape)
    if isinstance(plan, CarriedArray):
        return rebuild_array(plan, values)
    if isinstance(plan, Several):
        return with_parts(plan.like, [rebuild(item, values) for item in plan.items])
    return plan.value
