"""Remarks about atomics that read memory although nothing uses what they return."""

from __future__ import annotations

from collections.abc import Iterator

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_named
from tilec.lowering.tile_to_gpu.access.memory_order import ACQUIRING
from tilec.remarks import Remark


def atomic_remarks(entry: ir.OpView) -> Iterator[Remark]:
    """A remark for each update that is not a reduction only because of its order."""
    for op in operations_named(entry, ("cuda_tile.atomic_rmw_tko",)):
        if op.mode == "xchg" or list(op.result.uses):
            continue
        order = op.memory_ordering_semantics
        if order in ACQUIRING:
            message = (
                f"nothing uses the result of the atomic, but its order {order} has to read it: with order relaxed or "
                "release it is a reduction, which returns nothing"
            )
            yield Remark("atomic", message, source_location(op.operation.location))
