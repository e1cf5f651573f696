"""Replaces the operations of tilex by Tile IR: an access through an im2col view becomes a gather or a scatter of rows.

    load_im2col_tko %view[%i, %j] offset [%r, %s]
    ->  %pixels = .. %i ..                       the pixels of tile %i at the first tap, beside the definition of %i
        %rows = .. %pixels, %r, %s ..            their rows at the offset; the row after the last one for pixels outside
        load_view_tko %gathered[%rows, %j * channels]

The mode of a view decides which pixels a tile has. Its demand for TMA is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tilec.dialect.build import attributes_without_segments, build
from tilec.dialect.mlir import ir
from tilec.dialect.tilex.prefetch import PrefetchOp
from tilec.dialect.walk import operations_named
from tilec.lowering.tile.analysis.im2col_tensor import Im2colTensor, tensor_of
from tilec.lowering.tile.analysis.index_arithmetic import WIDE, Number, value_of_type
from tilec.lowering.tile.analysis.index_space import index_space, output_extents
from tilec.lowering.tile.analysis.replacing import erase_unused
from tilec.lowering.tile.analysis.tile_operations import point_after
from tilec.lowering.tile.analysis.tile_parts import reshaped
from tilec.lowering.tile.expand.expand_block_scaling import expand_block_scaling
from tilec.lowering.tile.expand.expand_packed_views import expand_packed_views
from tilec.lowering.tile.expand.expand_sparse import expand_sparse
from tilec.lowering.tile.expand.im2col_rows import Im2colRows, Pixels
from tilec.lowering.tile.expand.widen_operands import multiply_halves

MAKER = "tilex.make_im2col_view"


def expand_tilex(module: ir.Module) -> None:
    """Expands all operations of tilex in a module."""
    expand_packed_views(module)
    expand_sparse(module)
    multiply_halves(module)
    expand_block_scaling(module, lambda op: op.operation.name == "tilex.mmaf_scaled")
    expand(operations_named(module, _EXPANDED))
    # Tile IR has no prefetches, which change no result.
    for op in list(operations_named(module, (PrefetchOp.OPERATION_NAME,))):
        op.operation.erase()
    erase_unused(module, MAKER)


def expand_im2col_extents(module: ir.Module) -> None:
    """Expands the extents of im2col views, and leaves the accesses."""
    expand(operations_named(module, _EXTENTS))


def expand(operations: Iterable[ir.OpView]) -> None:
    """Expands accesses and shapes in place; accesses to one tile of a view share the pixels of the tile."""
    views: dict[ir.Value, _View] = {}
    expanded = list(operations)
    for op in expanded:
        rule, view = _EXPANDED[op.operation.name], op.src if hasattr(op, "src") else op.view
        if view not in views:
            views[view] = _View(view)
        with ir.InsertionPoint(op.operation), op.location:
            values = rule(op, views[view])
        for old, new in zip(op.operation.results, values, strict=True):
            old.replace_all_uses_with(new)
    # The insertion point of a view may be before one of the operations.
    for op in expanded:
        op.operation.erase()


class _View:
    """The values computed for an im2col view: once after its definition, and for each tile after that of its index."""

    def __init__(self, view: ir.Value) -> None:
        self._maker = view.owner.operation
        self._point = ir.InsertionPoint.after(self._maker)
        self._pixels: dict[ir.Value, Pixels] = {}
        self._rows: Im2colRows | None = None
        self.tensor: Im2colTensor = tensor_of(view)
        with self._point, self._maker.location:
            self.outputs: list[Number] = output_extents(view.type, self.tensor.extents)

    @property
    def rows(self) -> Im2colRows:
        if self._rows is None:
            with self._point, self._maker.location:
                self._rows = Im2colRows(self.tensor, self.outputs)
        return self._rows

    def pixels(self, tile: ir.Value, location: ir.Location) -> Pixels:
        """The pixels of the tile with a number, beside the definition of the number or of the view."""
        rows = self.rows
        if tile not in self._pixels:
            point = point_after(tile) if _is_later(tile, self._maker) else self._point
            with point, location:
                self._pixels[tile] = rows.pixels(tile)
        return self._pixels[tile]


def _is_later(value: ir.Value, op: ir.Operation) -> bool:
    """Whether a value is defined after an operation, if both dominate a common user."""
    owner = value.owner
    block = owner if isinstance(owner, ir.Block) else owner.operation.block
    if block == op.block:
        return not isinstance(owner, ir.Block) and op.is_before_in_block(owner.operation)
    while block != op.block and block.owner.operation.name != "cuda_tile.entry":
        block = block.owner.operation.block
    return block == op.block


def _load(op: ir.OpView, view: _View) -> list[ir.Value]:
    types = [view.rows.view.type.tile_type, op.result_token.type]
    operands = [view.rows.view, _index(op, view), op.token]
    gathered, token = build("load_view_tko", operands, types, _attributes(op, view)).results
    # The rows of a pixel in successive slices are its channels.
    return [reshaped(gathered, op.tile.type.shape), token]


def _store(op: ir.OpView, view: _View) -> list[ir.Value]:
    tile = reshaped(op.tile, view.tensor.gathered_shape)
    operands = [tile, view.rows.view, _index(op, view), op.token]
    return list(build("store_view_tko", operands, [op.result_token.type], _attributes(op, view)).results)


def _index(op: ir.OpView, view: _View) -> list[ir.Value]:
    pixel_tile, channel_tile = op.index
    pixels = view.pixels(pixel_tile, op.location)
    return [view.rows.rows_at(pixels, list(op.offset), channel_tile), view.rows.channel(channel_tile)]


def _attributes(op: ir.OpView, view: _View) -> dict[str, ir.Attribute]:
    attributes, tensor = attributes_without_segments(op), view.tensor
    # The channels of a tile are those of its slice, of which tiles are parts.
    if tensor.channels_fill_tiles and (tensor.type.interleave is not None or tensor.has_channels(op.index[1])):
        attributes["inbounds"] = ir.DenseBoolArrayAttr.get([False, True])
    return attributes


def _index_space(op: ir.OpView, view: _View) -> list[ir.Value]:
    channels = WIDE.product([view.tensor.extents[-1], WIDE.cast(view.tensor.slices)])
    images = [*view.tensor.extents[:-1], channels]
    return _extents(op, index_space(view.tensor.type, images, view.outputs))


def _extents(op: ir.OpView, extents: list[Number]) -> list[ir.Value]:
    return [value_of_type(extent, result.type) for extent, result in zip(extents, op.operation.results, strict=True)]


_EXTENTS = ("tilex.get_im2col_index_space_shape", "tilex.get_im2col_output_shape")
_EXPANDED: dict[str, Callable[[ir.OpView, _View], list[ir.Value]]] = {
    "tilex.load_im2col_tko": _load,
    "tilex.store_im2col_tko": _store,
    "tilex.get_im2col_index_space_shape": _index_space,
    "tilex.get_im2col_output_shape": lambda op, view: _extents(op, view.outputs),
}
