"""Computes the addresses of individual elements for gather, scatter and atomics."""

from __future__ import annotations

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.arguments import BadArgument
from tilec.ast_to_tile.emitter import Emitter, pointer_type
from tilec.ast_to_tile.operations.arith import binary, compare, invert
from tilec.ast_to_tile.operations.convert import to_dtype
from tilec.ast_to_tile.operations.shape import broadcast, common_shape
from tilec.ast_to_tile.values.values import Array, KernelValue, Shape, Tile, TypedConstant, describe, needs_64_bits
from tilec.dialect import undefined_behaviour
from tilec.dialect.mlir import ir
from tilec.language import datatypes


def addresses(
    emitter: Emitter, array: Array, indices: KernelValue, mask: KernelValue, check_bounds: KernelValue
) -> tuple[ir.Value, Shape, Tile | None]:
    """Pointers to the elements at `indices`, their shape, and the mask of accessed elements (None: all)."""
    items = _integer_tiles(emitter, array, indices)
    shape = arguments.at("indices", common_shape, (), *(item.shape for item in items))
    chosen = _mask(emitter, mask, shape)
    if arguments.constant_bool(check_bounds, "check_bounds"):
        for item, extent in zip(items, array.shape, strict=True):
            inside = broadcast(emitter, _below(emitter, item, extent), shape)
            chosen = inside if chosen is None else binary(emitter, "and", chosen, inside)
    elif emitter.checks:
        _check_indices(emitter, array, items, shape, chosen)
    offset = _offset(emitter, array, items, shape)
    return _pointers(emitter, array, offset, shape), shape, chosen


def _check_indices(emitter: Emitter, array: Array, items: list[Tile], shape: Shape, mask: Tile | None) -> None:
    """Asserts that the indices of all elements that a mask selects are inside of the array."""
    for axis, (item, extent) in enumerate(zip(items, array.shape, strict=True)):
        inside = broadcast(emitter, _below(emitter, item, extent), shape)
        if mask is not None:
            inside = binary(emitter, "or", inside, invert(emitter, mask))
        count = extent if isinstance(extent, int) else None
        emitter.check(inside, undefined_behaviour.element_index(axis, count))


def offset_addresses(
    emitter: Emitter, array: Array, offset: KernelValue, mask: KernelValue
) -> tuple[ir.Value, Shape, Tile | None]:
    """Pointers to the elements at offsets in elements from the first, their shape, and the mask (None: all)."""
    elements = emitter.as_tile(arguments.tile_like(offset, "offset"))
    if not elements.dtype.is_integral:
        raise BadArgument("offset", f"expected integers, got {describe(elements)}")
    shape = elements.shape
    chosen = _mask(emitter, mask, shape)
    return _pointers(emitter, array, to_dtype(emitter, elements, datatypes.int64), shape), shape, chosen


def _integer_tiles(emitter: Emitter, array: Array, indices: KernelValue) -> list[Tile]:
    items = indices if isinstance(indices, tuple) else (indices,)
    if len(items) != len(array.shape):
        raise BadArgument("indices", f"expected one index per dimension, {len(array.shape)} in all, got {len(items)}")
    tiles = [emitter.as_tile(arguments.tile_like(item, "indices")) for item in items]
    for tile in tiles:
        if not tile.dtype.is_integral:
            raise BadArgument("indices", f"expected integers, got {describe(tile)}")
    return tiles


def _mask(emitter: Emitter, mask: KernelValue, shape: Shape) -> Tile | None:
    if mask is None:
        return None
    value = arguments.tile_like(mask, "mask")
    dtype = value.dtype if isinstance(value, Tile | TypedConstant) else datatypes.of_literal(value)
    if not dtype.is_boolean:
        raise BadArgument("mask", f"expected booleans, got {describe(value)}")
    return arguments.at("mask", broadcast, emitter, emitter.as_tile(value), shape)


def _below(emitter: Emitter, index: Tile, extent: Tile | int) -> Tile:
    """0 <= index < extent as one unsigned comparison: a negative index is greater than any extent."""
    wide = needs_64_bits(index) or needs_64_bits(extent)
    signed, unsigned = (datatypes.int64, datatypes.uint64) if wide else (datatypes.int32, datatypes.uint32)
    extended = to_dtype(emitter, index, signed)
    limit = broadcast(emitter, to_dtype(emitter, emitter.as_tile(extent, signed), unsigned), index.shape)
    return compare(emitter, "lt", Tile(extended.value, unsigned, extended.shape), limit)


def _offset(emitter: Emitter, array: Array, items: list[Tile], shape: Shape) -> Tile | None:
    """The sum of index * stride in elements, in 64 bits, because an array may have more than 2^31 elements."""
    total = None
    for item, stride in zip(items, array.strides, strict=True):
        term = to_dtype(emitter, item, datatypes.int64)
        if stride != 1:
            term = binary(emitter, "mul", term, to_dtype(emitter, stride, datatypes.int64))
        total = term if total is None else binary(emitter, "add", total, term)
    return None if total is None else broadcast(emitter, total, shape)


def _pointers(emitter: Emitter, array: Array, offset: Tile | None, shape: Shape) -> ir.Value:
    base = array.pointer
    if offset is None:
        return base
    if shape:
        base = emitter.build("reshape", [base], [pointer_type(array.dtype, (1,) * len(shape))]).results[0]
        base = emitter.build("broadcast", [base], [pointer_type(array.dtype, shape)]).results[0]
    return emitter.build("offset", [base, offset.value], [pointer_type(array.dtype, shape)]).results[0]
