"""Builds prefetches of tiles."""

from __future__ import annotations

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.arguments import BadArgument
from tilec.ast_to_tile.emitter import Emitter
from tilec.ast_to_tile.operations.accesses import view_indices
from tilec.ast_to_tile.operations.view import tile_view
from tilec.ast_to_tile.registry import implements
from tilec.ast_to_tile.values.values import KernelValue, TiledView
from tilec.dialect.build import build
from tilec.dialect.tilex.prefetch import PrefetchOp
from tilec.language.modes import PaddingMode
from tilec.language.operations import prefetch as language


@implements(language.prefetch)
def _prefetch(emitter: Emitter, array: KernelValue, index: KernelValue, shape: KernelValue, order: KernelValue) -> None:
    if isinstance(array, TiledView):
        if shape is not None:
            raise BadArgument("shape", "expected no extents for a tiled view, which has those of its tiles")
        source, steps = array.array, array.traversal_steps
        rank = len(source.shape)
        extents, axes, padding = array.tile_shape or (1,) * rank, tuple(range(rank)), array.padding_mode
    else:
        source = arguments.array(array)
        if shape is None:
            raise BadArgument("shape", "expected the extents of the tile to prefetch from an array, got none")
        rank = len(source.shape)
        steps = extents = arguments.shape(shape, rank=rank) or (1,) * rank
        axes, padding = arguments.order(order, rank), PaddingMode.UNDETERMINED
    if rank == 0:
        raise BadArgument("array", f"expected an array of at least one dimension, got {source}")
    view = tile_view(emitter, source, extents, axes, padding, steps)
    items = view_indices(emitter, arguments.index(index, rank))
    build(PrefetchOp.OPERATION_NAME, [view, items], [], loc=emitter.locate())
