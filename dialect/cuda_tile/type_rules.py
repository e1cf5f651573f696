"""Rules for the parameters of types; each returns the problem, or None."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.cuda_tile.element import DYNAMIC, ELEMENT_BITS, FLOATS, NUMBERS, spell_extent
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell

MAXIMUM_TILE_ELEMENTS = 1 << 24
PADDING_VALUES = ("zero", "neg_zero", "nan", "pos_inf", "neg_inf")
POINTER_ATTRIBUTES = ("none", "unicast", "multicast")


def pointer_problem(element: ir.Type, attribute: str | None) -> str | None:
    """Checks the pointee of a pointer."""
    if spell(element) not in NUMBERS:
        return f"pointee must be a number type, but got '{spell(element)}'"
    if attribute is not None and attribute not in POINTER_ATTRIBUTES:
        return f"pointer attribute must be one of: {', '.join(POINTER_ATTRIBUTES)}, but got: {attribute}"
    return None


def tile_problem(shape: Sequence[int], element: ir.Type) -> str | None:
    """The problem with the shape and element type of a tile, or None."""
    listed = f"[{', '.join(map(str, shape))}]"
    if not spell(element).startswith("ptr<") and spell(element) not in ELEMENT_BITS:
        return f"tile element must be a number type or a pointer, but got '{spell(element)}'"
    if any(extent <= 0 for extent in shape):
        return f"all dimensions must be positive constants, got {listed}"
    if any(extent & (extent - 1) for extent in shape):
        return f"all dimensions must be powers of two, got {listed}"
    # Adds the exponents of the powers of two, because the product of many extents could be huge.
    if sum(extent.bit_length() - 1 for extent in shape) > MAXIMUM_TILE_ELEMENTS.bit_length() - 1:
        return f"tile would exceed the maximum of {MAXIMUM_TILE_ELEMENTS} elements"
    if shape and spell(element).startswith("ptr<f4E2M1FN"):
        return f"tiles of {spell(element)} must have rank 0; use an f4 tile view for memory accesses"
    if spell(element) == "f4E2M1FN" and all(extent % 2 for extent in shape):
        return "F4E2M1FN tiles must have an even number of elements"
    return None


def tensor_view_problem(shape: Sequence[int], element: ir.Type, strides: Sequence[int]) -> str | None:
    """The problem with the extents (DYNAMIC allowed), element type and strides of a tensor view, or None."""
    if spell(element) not in NUMBERS:
        return f"tensor_view element must be a number type, but got '{spell(element)}'"
    if len(shape) != len(strides):
        found = f"shape of rank {len(shape)} and strides of rank {len(strides)}"
        return f"expected shape and stride to be of same rank but got {found}"
    for values, name in ((shape, "sizes"), (strides, "strides")):
        if any(value <= 0 and value != DYNAMIC for value in values):
            listed = ", ".join(spell_extent(None if value == DYNAMIC else value) for value in values)
            return f"dimensions must have strictly positive constant {name} but got [{listed}]"
        if any(value >> 63 > 0 for value in values):
            return f"{name} of dimensions must be below 2^63, but got {max(values)}"
    return None


def tile_view_problem(tile_shape: Sequence[int], tensor_view: ir.Type, padding: str | None) -> str | None:
    if not spell(tensor_view).startswith("tensor_view<"):
        return f"expected 'tensor_view' type, but got '{spell(tensor_view)}'"
    listed = f"[{', '.join(map(str, tile_shape))}]"
    if not tile_shape:
        return "0-dimension tile shape is not supported"
    if len(tile_shape) != tensor_view.rank:
        found = f"tensor_view rank {tensor_view.rank} and tile rank {len(tile_shape)}"
        return f"expected tensor_view rank and tile rank to match, got {found}"
    if any(extent <= 0 for extent in tile_shape):
        return f"tile shape dimensions must have positive length but got {listed}"
    if any(extent & (extent - 1) for extent in tile_shape):
        return f"tile shape dimensions must have power of two length but got {listed}"
    return _padding_problem(padding, tensor_view.element) or tile_problem(tile_shape, tensor_view.element)


def _padding_problem(padding: str | None, element: ir.Type) -> str | None:
    if padding is not None and padding not in PADDING_VALUES:
        return (
            f'invalid padding_value attribute specification. Got "{padding}" but expect one of: '
            f"{', '.join(PADDING_VALUES)}"
        )
    if padding not in (None, "zero") and spell(element) not in FLOATS:
        return f"padding_value {padding} can only be used with floating point element types, got {spell(element)}"
    return None


def dim_map_problem(mapping: Sequence[int], rank: int) -> str | None:
    if len(mapping) != rank:
        return f"expected dim_map to map exactly all {rank} dimensions of the tile, got {len(mapping)} mappings"
    for position, target in enumerate(mapping):
        if target < 0:
            return f"target dimension must not be negative, got {target}"
        if target >= rank:
            problem = "target dimension is outside of tensor view dimensions"
            return f"{problem}, expected strictly less than {rank}, got {target}"
        if target in mapping[:position]:
            first = list(mapping).index(target)
            return f"target dimension {target} mapped at least twice (for tile dimensions {first} and {position})"
    return None


def traversal_problem(strides: Sequence[int], rank: int) -> str | None:
    if len(strides) != rank:
        return f"expected {rank} traversal strides, got {len(strides)}"
    if any(stride <= 0 for stride in strides):
        return f"traversal strides must be strictly positive but got [{', '.join(map(str, strides))}]"
    if any(stride >> 31 for stride in strides):
        return f"traversal strides must be below 2^31, but got {max(strides)}"
    return None


def sparse_dim_problem(dimension: int, rank: int) -> str | None:
    """Checks that the sparse dimension is a dimension of the view."""
    if not 0 <= dimension < rank:
        return f"gather dimension is outside of tensor view dimensions, expected less than {rank}, got {dimension}"
    return None
