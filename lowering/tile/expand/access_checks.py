"""Checks of accesses of views: tile indices, `inbounds`, offsets into windows, and the extents of tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tilec.dialect import undefined_behaviour
from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.element_types import ELEMENT_TYPES
from tilec.lowering.tile.analysis.bounds import bounds
from tilec.lowering.tile.analysis.condition import Condition, compare, integer, limits, widened
from tilec.lowering.tile.analysis.index_arithmetic import broadcast
from tilec.lowering.tile.analysis.tensor_extent import MAKERS, tensor_under, tile_spans, tile_steps
from tilec.lowering.tile.analysis.tile_operations import counting_loop, producer

# The condition is None if the tensor of the view is not known: an operation of another dialect made the view.
Checks = Iterator[tuple["Condition | None", str]]
_WIDE = 64


def access_checks(op: ir.OpView) -> Checks:
    """The checks of an access of a partition, strided or gather_scatter view."""
    view, sparse = op.view, getattr(op.view.type, "sparse_dim", None)
    yield from _indices_below(op, _counts(view), sparse)
    flags = op.inbounds or []
    for axis in (axis for axis, is_promised in enumerate(flags) if is_promised):
        yield _inside(op, axis, is_sparse=axis == sparse)
    yield from _whole_bytes(view)


def im2col_checks(op: ir.OpView) -> Checks:
    """The checks of an access of an im2col view."""
    yield from _indices_below(op, _results("tilex.get_im2col_index_space_shape", op.view, 2))
    for axis, (number, taps) in enumerate(zip(op.offset, op.view.type.window, strict=True)):
        yield _below(f"offset {axis}", number, taps)


def packed_checks(op: ir.OpView) -> Checks:
    """The checks of an access of a packed view."""
    yield from _indices_below(op, _results("tilex.get_packed_index_space_shape", op.view, len(op.index)))


def slice_checks(op: ir.OpView) -> Checks:
    """The check of the slices of an interleaved im2col view."""
    size = op.result.type.interleave
    if size is not None:
        extent = _extents(op.tensor_view)[-1]
        holds = extent == size if isinstance(extent, int) else compare("equal", extent, size)
        yield holds, undefined_behaviour.interleaved_extent(size)


def shape_checks(op: ir.OpView) -> Checks:
    """The checks that the extents which an operation returns fit their type."""
    name, results = op.operation.name, list(op.operation.results)
    element = results[0].type.element
    if element.width == _WIDE:
        return
    most = limits(element.width, "unsigned").high
    known = _KNOWN_EXTENTS.get(name)
    for extent in _results(name, op.src, len(results)) if known is None else known(op.src):
        if isinstance(extent, int):
            yield extent <= most, undefined_behaviour.extent(spell(element), extent)
        else:
            holds = compare("less_than_or_equal", extent, most, "unsigned")
            yield holds, undefined_behaviour.extent(spell(element))


def _indices_below(op: ir.OpView, counts: Sequence[int | ir.Value], sparse: int | None = None) -> Checks:
    """The checks of the indices of an access against the numbers of tiles, without those along a sparse dimension."""
    for axis, number in enumerate(op.index):
        if axis != sparse:
            yield _below(f"index {axis}", number, counts[axis])


def _below(operand: str, number: ir.Value, count: int | ir.Value) -> tuple[Condition, str]:
    """The check of one operand, unsigned, against the count of its valid numbers."""
    if isinstance(count, int):
        return compare("less_than", number, count, "unsigned"), undefined_behaviour.view_operand(operand, count)
    text = undefined_behaviour.view_operand(operand, None)
    if _counts_to(number, count):
        return True, text
    return compare("less_than", widened(number, _WIDE, "unsigned"), count, "unsigned"), text


def _counts_to(number: ir.Value, count: ir.Value) -> bool:
    """Whether a number is the variable of a loop from a number that is not negative to a count of the same view."""
    loop = counting_loop(number)
    if loop is None or loop.unsignedCmp or bounds(loop.lowerBound).low < 0:
        return False
    limit, maker = loop.upperBound, count.owner
    counted = producer(limit, maker.operation.name.removeprefix("cuda_tile."))
    if counted is None or ir.OpResult(limit).result_number != ir.OpResult(count).result_number:
        return False
    return counted.src == maker.src or _same_view(counted.src, maker.src)


def _same_view(one: ir.Value, other: ir.Value) -> bool:
    """Whether two views cut one tensor alike."""
    tensors = tensor_under(one), tensor_under(other)
    return one.type == other.type and tensors[0] is not None and tensors[0] == tensors[1]


def _inside(op: ir.OpView, axis: int, is_sparse: bool) -> tuple[Condition | None, str]:
    """The check that the elements along a dimension are inside of the tensor."""
    number, type = list(op.index)[axis], op.view.type
    extent = _extent(op.view, type.dim_map[axis])
    text = undefined_behaviour.inbounds(axis, extent if isinstance(extent, int) else None)
    if extent is None:
        return None, text
    wide = widened(number, _WIDE, "unsigned")
    if is_sparse:
        limit = extent if isinstance(extent, int) else broadcast(extent, wide.type.shape)
        return compare("less_than", wide, limit, "unsigned"), text
    step, span = tile_steps(type)[axis], tile_spans(type)[axis]
    # The check of the index precedes this one, so the product is at most an extent.
    first = wide if step == 1 else integer("muli", wide, step)
    last = first if span == 1 else integer("addi", first, span - 1)
    return compare("less_than", last, extent, "unsigned"), text


def _whole_bytes(view: ir.Value) -> Checks:
    """The check that elements of 4 bits, which share bytes along one dimension, fill their bytes."""
    type = view.type.tensor_view
    if ELEMENT_TYPES[spell(type.element)].storage_bits >= 8 or 1 not in type.strides:
        return
    packed = type.strides.index(1)
    extent, text = _extent(view, packed), undefined_behaviour.packed_extent(packed)
    if extent is None:
        yield None, text
    else:
        is_even = extent % 2 == 0 if isinstance(extent, int) else compare("equal", integer("andi", extent, 1), 0)
        yield is_even, text


def _extent(view: ir.Value, dimension: int) -> int | ir.Value | None:
    """An extent of the tensor that a view cuts into tiles, None if it is not known."""
    known, maker = view.type.tensor_view.shape[dimension], producer(view, *MAKERS)
    if known is not None or maker is None:
        return known
    return _extents(maker.tensor_view)[dimension]


def _counts(view: ir.Value) -> Sequence[int | ir.Value]:
    """The number of tiles of a view along each dimension: known numbers, or values of 64 bits."""
    type = view.type
    extents = [type.tensor_view.shape[dimension] for dimension in type.dim_map]
    pairs = zip(extents, tile_steps(type), strict=True)
    known = [None if extent is None else -(-extent // step) for extent, step in pairs]
    return _completed(known, "get_index_space_shape", view)


def _extents(tensor: ir.Value) -> Sequence[int | ir.Value]:
    """The extents of a tensor: known numbers, or values of 64 bits."""
    return _completed(tensor.type.shape, "get_tensor_shape", tensor)


_KNOWN_EXTENTS: dict[str, Callable[[ir.Value], Sequence[int | ir.Value]]] = {
    "cuda_tile.get_tensor_shape": _extents,
    "cuda_tile.get_index_space_shape": _counts,
}


def _completed(known: Sequence[int | None], name: str, source: ir.Value) -> Sequence[int | ir.Value]:
    if None not in known:
        return [number for number in known if number is not None]
    computed = _results(name, source, len(known))
    return [value if number is None else number for number, value in zip(known, computed, strict=True)]


def _results(name: str, source: ir.Value, count: int) -> list[ir.Value]:
    """The results of an operation that returns extents, in 64 bits."""
    scalar = TileType.get((), ir.IntegerType.get_signless(_WIDE))
    return list(build(name, [source], [scalar] * count).results)
