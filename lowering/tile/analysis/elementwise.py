"""Which operations compute each element of their results from the same element of their operands."""

from __future__ import annotations

from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir


def is_elementwise(op: ir.OpView) -> bool:
    """Whether all tiles of an operation, scalars left out, have one shape and its elements correspond."""
    operation = op.operation
    if operation.regions or not operation.results or operation.name.removeprefix("cuda_tile.") in _NOT_ELEMENTWISE:
        return False
    types = {value.type for value in (*operation.operands, *operation.results)}
    shapes = {tuple(type.shape) for type in types if isinstance(type, TileType) and type.rank > 0}
    return len(shapes) == 1


_NOT_ELEMENTWISE = frozenset(
    (
        "broadcast",
        "reshape",
        "permute",
        "extract",
        "insert",
        "cat",
        "iota",
        "constant",
        "pack",
        "unpack",
        "load_view_tko",
        "store_view_tko",
        "tilex.load_im2col_tko",
        "tilex.store_im2col_tko",
        "tilex.load_packed_tko",
        "tilex.store_packed_tko",
        "atomic_red_view_tko",
        "multimem_load_reduce_view_tko",
        "multimem_store_view_tko",
        "multimem_reduce_view_tko",
        "mmaf",
        "mmai",
        "mmaf_scaled",
    )
)
