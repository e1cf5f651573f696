"""One type of every kind, element and option, and one attribute of every kind."""

from __future__ import annotations

from itertools import product

from tilec.dialect.assembly.types import element_type
from tilec.dialect.cuda_tile.attributes import BoundedAttr, DivByAttr, SameElementsAttr
from tilec.dialect.cuda_tile.element import ELEMENT_BITS, FLOATS, NUMBERS
from tilec.dialect.cuda_tile.type_rules import PADDING_VALUES, POINTER_ATTRIBUTES
from tilec.dialect.cuda_tile.types import (
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TokenType,
)
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.types import MEMORIES, BufferType, ChannelType, TensorMapType

SHAPES = ([], [2], [8, 4], [1, 2, 4, 8])


def types(elements: set[str]) -> list[ir.Type]:
    """Types over these elements (names of Tile IR), in the entered context."""
    result: list[ir.Type] = [TokenType.get(), TensorMapType.get()]
    for name in ELEMENT_BITS:
        if name in elements:
            # Elements of four bits are stored in pairs, so their tiles do not have rank 0.
            result += [TileType.get(shape, element_type(name)) for shape in SHAPES[name == "f4E2M1FN" :]]
    for name in NUMBERS:
        if name in elements:
            result += _of_number(name)
    buffers = [BufferType.get([64, 32], element_type("f16"), memory, "(0,1)(1,0)") for memory in MEMORIES]
    return [*result, *buffers, ChannelType.get(buffers)]


def _of_number(name: str) -> list[ir.Type]:
    element = element_type(name)
    pointers = [PointerType.get(element, attribute) for attribute in (None, *POINTER_ATTRIBUTES)]
    views = [
        TensorViewType.get(shape, element, strides, attribute)
        for (shape, strides), attribute in product(
            [([], []), ([None], [1]), ([64, None], [None, 1])], (None, *POINTER_ATTRIBUTES)
        )
    ]
    # Pointers to elements of four bits exist only in tiles of rank 0.
    shape = [] if name == "f4E2M1FN" else [4]
    return [*pointers, *(TileType.get(shape, p) for p in pointers), *views, *_tile_views(name, views[-1])]


def _tile_views(name: str, view: TensorViewType) -> list[ir.Type]:
    paddings = (None, *(PADDING_VALUES if name in FLOATS else PADDING_VALUES[:1]))
    return [
        result
        for padding in paddings
        for result in (
            PartitionViewType.get([8, 4], view, [1, 0], padding),
            StridedViewType.get([8, 4], [3, 5], view, None, padding),
            GatherScatterViewType.get([8, 4], view, 1, padding),
        )
    ]


def attributes() -> list[ir.Attribute]:
    """Attributes of Tile IR, in the entered context."""
    return [
        DivByAttr.get(16),
        DivByAttr.get(1 << 40, 4, 1),
        SameElementsAttr.get([1, 16]),
        SameElementsAttr.get([]),
        *(BoundedAttr.get(low, high) for low, high in product((None, -(1 << 63)), (None, (1 << 63) - 1))),
    ]
