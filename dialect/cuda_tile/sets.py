"""Type constraints of the operations of Tile IR, and type variables."""

from __future__ import annotations

from dataclasses import replace

from tilec.dialect.cache import cached
from tilec.dialect.constraints import Constraint, Unconstrained, any_of, number
from tilec.dialect.cuda_tile.element import ELEMENT_BITS, EXTENSION_FLOATS, FLOATS, INTEGERS, NUMBERS
from tilec.dialect.cuda_tile.types import (
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TokenType,
)
from tilec.dialect.fields import TypeSet, TypeVariable
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell

# Floats with arithmetic; the others support only storage, movement, conversion and mma.
ARITHMETIC_FLOATS = ("f16", "bf16", "f32", "f64")
VIEWS = (PartitionViewType, StridedViewType, GatherScatterViewType)


def tile_of(name: str, elements: tuple[str, ...], description: str = "", scalar: bool = False) -> TypeSet:
    """Tiles of some element types; `scalar` ones have rank 0."""
    described = f"{'0D ' if scalar else ''}tile of {description or ' or '.join(elements)} values"

    @cached
    def contains(type: ir.Type) -> bool:
        return isinstance(type, TileType) and spell(type.element) in elements and not (scalar and type.shape)

    return TypeSet(name, described, contains, TileType[_shape(scalar), number(elements)])


def _shape(scalar: bool) -> Constraint:
    return ir.DenseI64ArrayAttr[((),)] if scalar else Unconstrained


def _pointer_tile(scalar: bool) -> TypeSet:
    @cached
    def contains(type: ir.Type) -> bool:
        return isinstance(type, TileType) and isinstance(type.element, PointerType) and not (scalar and type.shape)

    return TypeSet(
        "ScalarPointer" if scalar else "PointerTile",
        f"{'0D ' if scalar else ''}tile of pointer values",
        contains,
        TileType[_shape(scalar), PointerType[Unconstrained, Unconstrained]],
    )


def _instances(name: str, described: str, kinds: type | tuple[type, ...], irdl: Constraint = Unconstrained) -> TypeSet:
    return TypeSet(name, described, lambda type: isinstance(type, kinds), irdl)


AnyTile = _instances("AnyTile", "a tile", TileType, TileType)
Token = replace(_instances("Token", "a token", TokenType, TokenType), only="!cuda_tile.token")
TensorView = _instances("TensorView", "a tensor_view", TensorViewType, TensorViewType)
PartitionView = _instances("PartitionView", "a partition_view", PartitionViewType, PartitionViewType)
StridedView = _instances("StridedView", "a strided_view", StridedViewType, StridedViewType)
GatherScatterView = _instances(
    "GatherScatterView", "a gather_scatter_view", GatherScatterViewType, GatherScatterViewType
)
TileView = _instances(
    "TileView",
    "a partition_view, strided_view or gather_scatter_view",
    VIEWS,
    any_of(
        [
            PartitionViewType[(Unconstrained,) * 4],
            StridedViewType[(Unconstrained,) * 5],
            GatherScatterViewType[(Unconstrained,) * 4],
        ]
    ),
)
AnyType = _instances("AnyType", "a type of Tile IR", (TileType, TokenType, TensorViewType, *VIEWS))

BoolTile = tile_of("BoolTile", ("i1",))
IntegerTile = tile_of("IntegerTile", INTEGERS)
NarrowIntegerTile = tile_of("NarrowIntegerTile", ("i4", *INTEGERS))
FloatTile = tile_of("FloatTile", ARITHMETIC_FLOATS)
AnyFloatTile = tile_of("AnyFloatTile", FLOATS)
NumberTile = tile_of("NumberTile", NUMBERS)
AnyNumberTile = tile_of("AnyNumberTile", tuple(name for name in ELEMENT_BITS if name not in EXTENSION_FLOATS))
PointerTile = _pointer_tile(scalar=False)
ByteTile = tile_of("ByteTile", ("i8",))
Int32Tile = tile_of("Int32Tile", ("i32",))
Int64Tile = tile_of("Int64Tile", ("i64",))
Float32Tile = tile_of("Float32Tile", ("f32",))
SmallIntegerTile = tile_of("SmallIntegerTile", ("i1", "i8", "i16", "i32"))

ScalarBool = tile_of("ScalarBool", ("i1",), scalar=True)
ScalarInt32 = tile_of("ScalarInt32", ("i32",), scalar=True)
ScalarInteger = tile_of("ScalarInteger", INTEGERS, scalar=True)
ScalarPointer = _pointer_tile(scalar=True)

MatrixInput = tile_of("MatrixInput", ("f16", "bf16", "f32", "f64", "tf32", "f8E4M3FN", "f8E5M2"))
MatrixAccumulator = tile_of("MatrixAccumulator", ("f16", "f32", "f64"))
ScaledInput = tile_of("ScaledInput", ("f8E4M3FN", "f8E5M2", "f4E2M1FN"))
ScaleTile = tile_of("ScaleTile", ("f8E4M3FN", "f8E8M0FNU", "fnv8E5M3FNU"))

# A variable used twice in an operation means equal types.
T = TypeVariable("T", AnyTile)
Int = TypeVariable("Int", IntegerTile)
Float = TypeVariable("Float", FloatTile)
Pointer = TypeVariable("Pointer", PointerTile)
Any_ = TypeVariable("Any", AnyType)
