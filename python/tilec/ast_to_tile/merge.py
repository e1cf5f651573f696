"""One value out of several that meet: after the branches of an `if`, and at the head of a loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tilec.ast_to_tile.convert import to_dtype
from tilec.ast_to_tile.emitter import Emitter, tile_type
from tilec.ast_to_tile.values import Shape, Tile, TypedConstant, describe, describe_tile, is_number
from tilec.dialect.mlir import ir
from tilec.errors import CompileError
from tilec.language import datatypes
from tilec.language.datatypes import DType


class NoMerge(CompileError):
    """Values that cannot meet; the message says what each is."""


@dataclass(frozen=True)
class Same:
    """The same value on every way, known while compiling."""

    value: Any


@dataclass(frozen=True)
class Carried:
    """A tile that is passed as an operand."""

    dtype: DType
    shape: Shape


@dataclass(frozen=True)
class Several:
    """A tuple."""

    items: tuple[Plan, ...]


Plan = Same | Carried | Several


def unify(values: Sequence[Any], *, local: bool = False) -> Plan:
    """How the values can be one; raises NoMerge if they cannot.

    `local` values belong to the block that is left, so that even one that is the same on every way must be passed on.
    """
    first = values[0]
    if local and isinstance(first, Tile | TypedConstant | tuple) or not all(same(first, v) for v in values[1:]):
        return _unify_different(values, local)
    return Same(first)


def _unify_different(values: Sequence[Any], local: bool) -> Plan:
    first = values[0]
    if isinstance(first, tuple) and all(isinstance(value, tuple) and len(value) == len(first) for value in values):
        return Several(tuple(unify(items, local=local) for items in zip(*values, strict=True)))
    if all(isinstance(value, Tile | TypedConstant) or is_number(value) for value in values):
        return _unify_tiles(values)
    raise NoMerge(_listed(values))


def same(x: Any, y: Any) -> bool:
    """Whether two values are one: the same object, or equal constants of one type."""
    if x is y:
        return True
    if isinstance(x, tuple) and isinstance(y, tuple):
        return len(x) == len(y) and all(map(same, x, y))
    if isinstance(x, TypedConstant) and isinstance(y, TypedConstant):
        return x.dtype is y.dtype and same(x.value, y.value)
    if type(x) is not type(y) or isinstance(x, Tile):
        return isinstance(x, Tile) and isinstance(y, Tile) and x == y
    return is_number(x) and repr(x) == repr(y) or isinstance(x, str) and x == y


def _unify_tiles(values: Sequence[Any]) -> Carried:
    typed = [value for value in values if not is_number(value)]
    types = {(value.dtype, _shape(value)) for value in typed} or {(datatypes.of_literal(v), ()) for v in values}
    if len(types) > 1:
        raise NoMerge(_listed(values))
    ((dtype, shape),) = types
    for value in values:
        if is_number(value) and (shape or _literal_type(dtype, value) is not dtype):
            raise NoMerge(_listed(values))
    return Carried(dtype, shape)


def _literal_type(dtype: DType, value: Any) -> DType | None:
    try:
        return datatypes.promote_literal(dtype, value)
    except CompileError:
        return None


def _shape(value: Any) -> Shape:
    return value.shape if isinstance(value, Tile) else ()


def _listed(values: Sequence[Any]) -> str:
    return " and ".join(map(describe, values))


def carry(value: Any) -> Plan:
    """How a loop carries a value that changes in it: numbers become scalars of the type they have by themselves."""
    if isinstance(value, Tile | TypedConstant):
        return Carried(value.dtype, _shape(value))
    if is_number(value):
        return Carried(datatypes.of_literal(value), ())
    if isinstance(value, tuple):
        return Several(tuple(map(carry, value)))
    return Same(value)


def types_of(plan: Plan) -> list[ir.Type]:
    """The types of the operands that pass the value."""
    if isinstance(plan, Carried):
        return [tile_type(plan.dtype, plan.shape)]
    return [type for item in plan.items for type in types_of(item)] if isinstance(plan, Several) else []


def lower(emitter: Emitter, plan: Plan, value: Any) -> list[ir.Value]:
    """The operands that pass the value; raises NoMerge where it is not what the plan says."""
    if isinstance(plan, Same):
        if not same(plan.value, value):
            raise NoMerge(f"{describe(plan.value)} and {describe(value)}")
        return []
    if isinstance(plan, Several):
        if not isinstance(value, tuple) or len(value) != len(plan.items):
            raise NoMerge(f"a tuple of {len(plan.items)} and {describe(value)}")
        return [operand for item, part in zip(plan.items, value, strict=True) for operand in lower(emitter, item, part)]
    return [_lower_tile(emitter, plan, value).value]


def _lower_tile(emitter: Emitter, plan: Carried, value: Any) -> Tile:
    if is_number(value) and plan.shape == () and _literal_type(plan.dtype, value) is plan.dtype:
        return to_dtype(emitter, value, plan.dtype)
    if isinstance(value, Tile | TypedConstant) and (value.dtype, _shape(value)) == (plan.dtype, plan.shape):
        return emitter.as_tile(value)
    raise NoMerge(f"{describe_tile(plan.dtype, plan.shape)} and {describe(value)}")


def rebuild(plan: Plan, values: Iterator[ir.Value]) -> Any:
    """The value out of the operands that passed it."""
    if isinstance(plan, Carried):
        return Tile(next(values), plan.dtype, plan.shape)
    return tuple(rebuild(item, values) for item in plan.items) if isinstance(plan, Several) else plan.value
