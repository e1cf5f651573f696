"""The elements of tiles that threads compute: one for each thread that holds it, and repeated elements once."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilec.dialect.cache import cached
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.copy import CopyGlobalOp
from tilec.dialect.tile_gpu.operations.shape import (
    BroadcastOp,
    MathOp,
    PackOp,
    ReshapeOp,
    SplatOp,
    TransposeOp,
    UnpackOp,
)
from tilec.dialect.tile_gpu.operations.view import LoadGlobalOp, StoreGlobalOp
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.walk import owner_of, users_of
from tilec.lowering.gpu.ir.tile_size import layout_of, thread_elements

_LANES = 32
# Results that repeat elements of the operand.
_REPEATED = (BroadcastOp.OPERATION_NAME, ReshapeOp.OPERATION_NAME, SplatOp.OPERATION_NAME, TransposeOp.OPERATION_NAME)
# The beginnings of the names of operations on elements.
ELEMENTWISE = ("arith.", "math.", MathOp.OPERATION_NAME, PackOp.OPERATION_NAME, UnpackOp.OPERATION_NAME)
# Accesses that read one address and one element of the mask per vector.
_ACCESSES = (LoadGlobalOp.OPERATION_NAME, StoreGlobalOp.OPERATION_NAME)


@dataclass(frozen=True)
class VisitedTiles:
    """The results of `distinct_elements` and `read_vector` for each tile that was visited."""

    elements: dict[ir.Value, float] = field(default_factory=dict)
    vectors: dict[ir.Value, int] = field(default_factory=dict)


def computed_elements(tile: ir.Value, known: VisitedTiles) -> float:
    """The elements of a result that threads compute and use."""
    return min(distinct_elements(tile, known), executed_elements(tile.type) / read_vector(tile, known))


def distinct_elements(tile: ir.Value, known: VisitedTiles) -> float:
    """The elements of a tile that threads compute: those that repeat an element of another tile count once."""
    if tile not in known.elements:
        known.elements[tile] = executed_elements(tile.type)
        op = owner_of(tile)
        if op is not None and _is_elementwise(op):
            operands = [distinct_elements(value, known) for value in op.operands if is_register_tile(value.type)]
            known.elements[tile] = min(known.elements[tile], max(operands, default=1.0))
    return known.elements[tile]


def read_vector(tile: ir.Value, known: VisitedTiles) -> int:
    """The length of the vectors whose first element alone is read, so that threads compute no other one; else 1."""
    pending = [tile]
    while pending:
        users = users_of(pending[-1])
        results = [result for op in users if _is_elementwise(op) for result in op.results]
        unknown = [result for result in results if result not in known.vectors]
        if unknown:
            pending += unknown
            continue
        value = pending.pop()
        vectors = [_vector_of(op, value) for op in users if not _is_elementwise(op)]
        known.vectors[value] = min(vectors + [known.vectors[result] for result in results], default=1)
    return known.vectors[tile]


def _is_elementwise(op: ir.Operation) -> bool:
    return op.name in _REPEATED or op.name.startswith(ELEMENTWISE)


def _vector_of(access: ir.Operation, value: ir.Value) -> int:
    """The elements of an access that share one element of `value`, an address or an element of the mask; else 1."""
    view = access.opview
    if access.name == CopyGlobalOp.OPERATION_NAME:
        return view.vector
    if access.name not in _ACCESSES:
        return 1
    elements = view.other if access.results else view.value
    return 1 if elements is not None and value == elements else view.vector


@cached
def executed_elements(tile: ir.RankedTensorType) -> float:
    """The elements of a tile that threads compute: those that several threads hold count for each."""
    return float(thread_elements(tile) * _LANES * layout_of(tile).warps)
