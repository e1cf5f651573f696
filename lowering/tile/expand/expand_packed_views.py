"""Replaces accesses of packed elements by accesses of their bytes.

load_packed_tko %view[%i, %j]            elements of 2 or 4 bits
->  %bytes = load_view_tko %parts[%i, %j]
    cat (%bytes & 15), (%bytes >> 4)     the elements of a byte side by side

load_packed_tko %view[%i, %j]            elements of 6 bits
->  %first, %last = load_ptr_tko ..      the bytes with the first and the last bit of each element
    (%first >> %shift | %last << (8 - %shift)) & (2^bits - 1)

store_packed_tko %tile, %view[%i, %j]
->  %e0, %e1, .. = extract %tile ..      the elements 0, 1, .. of all groups that fill whole bytes
    store_ptr_tko .., %e0 | %e1 << bits  byte 0 of each group, and likewise the other bytes
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from tilec.dialect.build import attributes_without_segments, build
from tilec.dialect.cuda_tile.types import PartitionViewType, TileType, TokenType
from tilec.dialect.mlir import ir
from tilec.dialect.tilex.packed_rules import elements_per_group
from tilec.dialect.walk import operations_named
from tilec.lowering.tile.analysis.condition import integer
from tilec.lowering.tile.analysis.constants import integer_splat
from tilec.lowering.tile.analysis.divisibility import divisor_of
from tilec.lowering.tile.analysis.index_arithmetic import NARROW, WIDE, Number, along_axis, broadcast, value_of_type
from tilec.lowering.tile.analysis.index_space import packed_index_space
from tilec.lowering.tile.analysis.part_access import join_tokens
from tilec.lowering.tile.analysis.replacing import erase_unused, replace
from tilec.lowering.tile.analysis.tensor_extent import tensor_extents, tensor_maker, tensor_strides
from tilec.lowering.tile.analysis.tile_index import is_below, limited
from tilec.lowering.tile.analysis.tile_operations import point_after, without_assumptions
from tilec.lowering.tile.analysis.tile_parts import Part, joined, reshaped
from tilec.lowering.tile.expand.widen_operands import NARROW_MULTIPLIES
from tilec.lowering.tma.tensor_map import PADDED_GROUP

LOAD, STORE = "tilex.load_packed_tko", "tilex.store_packed_tko"
# The elements that TMA packs when it stores them (PTX ISA 5.5.1.1: .b6p2x16).
PACKED_STORE_BITS = 6
_BYTE = 8
# The operations that may be between a load and a multiply, and the operands of a multiply that are not its sums.
_MOVES = ("tilex.bitcast", "cuda_tile.permute")
_OPERANDS = (0, 1)


def expand_packed_views(module: ir.Module | ir.OpView, is_kept: Callable[[ir.OpView], bool] = lambda op: False) -> None:
    """Expands the accesses and the index spaces of packed views in a module or an entry, but not kept accesses."""
    found = operations_named(module, _EXPANDED)
    for op in [op for op in found if op.operation.name not in (LOAD, STORE) or not is_kept(op)]:
        with ir.InsertionPoint(op.operation), op.location:
            values = _EXPANDED[op.operation.name](op)
        replace(op, values)
    erase_unused(module, "tilex.make_packed_view")


def expand_other_packed_views(module: ir.Module | ir.OpView) -> None:
    """As `expand_packed_views`, but for loads that only multiplies read, and stores of 6 bits, which TMA may do."""
    expand_packed_views(module, _may_use_tma)


def _may_use_tma(op: ir.OpView) -> bool:
    if op.operation.name == STORE:
        return bool(op.view.type.bits == PACKED_STORE_BITS and op.view.type.tile_shape[-1] % PADDED_GROUP == 0)
    return _feeds_multiplies(op.tile)


def _feeds_multiplies(tile: ir.Value) -> bool:
    """Whether every use of a tile moves it to an operand of a multiply of narrow floats of rank 2."""
    uses = list(tile.uses)
    return bool(uses) and all(map(_is_operand, uses))


def _is_operand(use: ir.OpOperand) -> bool:
    user = use.owner.operation
    if user.name in NARROW_MULTIPLIES:
        return use.operand_number in _OPERANDS and user.opview.acc.type.rank == len(_OPERANDS)
    return user.name in _MOVES and _feeds_multiplies(user.results[0])


def _load(op: ir.OpView) -> list[ir.Value]:
    return _load_across_bytes(op) if _BYTE % op.view.type.bits else _load_whole_bytes(op)


def _load_whole_bytes(op: ir.OpView) -> list[ir.Value]:
    type, element = op.view.type, op.view.type.element
    shape = (*type.tile_shape[:-1], type.tile_bytes)
    with point_after(op.view):
        of_bytes = PartitionViewType.get(shape, type.tensor_view, padding="zero")
        view = build("make_partition_view", [op.view.owner.operands[0]], [of_bytes]).result
    types = [TileType.get(shape, element), op.operation.results[1].type]
    loaded = build("load_view_tko", [view, list(op.index), op.token], types, attributes_without_segments(op))
    parts = [
        reshaped(_part_of_bytes(loaded.results[0], first, type.bits), (*shape, 1))
        for first in range(0, _BYTE, type.bits)
    ]
    elements = joined(parts, TileType.get((*shape, len(parts)), element))
    return [reshaped(elements, type.tile_shape), loaded.results[1]]


def _part_of_bytes(value: ir.Value, first: int, bits: int) -> ir.Value:
    """The bits of each byte from `first`."""
    moved = integer("shri", value, first, signedness="unsigned") if first else value
    return moved if first + bits == _BYTE else _low_bits(moved, bits)


def _load_across_bytes(op: ir.OpView) -> list[ir.Value]:
    type, place = op.view.type, _PackedBytes(op.view, list(op.index))
    bits = NARROW.product([NARROW.iota(type.tile_shape[-1]), type.bits])
    first, shift = NARROW.divided(bits, _BYTE)
    last = NARROW.quotient(NARROW.sum([bits, type.bits - 1]), _BYTE)
    # Elements with a bit after the last byte do not exist.
    mask = place.inside(last)
    low, first_token = _load_bytes(op, place.pointers(first), mask)
    right = build("trunci", [shift], [TileType.get(type.tile_shape[-1:], type.element)]).result
    lower = integer("shri", low, _in_rows(right, low), signedness="unsigned")
    high, last_token = _load_bytes(op, place.pointers(last), mask)
    # Where the shift is 0, both bytes are the same one.
    left = integer("andi", integer("subi", _splat(right, _BYTE), right), _BYTE - 1)
    value = integer("ori", lower, integer("shli", high, _in_rows(left, high)))
    return [_low_bits(value, type.bits), join_tokens([first_token, last_token])]


def _load_bytes(op: ir.OpView, pointers: ir.Value, mask: ir.Value | None) -> tuple[ir.Value, ir.Value]:
    """The bytes at pointers and a token; zero where the mask is false."""
    type = TileType.get(pointers.type.shape, op.view.type.element)
    padding = None if mask is None else integer_splat(type, 0)
    operands = [[pointers], mask, padding, op.token]
    loaded = build("load_ptr_tko", operands, [type, TokenType.get()], attributes_without_segments(op))
    return loaded.results[0], loaded.results[1]


def _store(op: ir.OpView) -> list[ir.Value]:
    type, place = op.view.type, _PackedBytes(op.view, list(op.index))
    elements = elements_per_group(type.bits)
    groups, size = type.tile_shape[-1] // elements, elements * type.bits // _BYTE
    values = [_low_bits(_element_of_groups(op.tile, k, groups), type.bits) for k in range(elements)]
    first = NARROW.product([NARROW.iota(groups), size])
    positions = [NARROW.sum([first, k]) for k in range(size)]
    attributes, tokens = attributes_without_segments(op), []
    for byte, at in enumerate(positions):
        value = _byte(values, byte, type.bits, positions, place)
        operands = [[place.pointers(at)], value, place.inside(at), op.token]
        tokens.append(build("store_ptr_tko", operands, [TokenType.get()], attributes).result)
    return [join_tokens(tokens)]


def _element_of_groups(tile: ir.Value, number: int, groups: int) -> ir.Value:
    """The element with a number in each of the groups into which the rows of a tile are divided."""
    outer = tuple(tile.type.shape[:-1])
    divided = reshaped(tile, (*outer, groups, tile.type.shape[-1] // groups))
    part = Part(divided, (0,) * len(outer) + (0, number), (*outer, groups, 1))
    return reshaped(part.extracted(), (*outer, groups))


def _byte(values: list[ir.Value], byte: int, bits: int, positions: list[ir.Value], place: _PackedBytes) -> ir.Value:
    """The byte with a number of each group, from the elements of the groups; elements that do not exist are zero."""
    parts = []
    for k, value in enumerate(values):
        first, last = k * bits // _BYTE, (k * bits + bits - 1) // _BYTE
        if not first <= byte <= last:
            continue
        exists = place.inside_row(positions[last]) if last > byte else None
        shift = k * bits - byte * _BYTE
        part = integer("shli", value, shift) if shift >= 0 else integer("shri", value, -shift, signedness="unsigned")
        parts.append(part if exists is None else build("select", [exists, part, _splat(part, 0)], [part.type]).result)
    return reduce(lambda lhs, rhs: integer("ori", lhs, rhs), parts)


def _index_space(op: ir.OpView) -> list[ir.Value]:
    tiles = packed_index_space(op.src.type, tensor_extents(tensor_maker(op.src)))
    return [value_of_type(count, result.type) for count, result in zip(tiles, op.results, strict=True)]


def _low_bits(value: ir.Value, bits: int) -> ir.Value:
    return integer("andi", value, (1 << bits) - 1)


def _splat(like: ir.Value, number: int) -> ir.Value:
    return integer_splat(like.type, number)


def _in_rows(values: ir.Value, like: ir.Value) -> ir.Value:
    """Values along the rows of a tile, for each row."""
    return along_axis(values, like.type.rank - 1, like.type.shape)


_EXPANDED: dict[str, Callable[[ir.OpView], list[ir.Value]]] = {
    LOAD: _load,
    STORE: _store,
    "tilex.get_packed_index_space_shape": _index_space,
}


class _PackedBytes:
    """The bytes of the tile of a packed view at an index, with the operations that find them at the insertion point."""

    def __init__(self, view: ir.Value, index: Sequence[ir.Value]) -> None:
        self._type, self._tensor = view.type, tensor_maker(view)
        self._extents = tensor_extents(self._tensor)
        # A row starts at a byte, because a tile covers whole bytes.
        steps = (*self._type.tile_shape[:-1], self._type.tile_bytes)
        self._starts = [WIDE.product([limited(WIDE, at, step), step]) for at, step in zip(index, steps, strict=True)]
        self._fills = [
            divisor_of(extent) % step == 0 and is_below(at, extent, 1, step)
            for at, extent, step in zip(index, self._extents, steps, strict=True)
        ]

    def pointers(self, in_row: ir.Value) -> ir.Value:
        """Pointers to the bytes at these positions in each row of the tile."""
        found = _moved(self._tensor.base, self._starts[-1])
        shape = [*self._type.tile_shape[:-1], in_row.type.shape[0]]
        found = reshaped(found, (1,) * len(shape))
        offsets = [*map(self._row_offsets, range(len(shape) - 1)), in_row]
        for axis, offset in enumerate(offsets):
            partial = (*shape[: axis + 1], *(1,) * (len(shape) - axis - 1))
            found = _moved(broadcast(found, partial), along_axis(offset, axis, partial))
        return found

    def _row_offsets(self, axis: int) -> ir.Value:
        """The distances of the rows of the tile along an outer dimension from the first row of the tensor."""
        stride = tensor_strides(self._tensor)[axis]
        # An assumption about a stride need not hold for an extent of one (cuTile marks all strides).
        stride = stride if isinstance(stride, int) else WIDE.cast(without_assumptions(stride))
        return WIDE.product([self._positions(axis), stride])

    def _positions(self, axis: int) -> ir.Value:
        return WIDE.sum([self._starts[axis], WIDE.iota(self._type.tile_shape[axis])])

    def inside(self, in_row: ir.Value) -> ir.Value | None:
        """Whether the bytes at these positions in each row of the tile are inside; None if all of them are."""
        shape = (*self._type.tile_shape[:-1], in_row.type.shape[0])
        rows = [self._is_inside(axis, self._positions(axis), shape) for axis in range(len(shape) - 1)]
        return WIDE.all([mask for mask in (*rows, self.inside_row(in_row)) if mask is not None])

    def inside_row(self, in_row: ir.Value) -> ir.Value | None:
        """Whether the bytes at these positions are inside of a row, for each row; None if all of them are."""
        shape = (*self._type.tile_shape[:-1], in_row.type.shape[0])
        wide = build("exti", [in_row], [TileType.get(shape[-1:], WIDE.scalar.element)], {"signedness": "unsigned"})
        return self._is_inside(len(shape) - 1, WIDE.sum([self._starts[-1], wide.result]), shape)

    def _is_inside(self, axis: int, positions: ir.Value, shape: Sequence[int]) -> ir.Value | None:
        if self._fills[axis]:
            return None
        return along_axis(WIDE.is_less(positions, WIDE.cast(self._extents[axis])), axis, shape)


def _moved(pointers: ir.Value, bytes: Number) -> ir.Value:
    return pointers if bytes == 0 else build("offset", [pointers, WIDE.made(bytes)], [pointers.type]).result
