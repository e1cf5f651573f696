"""Multiplies of tensor memory that read one lhs in shared memory one after the other, so that a collector keeps it.

before:   load %b0;  %d0 = multiply %a, %b0, ..;  load %b1;  %d1 = multiply %a, %b1, ..
after:    load %b0;  load %b1;  %d0 = multiply %a, %b0, ..;  %d1 = multiply %a, %b1, ..

The instructions of such multiplies are issued step by step along K (gpu_to_ptx/matrix/tcgen05.py).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.matrix import Tcgen05MmaOp
from tilec.dialect.tile_gpu.operations.placed import LoadTileOp, MultiplyOp
from tilec.dialect.tile_gpu.types import TENSOR
from tilec.dialect.walk import users_of

_NAMES = (MultiplyOp.OPERATION_NAME, Tcgen05MmaOp.OPERATION_NAME)
_SIGNS = ("lhs_unsigned", "rhs_unsigned", "negated")
# The attributes that multiplies with the same steps along K agree in.
_AGREED = ("kind", "rhs_kind", *_SIGNS, "pair", "first", "depth", "shifted", "period", "pitch")


def multiplies_of_one_lhs(op: ir.Operation) -> list[ir.Operation]:
    """The multiplies around one, itself included, between which nothing but scalars is computed, in program order."""
    if op.name not in _NAMES or not _is_carried(op):
        return [op]
    users = [each for each in users_of(op.opview.lhs) if each.block == op.block and _reads_alike(each, op)]
    readers = [each for each in users if _is_carried(each)]
    if len(readers) < 2:
        return [op]
    runs: list[list[ir.Operation]] = [[]]
    for other in op.block.operations:
        if other.operation in readers:
            runs[-1].append(other.operation)
        elif not _is_scalar(other.operation):
            runs.append([])
    found = next(run for run in runs if op in run)
    return found if len({each.opview.accumulator for each in found}) == len(found) else [op]


def gather_multiplies(operations: Sequence[ir.Operation]) -> None:
    """Moves placed multiplies of one lhs to the last one, over loads and scalars, if loops carry all results."""
    multiplies = [op for op in operations if op.name == MultiplyOp.OPERATION_NAME and _is_carried(op)]
    for first, second in reversed(list(itertools.pairwise(multiplies))):
        if first.block != second.block or not _reads_alike(first, second):
            continue
        order = {op.operation: number for number, op in enumerate(first.block.operations)}
        between = list(first.block.operations)[order[first] + 1 : order[second]]
        if all(_is_scalar(op.operation) or isinstance(op, LoadTileOp) for op in between):
            first.move_before(second)


def _reads_alike(first: ir.Operation, second: ir.Operation) -> bool:
    """Whether two multiplies have the same lhs and steps along K.

    PTX ISA 9.7.16.10.9: a collector keeps no operand that .ashift moves. Lanes are skipped by multiplies of such ones.
    Reading tensor memory again costs nothing, while tiles of rhs in turn need fewer slots.
    """
    if first.name != second.name:
        return False
    one, other = first.opview, second.opview
    if one.lhs.type.memory == TENSOR:
        return False
    if any(op.ashift or len(op.skipped) or op.accumulator.type.is_transposed for op in (one, other)):
        return False
    attributes = [{name: op.attributes[name] for name in _AGREED if name in op.attributes} for op in (first, second)]
    rows = [op.accumulator.type.shape[0] for op in (one, other)]
    return one.lhs == other.lhs and attributes[0] == attributes[1] and rows[0] == rows[1]


def _is_carried(op: ir.Operation) -> bool:
    """Whether only the next iteration, or a later multiply, uses the result of a placed multiply; True without one."""
    users = [user for result in op.results for user in users_of(result)]
    return not op.results or bool(users) and all(user.name in ("scf.yield", op.name) for user in users)


def _is_scalar(op: ir.Operation) -> bool:
    """Whether an operation computes scalars from scalars, without effects."""
    values = (*op.operands, *op.results)
    return op.name.startswith("arith.") and not any(isinstance(value.type, ir.RankedTensorType) for value in values)
