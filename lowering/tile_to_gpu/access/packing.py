"""Elements that share bytes: their layouts, their tiles as bytes, and the views that are accessed in bytes."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tilec.dialect.cuda_tile.types import StridedViewType
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.operations.shape import ConvertLayoutOp, PackOp, UnpackOp
from tilec.element_types import element_type
from tilec.errors import UnsupportedError
from tilec.lowering import emitter
from tilec.lowering.emitter import constant_of
from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout, parse_layout
from tilec.lowering.layout.vectors import byte_shape, divided, joined
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile.analysis.tensor_extent import tensor_maker, tile_steps
from tilec.lowering.tile_to_gpu.access.alignment import access_vector, element_bits, per_byte

_PADDINGS = {"neg_zero": -0.0, "nan": math.nan, "pos_inf": math.inf, "neg_inf": -math.inf}
_ACCESSES = ("cuda_tile.load_view_tko", "cuda_tile.store_view_tko")


def loaded_bits(op: ir.OpView) -> int:
    """The bits of the elements of a load of a view; 0 for other operations."""
    is_load = op.operation.name == "cuda_tile.load_view_tko"
    return element_bits(op.operation.results[0].type.element) if is_load else 0


def whole_bytes(type: ir.Type, warps: int, contiguous: int, vector: int) -> LinearLayout:
    """The layout for accesses of `vector` elements along `contiguous`, in which a thread holds whole bytes."""
    parts = per_byte(type.element)
    stored = byte_shape(type.shape, contiguous, parts)
    return divided(blocked(stored, warps, contiguous, vector // parts), contiguous, parts)


def repacked(op: ir.OpView) -> tuple[ir.Value, ir.Value, int]:
    """The operand and the result of pack or unpack: the one of fewer elements, the other, and its elements in each."""
    source, result = op.operation.operands[0], op.operation.results[0]
    whole, part = (source, result) if source.type.shape[0] < result.type.shape[0] else (result, source)
    return whole, part, part.type.shape[0] // whole.type.shape[0]


def with_whole_bytes(tile: ir.Value, dimension: int, warps: int) -> ir.Value:
    """A register tile in a layout in which a thread holds all elements that share a byte along a dimension."""
    element, layout = tile.type.element_type, parse_layout(tile.type.encoding.value)
    parts = per_byte(element)
    if joined(layout, dimension, parts) is not None:
        return tile
    stored = byte_shape(layout.shape, dimension, parts)
    wanted = divided(blocked(stored, warps, dimension), dimension, parts)
    return emitter.gpu(ConvertLayoutOp, [tile], [emitter.tile_type(layout.shape, element, wanted)]).result


def tile_of_bytes(tile: ir.Value, dimension: int, warps: int) -> ir.Value:
    """The bytes of a register tile whose elements share them along a dimension; other tiles are unchanged."""
    if per_byte(tile.type.element_type) == 1:
        return tile
    tile = with_whole_bytes(tile, dimension, warps)
    return emitter.gpu(PackOp, [tile], [type_of_bytes(tile.type, dimension)], dimension=dimension).result


def tile_of_elements(stored: ir.Value, type: ir.Type, dimension: int) -> ir.Value:
    """The register tile of a type from its bytes, or the tile itself."""
    if stored.type == type:
        return stored
    if is_predicate_tile(type):
        return emitter.compare("ne", stored, emitter.zero(stored.type))
    return emitter.gpu(UnpackOp, [stored], [type], dimension=dimension).result


def type_of_bytes(type: ir.Type, dimension: int) -> ir.Type:
    """The type of the bytes of a register tile of predicates, or whose elements share them; others are unchanged."""
    if is_predicate_tile(type):
        return emitter.with_element(type, emitter.integer_type(8))
    parts = per_byte(type.element_type)
    if parts == 1:
        return type
    layout = joined(parse_layout(type.encoding.value), dimension, parts)
    assert layout is not None
    return emitter.tile_type(layout.shape, emitter.integer_type(8), layout)


def is_predicate_tile(type: ir.Type) -> bool:
    """Whether a type is that of a register tile of i1, which are bytes in memory."""
    return isinstance(type, ir.RankedTensorType) and spell(type.element_type) == "i1"


def divided_exactly(value: ir.Value, parts: int) -> ir.Value:
    """The number of elements of a map that a number of elements fills; it is a multiple of `parts`, a power of two."""
    if parts == 1:
        return value
    known = constant_of(value)
    if known is not None:
        return emitter.constant(value.type, known // parts)
    return emitter.binary("arith.shrui", value, emitter.constant(value.type, parts.bit_length() - 1))


def padding_of(op: ir.OpView) -> str:
    """The padding of a load; of the bytes, if elements share them.

    Raises UnsupportedError if the element type has no such value.
    """
    name, element = op.view.type.padding or "zero", op.view.type.element
    if name == "zero":
        return name
    form = element_type(spell(element)).float_format
    if form is None or not form.represents(_PADDINGS[name]):
        raise UnsupportedError(
            f"elements of {spell(element)} have no {name}: expected another padding of the view",
            source_location(op.operation.location),
        )
    return "0x88" if per_byte(element) == 2 else name


def refuse_partial_bytes(operations: Iterable[ir.OpView]) -> None:
    """Raises UnsupportedError for an access of a view that is known to touch a part of a byte (Tile IR 5.2.1).

    Numbers that are known only when the kernel runs are even by the specification.
    """
    for op in operations:
        if op.operation.name in _ACCESSES and per_byte(op.view.type.element) > 1:
            problem = _partial_bytes(op)
            if problem is not None:
                text = f"elements of {spell(op.view.type.element)} are accessed in pairs, the halves of a byte"
                raise UnsupportedError(f"{text}: expected {problem}", source_location(op.operation.location))


def _partial_bytes(op: ir.OpView) -> str | None:
    """The requirement of an access to touch whole bytes, and the actual value; None if it touches whole bytes."""
    type, (k, _) = op.view.type, access_vector(op)
    tensor, step, index = type.tensor_view, tile_steps(type)[k], splat(list(op.index)[k])
    if type.tile_shape[k] % 2:
        return f"an even extent of the tile along dimension {k}, got {type.tile_shape[k]}"
    if isinstance(type, StridedViewType) and step % 2:
        return f"an even traversal stride along dimension {k}, got {step}"
    if step * (index or 0) % 2:
        return f"an even index of dimension {k}, got {index}"
    for d, (extent, stride) in enumerate(zip(tensor.shape, tensor.strides, strict=True)):
        if d == type.dim_map[k]:
            if (extent or 0) % 2:
                return f"an even extent of the tensor along dimension {d}, whose elements are adjacent, got {extent}"
        elif extent != 1 and (stride or 0) % 2:
            return f"an even stride of dimension {d}, got {stride}"
    return _odd_base(tensor_maker(op.view).base)


def _odd_base(pointer: ir.Value) -> str | None:
    producer = pointer.owner
    if isinstance(producer, ir.Block) or producer.operation.name != "cuda_tile.offset":
        return None
    moved = splat(producer.offset)
    return f"a base at the start of a byte, got an offset of {moved} elements" if (moved or 0) % 2 else None
