"""The names of operations in diagnostics: the function that a Python kernel calls, or the name in Tile IR."""

from __future__ import annotations

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir

_FUNCTIONS = {
    "cuda_tile.assert": "ct.assert_",
    "cuda_tile.insert": "ct.insert",
    "cuda_tile.mmaf": "ct.mma",
    "cuda_tile.mmaf_scaled": "ct.mma_scaled",
    "cuda_tile.mmai": "ct.mma",
    "cuda_tile.print_tko": "print",
    "tilex.mma_sparse": "ct.mma_sparse",
    "tilex.mmaf": "ct.mma",
    "tilex.mmaf_scaled": "ct.mma_scaled",
}


def operation_name(op: ir.OpView) -> str:
    """The name of a `cuda_tile` operation as the user wrote it.

    An operation whose source line is in a Python file was built by a language function, if the table has one; all other
    operations have their name in Tile IR.
    """
    name: str = op.spelled_name
    source = source_location(op.operation.location)
    if source is None or not source.file.endswith(".py"):
        return name
    return _FUNCTIONS.get(op.operation.name, name)
