"""Translation of the MLIR operations of an entry to steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tilec.dialect.cache import cached
from tilec.dialect.cuda_tile import types
from tilec.dialect.fields import ONE, OPTIONAL, ValueField
from tilec.dialect.mlir import ir
from tilec.dialect.operation import groups
from tilec.dialect.spelling import spell
from tilec.dialect.tilex.im2col_type import BY_ROW
from tilec.dialect.tilex.im2col_type import Im2colViewType as Im2colView
from tilec.dialect.tilex.packed_type import PackedViewType as PackedView
from tilec.errors import UnsupportedError
from tilec.lowering.tile.analysis.stride_assumptions import ASSUME, MAKE_TENSOR_VIEW, is_stride, stride_assumptions
from tilec.runtime.interpret.location import source_location
from tilec.runtime.interpret.memory.masked_pointers import OFFSET, is_masked
from tilec.runtime.interpret.numbers.constants import array_of_elements
from tilec.runtime.interpret.numbers.element import ELEMENTS, TileElement
from tilec.runtime.interpret.op_groups import MEANINGS
from tilec.runtime.interpret.step import (
    Block,
    Im2colViewType,
    PackedViewType,
    Step,
    TensorViewType,
    TileType,
    TileViewType,
)

T = TypeVar("T")


@cached
def element_of(type: ir.Type) -> TileElement:
    """The element of an MLIR number or pointer type."""
    if isinstance(type, types.PointerType):
        return TileElement("ptr", element_of(type.element))
    return ELEMENTS[spell(type)]


@cached
def plain_type(type: ir.Type) -> Any:
    """A type of Tile IR in plain Python; None for a token."""
    if isinstance(type, types.TokenType):
        return None
    if isinstance(type, types.TileType):
        return TileType(type.shape, element_of(type.element))
    if isinstance(type, types.TensorViewType):
        return TensorViewType(type.shape, type.strides, element_of(type.element))
    if isinstance(type, Im2colView):
        numbers = (type.window, type.dilation, type.stride, type.lower, type.upper)
        return Im2colViewType(plain_type(type.tile_type), *numbers, type.mode in BY_ROW, type.interleave)
    if isinstance(type, PackedView):
        return PackedViewType(plain_type(type.tile_type), type.bits)
    tile, identity = plain_type(type.tile_type), tuple(range(type.rank))
    if isinstance(type, types.GatherScatterViewType):
        return TileViewType(tile, (1,) * type.rank, identity, type.padding, type.sparse_dim)
    steps = type.traversal_strides if isinstance(type, types.StridedViewType) else type.tile_shape
    return TileViewType(tile, tuple(steps), type.dim_map, type.padding)


class Preparation:
    """Numbers the values of one entry and translates its operations to steps."""

    def __init__(self) -> None:
        self._slots: dict[ir.Value, int] = {}

    @property
    def slot_count(self) -> int:
        return len(self._slots)

    def block(self, block: ir.Block) -> Block:
        """The steps of a block; raises UnsupportedError, with the source location, for an unsupported operation."""
        made = Block(tuple(self.slot(argument) for argument in block.arguments))
        made.steps.extend(self.step(op) for op in block.operations)
        made.vectorisable = all(step.elementwise and not step.blocks for step in made.steps)
        return made

    def slot(self, value: ir.Value) -> int:
        """The number of a value."""
        return self._slots.setdefault(value, len(self._slots))

    def step(self, op: ir.OpView) -> Step:
        """The step of one operation; raises UnsupportedError if the interpreter does not support it."""
        name = op.operation.name
        location, notes = source_location(op.location)
        if name not in MEANINGS:
            raise UnsupportedError(f"the interpreter does not support '{name}'", location, notes)
        found = MEANINGS[name]
        operands = groups(op, "operand") or {}
        return Step(
            name,
            found.meaning,
            found.elementwise,
            tuple(_entry(field, operands[field.name], self.slot) for field in op.operand_fields),
            tuple(self.slot(result) for result in op.operation.results),
            tuple(_entry(field, operands[field.name], _type) for field in op.operand_fields),
            tuple(_type(result) for result in op.operation.results),
            _attributes(op),
            tuple(self.block(region.blocks[0]) if len(region.blocks) else None for region in op.regions),
            location,
            notes,
        )


def _type(value: ir.Value) -> Any:
    return plain_type(value.type)


def _entry(field: ValueField, values: list[ir.Value], map_value: Callable[[ir.Value], T]) -> T | tuple[T, ...] | None:
    """`map_value` of the values of a field: None for an absent optional, a tuple for a variadic group."""
    if field.arity == ONE:
        return map_value(values[0])
    if field.arity == OPTIONAL:
        return map_value(values[0]) if values else None
    return tuple(map_value(value) for value in values)


def _attributes(op: ir.OpView) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, field in op.attribute_fields.items():
        if name in op.attributes:
            found[name] = _plain(field.to_python(op.attributes[name]))
        else:
            found[name] = False if field.kind == "flag" else field.default
    if op.operation.name == ASSUME:
        found["is_stride"] = is_stride(op)
    if op.operation.name == OFFSET:
        found["is_masked"] = is_masked(op)
    if op.operation.name == MAKE_TENSOR_VIEW:
        found["stride_assumptions"] = stride_assumptions(op)
    return found


def _plain(value: object) -> object:
    if isinstance(value, ir.DenseElementsAttr):
        element = element_of(ir.RankedTensorType(value.type).element_type)
        return array_of_elements(value, element)
    return value
