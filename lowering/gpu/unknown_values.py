"""The values of a kernel that a role cannot compute, because another role runs the operations behind them."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.kernel import COMPUTE_ROLES
from tilec.dialect.tile_gpu.sets import is_scalar
from tilec.lowering.gpu.operation_role import is_repeatable, role_of


def unknown_values(role: str, operations: Sequence[ir.Operation]) -> set[ir.Value]:
    """Iterates to a fixed point, as a value yielded at the end of a loop body may be unknown at its start."""
    unknown: set[ir.Value] = set()
    size = -1
    while len(unknown) != size:
        size = len(unknown)
        for op in operations:
            _visit(op, role, unknown)
    return unknown


def _visit(op: ir.Operation, role: str, unknown: set[ir.Value]) -> None:
    """Adds the results and block arguments that are unknown if the values in `unknown` are."""
    if op.name == "scf.for":
        _visit_for(op, role, unknown)
    elif op.name == "scf.if":
        _visit_if(op, role, unknown)
    elif op.name == "scf.while":
        _visit_while(op, role, unknown)
    elif is_repeatable(op):
        if any(operand in unknown for operand in op.operands):
            unknown.update(op.results)
    elif role_of(op) != role:
        unknown.update(op.results)


def _visit_for(op: ir.Operation, role: str, unknown: set[ir.Value]) -> None:
    body = op.regions[0].blocks[0]
    bounds, initial = list(op.operands)[:3], list(op.operands)[3:]
    if any(bound in unknown for bound in bounds):
        unknown.update((*op.results, *body.arguments))
    yielded = _visit_block(body, role, unknown)
    for result, argument, sources in zip(
        op.results, list(body.arguments)[1:], zip(initial, yielded, strict=True), strict=True
    ):
        if not _may_carry(role, result) or any(source in unknown for source in sources):
            unknown.update((result, argument))


def _visit_while(op: ir.Operation, role: str, unknown: set[ir.Value]) -> None:
    before, after = (region.blocks[0] for region in op.regions)
    condition, *passed = _visit_block(before, role, unknown)
    yielded = _visit_block(after, role, unknown)
    for argument, sources in zip(before.arguments, zip(op.operands, yielded, strict=True), strict=True):
        if not _may_carry(role, argument) or any(source in unknown for source in sources):
            unknown.add(argument)
    for result, argument, source in zip(op.results, after.arguments, passed, strict=True):
        if not _may_carry(role, result) or source in unknown or condition in unknown:
            unknown.update((result, argument))


def _visit_if(op: ir.Operation, role: str, unknown: set[ir.Value]) -> None:
    if op.operands[0] in unknown:
        unknown.update(op.results)
    yielded = [_visit_block(region.blocks[0], role, unknown) for region in op.regions if len(region.blocks)]
    for index, result in enumerate(op.results):
        if not _may_carry(role, result) or any(values[index] in unknown for values in yielded):
            unknown.add(result)


def _visit_block(block: ir.Block, role: str, unknown: set[ir.Value]) -> list[ir.Value]:
    """Visits the operations of a block and returns the values that it yields."""
    *operations, terminator = [op.operation for op in block.operations]
    for op in operations:
        _visit(op, role, unknown)
    return list(terminator.operands)


def _may_carry(role: str, value: ir.Value) -> bool:
    return role in COMPUTE_ROLES or is_scalar(value.type)
