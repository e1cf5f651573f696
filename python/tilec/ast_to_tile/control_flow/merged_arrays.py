"""Merges unlike arrays, and views of them, from several control-flow paths: as pointers, extents and strides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tilec.ast_to_tile.emitter import Emitter, pointer_type, tile_type
from tilec.ast_to_tile.operations.convert import to_dtype
from tilec.ast_to_tile.operations.view import tensor_view
from tilec.ast_to_tile.values.values import Array, ForeignPointer, KernelValue, Tile, View
from tilec.dialect.mlir import ir
from tilec.language import datatypes
from tilec.language.datatypes import DType

Extents = tuple[int | None, ...]


@dataclass(frozen=True)
class CarriedArray:
    """An array, or a view of one, passed as operands; `like` is one of the values.

    Only extents and strides that differ, or are known at run time only, are operands.
    """

    like: KernelValue
    dtype: DType
    shape: Extents
    strides: Extents
    index_dtype: DType


def unify_arrays(values: Sequence[KernelValue]) -> CarriedArray | None:
    """The plan that merges arrays, or views that differ only in their arrays; None for other values."""
    arrays = [array for value in values if (array := _array_of(value)) is not None]
    first = values[0]
    if len(arrays) < len(values) or any(_with_array(value, arrays[0]) != first for value in values[1:]):
        return None
    if any((array.dtype, len(array.shape)) != (arrays[0].dtype, len(arrays[0].shape)) for array in arrays):
        return None
    wide = any(array.index_dtype is datatypes.int64 for array in arrays)
    shape, strides = (tuple(map(_constant, zip(*items, strict=True))) for items in _parts(arrays))
    return CarriedArray(first, arrays[0].dtype, shape, strides, datatypes.int64 if wide else datatypes.int32)


def is_local_array(value: KernelValue) -> bool:
    """Whether the value is an array, or a view of one, that is not defined in the block of the entry."""
    array = _array_of(value)
    return array is not None and array.tensor_view.owner.operation.parent.name != "cuda_tile.entry"


def _array_of(value: KernelValue) -> Array | None:
    if isinstance(value, View) and not isinstance(value, ForeignPointer):
        return value.array
    return value if isinstance(value, Array) else None


def _with_array(value: KernelValue, array: Array) -> KernelValue:
    """The array, or a view of it with the parameters of `value`."""
    return array if isinstance(value, Array) else replace(value, array=array)  # type: ignore[type-var]


def _parts(arrays: Sequence[Array]) -> tuple[list[tuple[Tile | int, ...]], list[tuple[Tile | int, ...]]]:
    return [array.shape for array in arrays], [array.strides for array in arrays]


def _constant(items: Sequence[Tile | int]) -> int | None:
    """The extent or stride that is the same positive constant in all arrays; None if there is none."""
    first = items[0]
    return first if isinstance(first, int) and first > 0 and all(item == first for item in items) else None


def array_types(plan: CarriedArray) -> list[ir.Type]:
    """The types of the operands of an array."""
    unknown = (*plan.shape, *plan.strides).count(None)
    return [pointer_type(plan.dtype), *[tile_type(plan.index_dtype)] * unknown]


def array_operands(emitter: Emitter, plan: CarriedArray, value: KernelValue) -> list[ir.Value] | None:
    """The operands that pass an array; None if the value does not match the plan."""
    array, common = _array_of(value), unify_arrays([plan.like, value])
    if array is None or common is None or common.index_dtype is not plan.index_dtype:
        return None
    sizes = list(zip((*array.shape, *array.strides), (*plan.shape, *plan.strides), strict=True))
    if any(known is not None and size != known for size, known in sizes):
        return None
    return [array.pointer, *(to_dtype(emitter, size, plan.index_dtype).value for size, known in sizes if known is None)]


def null_array(emitter: Emitter, plan: CarriedArray) -> list[ir.Value]:
    """The operands of an array that is not accessed: a null pointer, and zeros."""
    address = emitter.constant(0, datatypes.int64)
    pointer, *sizes = array_types(plan)
    zero = emitter.constant(0, plan.index_dtype)
    return [emitter.build("int_to_ptr", [address.value], [pointer]).results[0], *[zero.value] * len(sizes)]


def unlike_arrays(plan: CarriedArray, value: KernelValue) -> str:
    """The end of the message that a value does not match the plan, if only its extents and strides do not."""
    return " with other constant extents or strides" if unify_arrays([plan.like, value]) is not None else ""


def rebuild_array(plan: CarriedArray, values: Iterator[ir.Value]) -> KernelValue:
    """The array, or the view of it, that the operands represent."""
    pointer = next(values)
    shape, strides = (
        tuple(Tile(next(values), plan.index_dtype, ()) if known is None else known for known in extents)
        for extents in (plan.shape, plan.strides)
    )
    name = _array_of(plan.like).name  # type: ignore[union-attr]
    owner = pointer.owner
    point = ir.InsertionPoint.at_block_begin(owner) if isinstance(owner, ir.Block) else ir.InsertionPoint.after(owner)
    location = owner.owner.location if isinstance(owner, ir.Block) else owner.location
    with point:
        view = tensor_view(pointer, plan.dtype, shape, strides, location)
    return _with_array(plan.like, Array(name, plan.dtype, pointer, shape, strides, view))
