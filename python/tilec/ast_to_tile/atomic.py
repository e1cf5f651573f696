"""Atomic operations on elements of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.emitter import Emitter, tile_type
from tilec.ast_to_tile.memory import access_attributes, spread
from tilec.ast_to_tile.pointers import addresses
from tilec.ast_to_tile.registry import implements
from tilec.ast_to_tile.values import Array, Tile
from tilec.dialect.cuda_tile.types import TokenType
from tilec.language import atomic as language
from tilec.language import datatypes
from tilec.language.datatypes import DType
from tilec.language.modes import MemoryOrder

ORDERS = (MemoryOrder.RELAXED, MemoryOrder.ACQUIRE, MemoryOrder.RELEASE, MemoryOrder.ACQ_REL)

_INTEGERS = (datatypes.int32, datatypes.int64, datatypes.uint32, datatypes.uint64)
_WORDS = (*_INTEGERS, datatypes.float32, datatypes.float64)
_ADDED = (*_WORDS, datatypes.float16, datatypes.bfloat16)

# The modes for signed integers, unsigned ones and floats, and the elements that can be updated (Tile IR, atomics).
_MODES: dict[Callable[..., Any], tuple[tuple[str, str, str], tuple[DType, ...]]] = {
    language.atomic_xchg: (("xchg", "xchg", "xchg"), _WORDS),
    language.atomic_add: (("add", "add", "addf"), _ADDED),
    language.atomic_max: (("max", "umax", ""), _INTEGERS),
    language.atomic_min: (("min", "umin", ""), _INTEGERS),
    language.atomic_and: (("and", "and", ""), _INTEGERS),
    language.atomic_or: (("or", "or", ""), _INTEGERS),
    language.atomic_xor: (("xor", "xor", ""), _INTEGERS),
}


def _target(array: Any, elements: tuple[DType, ...]) -> Array:
    target = arguments.array(array)
    if target.dtype not in elements:
        known = ", ".join(map(str, elements))
        raise arguments.BadArgument("array", f"expected elements of {known}, got {target.dtype}")
    return target


def _update(modes: tuple[str, str, str], elements: tuple[DType, ...]) -> Callable[..., Tile]:
    def build(emitter: Emitter, array: Any, indices: Any, update: Any, check_bounds: Any, **options: Any) -> Tile:
        target = _target(array, elements)
        pointers, shape, mask = addresses(emitter, target, indices, None, check_bounds)
        value = spread(emitter, update, "update", target.dtype, shape)
        mode = modes[2] if target.dtype.is_float else modes[0] if target.dtype.signed else modes[1]
        operands = [pointers, value.value, mask and mask.value, None]
        results = [tile_type(target.dtype, shape), TokenType.get()]
        attributes = access_attributes(options, ORDERS) | {"mode": mode}
        made = emitter.build("atomic_rmw_tko", operands, results, attributes)
        return Tile(made.results[0], target.dtype, shape)

    build.__qualname__ = f"_update({modes[0]})"
    return build


for _function, (_modes, _elements) in _MODES.items():
    implements(_function)(_update(_modes, _elements))


@implements(language.atomic_cas)
def _compare_and_swap(
    emitter: Emitter, array: Any, indices: Any, expected: Any, desired: Any, check_bounds: Any, **options: Any
) -> Tile:
    target = _target(array, _WORDS)
    pointers, shape, mask = addresses(emitter, target, indices, None, check_bounds)
    old = spread(emitter, expected, "expected", target.dtype, shape)
    new = spread(emitter, desired, "desired", target.dtype, shape)
    operands = [pointers, old.value, new.value, mask and mask.value, None]
    results = [tile_type(target.dtype, shape), TokenType.get()]
    made = emitter.build("atomic_cas_tko", operands, results, access_attributes(options, ORDERS))
    return Tile(made.results[0], target.dtype, shape)
