"""Tiles of all CTAs of a cluster, each of which computes a part of a tile block."""

from tilec.dialect.fields import Operand, Result
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.interface import Category, Interface
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.sets import Anything, RegisterTile


class GatherPartsOp(Operation, name="gather_parts"):
    """result[r, ...] = source[...] of the CTA of rank r.

    Each thread has its elements of all CTAs: the result layout is that of the source, with the ranks in registers.
    """

    interface = Interface(Category.MOVE)
    result: Result[RegisterTile]
    source: Operand[Anything]
    assembly = "$source attr-dict : type($source) -> type($result)"

    def check(self) -> str | None:
        source, result = self.source.type, self.result.type
        is_tile = isinstance(source, ir.RankedTensorType)
        element, shape = (source.element_type, list(source.shape)) if is_tile else (source, [])
        if result.element_type != element or list(result.shape)[1:] != shape:
            return f"expected the elements and the extents of the source after the first, but got {source} and {result}"
        return None
