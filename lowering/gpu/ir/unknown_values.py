"""The values of a kernel that a role cannot compute, because another role executes the operations that compute them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.kernel import COMPUTE_ROLES
from tilec.dialect.tile_gpu.sets import is_scalar
from tilec.lowering.gpu.ir.operation_role import RoleBody, RoleOperation


@dataclass(frozen=True)
class _Role:
    """A role, and the operations of others whose results it gets."""

    name: str
    crossing: Collection[ir.Operation]


def unknown_values(
    name: str, operations: Sequence[RoleOperation], crossing: Collection[ir.Operation] = ()
) -> set[ir.Value]:
    """Iterates to a fixed point, as a value yielded at the end of a loop body may be unknown at its start.

    The role gets the results of the operations that are `crossing`.
    """
    role = _Role(name, crossing)
    unknown: set[ir.Value] = set()
    size = -1
    while len(unknown) != size:
        size = len(unknown)
        for op in operations:
            _visit(op, role, unknown)
    return unknown


def _visit(op: RoleOperation, role: _Role, unknown: set[ir.Value]) -> None:
    """Adds the results and block arguments that are unknown if the values in `unknown` are."""
    if op.name == "scf.for":
        _visit_for(op, role, unknown)
    elif op.name == "scf.if":
        _visit_if(op, role, unknown)
    elif op.name == "scf.while":
        _visit_while(op, role, unknown)
    elif op.is_repeatable:
        if not unknown.isdisjoint(op.operands):
            unknown.update(op.results)
    elif op.role != role.name and op.op not in role.crossing:
        unknown.update(op.results)


def _visit_for(op: RoleOperation, role: _Role, unknown: set[ir.Value]) -> None:
    (body,) = op.bodies
    bounds, initial = op.operands[:3], op.operands[3:]
    if not unknown.isdisjoint(bounds):
        unknown.update((*op.results, *body.arguments))
    yielded = _visit_body(body, role, unknown)
    for result, argument, sources in zip(
        op.results, body.arguments[1:], zip(initial, yielded, strict=True), strict=True
    ):
        if not _may_carry(role, result) or not unknown.isdisjoint(sources):
            unknown.update((result, argument))


def _visit_while(op: RoleOperation, role: _Role, unknown: set[ir.Value]) -> None:
    before, after = op.bodies
    condition, *passed = _visit_body(before, role, unknown)
    yielded = _visit_body(after, role, unknown)
    for argument, sources in zip(before.arguments, zip(op.operands, yielded, strict=True), strict=True):
        if not _may_carry(role, argument) or not unknown.isdisjoint(sources):
            unknown.add(argument)
    for result, argument, source in zip(op.results, after.arguments, passed, strict=True):
        if not _may_carry(role, result) or source in unknown or condition in unknown:
            unknown.update((result, argument))


def _visit_if(op: RoleOperation, role: _Role, unknown: set[ir.Value]) -> None:
    if op.operands[0] in unknown:
        unknown.update(op.results)
    yielded = [_visit_body(body, role, unknown) for body in op.bodies]
    for index, result in enumerate(op.results):
        if not _may_carry(role, result) or any(values[index] in unknown for values in yielded):
            unknown.add(result)


def _visit_body(body: RoleBody, role: _Role, unknown: set[ir.Value]) -> tuple[ir.Value, ...]:
    """Visits the operations of a block and returns the values that it yields."""
    for op in body.operations:
        _visit(op, role, unknown)
    return body.end.operands


def _may_carry(role: _Role, value: ir.Value) -> bool:
    return role.name in COMPUTE_ROLES or is_scalar(value.type)
