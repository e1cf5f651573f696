"""Accesses of parts of a tile through a partition view whose tiles are the parts."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.build import attributes_without_segments, build
from tilec.dialect.cuda_tile.types import PartitionViewType, TileType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tilex.im2col_type import Im2colViewType
from tilec.dialect.tilex.packed_type import PackedViewType
from tilec.element_types import element_type
from tilec.lowering.tile.analysis.bounds import greatest
from tilec.lowering.tile.analysis.condition import integer
from tilec.lowering.tile.analysis.tile_parts import Part

# L2 cache and memory are read in sectors of 32 bytes (CUDA programming guide, device memory accesses).
_SECTOR_BITS = 256


def is_divisible_access(op: ir.OpView) -> bool:
    """Whether an access may be done in parts: it is weak, through a partition view."""
    return op.memory_ordering_semantics == "weak" and isinstance(op.view.type, PartitionViewType)


def view_of_parts(view: ir.Value, shape: Sequence[int]) -> ir.Value:
    """A new view of the same tensor; its tiles are parts of the tiles of a partition, packed or im2col view."""
    type = view.type
    if isinstance(type, Im2colViewType):
        return build("tilex.make_im2col_view", [view.owner.operands[0]], [type.with_tile(shape)]).result
    if isinstance(type, PackedViewType):
        of_parts = PackedViewType.get(tuple(shape), type.bits, type.tensor_view)
        return build("tilex.make_packed_view", [view.owner.operands[0]], [of_parts]).result
    of_parts = PartitionViewType.get(tuple(shape), type.tensor_view, type.dim_map, type.padding)
    return build("make_partition_view", [view.owner.operands[0]], [of_parts]).result


def load_part(op: ir.OpView, view: ir.Value, part: Part) -> ir.Operation:
    """A load of a part of the tile that `op` loads, through a view of such parts."""
    types = [TileType.get(part.shape, part.whole.type.element), op.operation.results[1].type]
    return build("load_view_tko", [view, part_indices(op, part), op.token], types, attributes_without_segments(op))


def store_part(
    op: ir.OpView, view: ir.Value, part: Part, value: ir.Value, after: Sequence[ir.Value] | None = None
) -> ir.Value:
    """A store of a part of the tile that `op` stores, through a view of such parts; its token.

    The store waits for the tokens `after`, or for the token of `op` if there are none.
    """
    operands = [value, view, part_indices(op, part), join_tokens(after) if after else op.token]
    types = [op.operation.results[0].type]
    return build("store_view_tko", operands, types, attributes_without_segments(op)).result


def join_tokens(tokens: Sequence[ir.Value]) -> ir.Value:
    """A token that is complete when all of `tokens` are."""
    return tokens[0] if len(tokens) == 1 else build("join_tokens", list(tokens), [tokens[0].type]).result


def divides_bytes(view: PartitionViewType, part: Sequence[int]) -> bool:
    """Whether a part has only some of the elements of a byte of the view."""
    per_byte = element_type(spell(view.element)).per_byte
    adjacent = [part[k] for k, d in enumerate(view.dim_map) if view.tensor_view.strides[d] == 1]
    return any(extent % per_byte for extent in adjacent)


def has_whole_sectors(view: PartitionViewType, part: Part) -> bool:
    """Whether a part is as long as the whole, or one sector at least, along each dimension contiguous in memory."""
    bits = element_type(spell(view.element)).storage_bits
    contiguous = [k for k, d in enumerate(view.dim_map) if view.tensor_view.strides[d] == 1]
    return all(part.counts[k] == 1 or part.shape[k] * bits >= _SECTOR_BITS for k in contiguous)


def part_indices(op: ir.OpView, part: Part) -> list[ir.Value]:
    """The indices of a part of the tile of an access in the grid of such parts."""
    parts = zip(first_indices(op, part.counts), part.counts, part.position, strict=True)
    return [first if count == 1 else integer("addi", first, number) for first, count, number in parts]


def first_indices(op: ir.OpView, counts: Sequence[int]) -> list[ir.Value]:
    """The indices of the first part of the tile of an access, by its number of parts along each dimension."""
    indices = list(op.index)
    if not all(map(_product_fits, indices, counts)):
        indices = [_widened(index, count) for index, count in zip(indices, counts, strict=True)]
    pairs = zip(indices, counts, strict=True)
    return [index if count == 1 else integer("muli", index, count) for index, count in pairs]


def _product_fits(index: ir.Value, count: int) -> bool:
    """Whether (index + 1) * count fits the type of an index, which is unsigned."""
    return count == 1 or (greatest(index) + 1) * count <= 1 << index.type.element.width - 1


def _widened(index: ir.Value, count: int) -> ir.Value:
    """The index in 64 bits, limited so that its product with `count` fits; tiles that far are outside every tensor."""
    wide = TileType.get((), ir.IntegerType.get_signless(64))
    if index.type != wide:
        return build("exti", [index], [wide], {"signedness": "unsigned"}).result
    limit = (1 << 63) // count - 1
    return index if count == 1 else integer("mini", index, limit, signedness="unsigned")
