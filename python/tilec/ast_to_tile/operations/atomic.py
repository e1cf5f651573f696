"""Builds the operations of `ct.atomic_add` and the other atomic functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.arguments import BadArgument
from tilec.ast_to_tile.emitter import Emitter, tile_type
from tilec.ast_to_tile.operations.accesses import access_attributes, view_indices
from tilec.ast_to_tile.operations.memory import to_index_shape
from tilec.ast_to_tile.operations.pointers import addresses, offset_addresses
from tilec.ast_to_tile.operations.view import tile_view
from tilec.ast_to_tile.registry import implements, implements_each
from tilec.ast_to_tile.values.values import (
    Array,
    KernelValue,
    RawArrayMemory,
    Shape,
    Tile,
    TiledView,
    describe,
    is_number,
)
from tilec.dialect.cuda_tile.types import TokenType
from tilec.dialect.mlir import ir
from tilec.language import datatypes
from tilec.language.datatypes import DType
from tilec.language.modes import MemoryOrder, MemoryScope, PaddingMode
from tilec.language.operations import atomic as language
from tilec.language.operations.raw_memory import RawArrayMemory as RawLanguage
from tilec.language.operations.view import TiledView as ViewLanguage

# The pointers to the elements to update, their shape, and the mask of the updated elements (None: all).
Elements = tuple[ir.Value, Shape, Tile | None]

ORDERS = (MemoryOrder.RELAXED, MemoryOrder.ACQUIRE, MemoryOrder.RELEASE, MemoryOrder.ACQ_REL)

_INTEGERS = (datatypes.int32, datatypes.int64, datatypes.uint32, datatypes.uint64)
_COUNTED = (datatypes.uint32,)
_EXCHANGEABLE = (*_INTEGERS, datatypes.float32, datatypes.float64)
_ADDABLE = (*_EXCHANGEABLE, datatypes.float16, datatypes.bfloat16)


@dataclass(frozen=True)
class Update:
    """An atomic read-modify-write: its Tile IR mode for each kind of element type, and its element types."""

    signed: str
    unsigned: str
    floating: str
    elements: tuple[DType, ...]
    # The dialect of the operation, unless it is Tile IR.
    prefix: str = ""
    # The operand of a bitwise update is not converted: it has the element type of the array, or is a Python number.
    same_type: bool = False

    def mode(self, dtype: DType) -> str:
        return self.floating if dtype.is_float else self.signed if dtype.signed else self.unsigned


_UPDATES: dict[Callable[..., object], Update] = {
    language.atomic_xchg: Update("xchg", "xchg", "xchg", _EXCHANGEABLE),
    language.atomic_add: Update("add", "add", "addf", _ADDABLE),
    language.atomic_max: Update("max", "umax", "", _INTEGERS),
    language.atomic_min: Update("min", "umin", "", _INTEGERS),
    language.atomic_and: Update("and", "and", "", _INTEGERS, same_type=True),
    language.atomic_or: Update("or", "or", "", _INTEGERS, same_type=True),
    language.atomic_xor: Update("xor", "xor", "", _INTEGERS, same_type=True),
    language.atomic_inc: Update("", "inc", "", _COUNTED, prefix="tilex.", same_type=True),
    language.atomic_dec: Update("", "dec", "", _COUNTED, prefix="tilex.", same_type=True),
}


# The updates of tiles of views, and those of single elements that they repeat.
_VIEW_UPDATES: dict[Callable[..., object], Update] = {
    ViewLanguage.atomic_store_add: _UPDATES[language.atomic_add],
    ViewLanguage.atomic_store_max: _UPDATES[language.atomic_max],
    ViewLanguage.atomic_store_min: _UPDATES[language.atomic_min],
    ViewLanguage.atomic_store_and: _UPDATES[language.atomic_and],
    ViewLanguage.atomic_store_or: _UPDATES[language.atomic_or],
    ViewLanguage.atomic_store_xor: _UPDATES[language.atomic_xor],
    ViewLanguage.atomic_store_inc: _UPDATES[language.atomic_inc],
    ViewLanguage.atomic_store_dec: _UPDATES[language.atomic_dec],
}

# The updates of single elements by offset.
_RAW_UPDATES: dict[Callable[..., object], Update] = {
    RawLanguage.atomic_xchg_offset: _UPDATES[language.atomic_xchg],
    RawLanguage.atomic_add_offset: _UPDATES[language.atomic_add],
    RawLanguage.atomic_max_offset: _UPDATES[language.atomic_max],
    RawLanguage.atomic_min_offset: _UPDATES[language.atomic_min],
    RawLanguage.atomic_and_offset: _UPDATES[language.atomic_and],
    RawLanguage.atomic_or_offset: _UPDATES[language.atomic_or],
    RawLanguage.atomic_xor_offset: _UPDATES[language.atomic_xor],
}


def _target(array: KernelValue, elements: tuple[DType, ...]) -> Array:
    target = arguments.array(array)
    _check_elements("array", target, elements)
    return target


def _check_elements(parameter: str, target: Array, elements: tuple[DType, ...]) -> None:
    if target.dtype not in elements:
        known = ", ".join(map(str, elements))
        raise BadArgument(parameter, f"expected elements of {known}, got {target.dtype}")


def _check_same_type(update: KernelValue, target: Array) -> None:
    value = arguments.tile_like(update, "update")
    if not is_number(value) and value.dtype is not target.dtype:
        raise BadArgument(
            "update", f"expected elements of {target.dtype} like array '{target.name}', got {describe(value)}"
        )


def _update(
    kind: Update,
    emitter: Emitter,
    array: KernelValue,
    indices: KernelValue,
    update: KernelValue,
    check_bounds: KernelValue,
    **options: KernelValue,
) -> Tile:
    target = _target(array, kind.elements)
    elements = addresses(emitter, target, indices, None, check_bounds)
    return _read_modify_write(kind, emitter, target, elements, update, options)


implements_each(_UPDATES, _update)


def _raw_update(
    kind: Update,
    self: RawArrayMemory,
    emitter: Emitter,
    offset: KernelValue,
    update: KernelValue,
    mask: KernelValue,
    **options: KernelValue,
) -> Tile:
    _check_elements("self", self.array, kind.elements)
    elements = offset_addresses(emitter, self.array, offset, mask)
    return _read_modify_write(kind, emitter, self.array, elements, update, options)


implements_each(_RAW_UPDATES, _raw_update)


def _read_modify_write(
    kind: Update,
    emitter: Emitter,
    target: Array,
    elements: Elements,
    update: KernelValue,
    options: dict[str, KernelValue],
) -> Tile:
    pointers, shape, mask = elements
    if kind.same_type:
        _check_same_type(update, target)
    value = to_index_shape(emitter, update, "update", target.dtype, shape)
    operands = [pointers, value.value, mask and mask.value, None]
    results = [tile_type(target.dtype, shape), TokenType.get()]
    attributes = access_attributes(options, ORDERS) | {"mode": kind.mode(target.dtype)}
    made = emitter.build(f"{kind.prefix}atomic_rmw_tko", operands, results, attributes)
    return Tile(made.results[0], target.dtype, shape)


def _view_update(kind: Update, self: TiledView, emitter: Emitter, index: KernelValue, update: KernelValue) -> None:
    target = self.array
    _check_elements("self", target, kind.elements)
    rank = len(target.shape)
    extents = self.tile_shape or (1,) * rank
    if kind.same_type:
        _check_same_type(update, target)
    value = to_index_shape(emitter, update, "update", target.dtype, extents)
    items = arguments.index(index, rank)
    view = tile_view(emitter, target, extents, tuple(range(rank)), PaddingMode.UNDETERMINED, self.traversal_steps)
    operands = [view, view_indices(emitter, items), value.value, None]
    options: dict[str, KernelValue] = {"memory_order": MemoryOrder.RELAXED, "memory_scope": MemoryScope.DEVICE}
    attributes = access_attributes(options, ORDERS) | {"mode": kind.mode(target.dtype)}
    emitter.build(f"{kind.prefix}atomic_red_view_tko", operands, [TokenType.get()], attributes)


implements_each(_VIEW_UPDATES, _view_update)


@implements(language.atomic_cas)
def _compare_and_swap(
    emitter: Emitter,
    array: KernelValue,
    indices: KernelValue,
    expected: KernelValue,
    desired: KernelValue,
    check_bounds: KernelValue,
    **options: KernelValue,
) -> Tile:
    target = _target(array, _EXCHANGEABLE)
    elements = addresses(emitter, target, indices, None, check_bounds)
    return _compare_and_exchange(emitter, target, elements, expected, desired, options)


@implements(RawLanguage.atomic_cas_offset)
def _raw_compare_and_swap(
    self: RawArrayMemory,
    emitter: Emitter,
    offset: KernelValue,
    expected: KernelValue,
    desired: KernelValue,
    mask: KernelValue,
    **options: KernelValue,
) -> Tile:
    _check_elements("self", self.array, _EXCHANGEABLE)
    elements = offset_addresses(emitter, self.array, offset, mask)
    return _compare_and_exchange(emitter, self.array, elements, expected, desired, options)


def _compare_and_exchange(
    emitter: Emitter,
    target: Array,
    elements: Elements,
    expected: KernelValue,
    desired: KernelValue,
    options: dict[str, KernelValue],
) -> Tile:
    pointers, shape, mask = elements
    old = to_index_shape(emitter, expected, "expected", target.dtype, shape)
    new = to_index_shape(emitter, desired, "desired", target.dtype, shape)
    operands = [pointers, old.value, new.value, mask and mask.value, None]
    results = [tile_type(target.dtype, shape), TokenType.get()]
    made = emitter.build("atomic_cas_tko", operands, results, access_attributes(options, ORDERS))
    return Tile(made.results[0], target.dtype, shape)
