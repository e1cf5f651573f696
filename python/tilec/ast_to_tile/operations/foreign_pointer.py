"""Foreign pointers, and the arrays that are made from them."""

from __future__ import annotations

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.arguments import BadArgument
from tilec.ast_to_tile.emitter import Emitter
from tilec.ast_to_tile.operations.convert import to_dtype
from tilec.ast_to_tile.operations.view import make_array, not_negative
from tilec.ast_to_tile.registry import implements
from tilec.ast_to_tile.values.bound_method import bound_method
from tilec.ast_to_tile.values.values import (
    Array,
    ForeignPointer,
    KernelValue,
    Operand,
    Tile,
    TypedConstant,
    describe,
    needs_64_bits,
)
from tilec.language import datatypes
from tilec.language.datatypes import DType, pointer_to
from tilec.language.operations import foreign_pointer as language
from tilec.language.operations.view import Array as ArrayLanguage


def pointer_attribute(pointer: ForeignPointer, name: str) -> KernelValue:
    """`pointer.name`; raises CompileError for an unknown attribute."""
    attributes: dict[str, KernelValue] = {"dtype": pointer_to(pointer.pointee), "shape": (), "ndim": 0}
    if name in attributes:
        return attributes[name]
    return bound_method(pointer, name, language.ForeignPointer, "foreign pointers")


@implements(language.foreign_pointer_dtype)
def _foreign_pointer_dtype(emitter: Emitter, pointee_dtype: KernelValue) -> DType:
    return pointer_to(arguments.dtype(pointee_dtype, "pointee_dtype"))


@implements(ArrayLanguage.from_foreign)
def _from_foreign(emitter: Emitter, pointer: KernelValue, shape: KernelValue, strides: KernelValue) -> Array:
    if not isinstance(pointer, ForeignPointer):
        raise BadArgument("pointer", f"expected a foreign pointer, got {describe(pointer)}: use x.foreign_pointer")
    extents, distances = _integers(shape, "shape"), _integers(strides, "strides")
    if len(extents) != len(distances):
        raise BadArgument("strides", f"expected one stride per extent, {len(extents)} in all, got {len(distances)}")
    dtype = datatypes.int64 if any(map(needs_64_bits, extents + distances)) else datatypes.int32
    sizes, steps = (tuple(_size(emitter, item, dtype) for item in items) for items in (extents, distances))
    return make_array(emitter, pointer.name, pointer.pointee, pointer.value, sizes, steps)


def _integers(values: KernelValue, parameter: str) -> tuple[Operand, ...]:
    """The extents or strides; raises BadArgument for one that is not a signed integer or is a negative constant."""
    if not isinstance(values, tuple):
        raise BadArgument(parameter, f"expected a tuple of integer scalars, got {describe(values)}")
    items = arguments.index(values, len(values), parameter)
    for item in items:
        if isinstance(item, Tile | TypedConstant) and not item.dtype.signed:
            raise BadArgument(parameter, f"expected signed integers, got {describe(item)}: convert it with astype()")
        number = arguments.known(item)
        if isinstance(number, int) and number < 0:
            raise BadArgument(parameter, f"expected at least 0, got {number}")
    return items


def _size(emitter: Emitter, item: Operand, dtype: DType) -> Tile | int:
    """An extent or stride: constant, or a scalar of the type of all of them that is at least 0."""
    if isinstance(item, Tile):
        return not_negative(emitter, to_dtype(emitter, item, dtype))
    return int(arguments.known(item))
