"""The indices of gathered rows in shared memory, from which the thread that issues TMA reads them."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.channel import THREADS, TMA, slot_results
from tilec.lowering.tile_to_gpu import emitter
from tilec.lowering.tile_to_gpu.conversion import Conversion
from tilec.lowering.tile_to_gpu.declared_channel import declare_channel
from tilec.lowering.tile_to_gpu.declared_map import buffer_type
from tilec.lowering.tile_to_gpu.index import sparse_index
from tilec.lowering.tile_to_gpu.sparse_indices import point_after
from tilec.lowering.tile_to_gpu.values import TileView

_LOOPS = ("scf.for", "scf.while")


class RowIndices:
    """The indices of one load: stored beside their definition, and held until the last copy that reads them.

    A loop around the load then stores them once, and the load role may run ahead in it.
    """

    def __init__(self, op: ir.OpView, view: TileView, conversion: Conversion) -> None:
        assert view.sparse_dimension is not None
        index = list(op.index)[view.sparse_dimension]
        made = conversion.get(index)
        self._block = made.owner if isinstance(made.owner, ir.Block) else made.owner.operation.block
        width = view.tensor.index_width
        type = buffer_type(index.type.shape, emitter.integer_type(width), 0, "none")
        self._channel = declare_channel(conversion, [type], THREADS, [TMA], ring=_is_repeated(self._block))
        with point_after(made):
            tile = sparse_index(index, made, width)
            (slot,) = emitter.gpu("put_begin", [self._channel], slot_results([type])).results
            emitter.gpu("store_shared", [tile, slot])
            emitter.gpu("put_commit", [self._channel])
            (self.buffer,) = emitter.gpu("get", [self._channel], slot_results([type]), consumer=0).results

    def release(self) -> None:
        """Releases the indices after the current operation, or after the loops and branches around it."""
        block, outermost = ir.InsertionPoint.current.block, None
        while block != self._block:
            outermost = block.owner.operation
            block = outermost.block
        point = ir.InsertionPoint.current if outermost is None else ir.InsertionPoint.after(outermost)
        with point:
            emitter.gpu("release", [self._channel], consumer=0)


def _is_repeated(block: ir.Block) -> bool:
    """Whether a loop of the kernel contains a block."""
    owner = block.owner.operation
    return owner.name in _LOOPS or owner.name != "tile_gpu.kernel" and _is_repeated(owner.block)
