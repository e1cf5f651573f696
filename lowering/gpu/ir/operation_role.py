"""The role that runs an operation of a kernel, and the operations that every role may repeat."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from tilec.dialect.cache import cached
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import GLOBAL_LOADS
from tilec.dialect.tile_gpu.channel import (
    COPIES,
    MMA,
    TMA,
)
from tilec.dialect.tile_gpu.interface import Category, Executor, interface_of
from tilec.dialect.tile_gpu.kernel import (
    COMPUTE_ROLES,
    COPY,
)
from tilec.dialect.tile_gpu.sets import is_register_tile, is_scalar
from tilec.lowering.gpu.ir.compute_roles import compute_role

LOAD, MULTIPLY = "load", "mma"
# Read once: an attribute of an enumeration takes as long as the look-up of an interface.
_ANY, _PRODUCER, _CONSUMER, _SCALAR = Executor.ANY, Executor.PRODUCER, Executor.CONSUMER, Category.SCALAR
# The role of an executor; None if no role, or every role, executes its operations.
_ROLES = {
    Executor.NONE: None,
    Executor.EVERY: None,
    Executor.LOAD: LOAD,
    Executor.COPY: COPY,
    Executor.MULTIPLY: MULTIPLY,
}
CONTROL_FLOW = ("scf.for", "scf.if", "scf.while")


def is_rematerializable(op: ir.Operation) -> bool:
    """Whether an operation is scalar arithmetic, which any role may repeat."""
    record = interface_of(op.name)
    if record.executor is not _ANY:
        return False
    return record.category is _SCALAR or all(is_scalar(result.type) for result in op.results)


def is_repeatable(op: ir.Operation) -> bool:
    """Whether any role may repeat an operation: arithmetic of scalars and of tiles of one element, and their loads."""
    return _is_repeatable(op, op.operands, op.results)


def _is_repeatable(op: ir.Operation, operands: Iterable[ir.Value], results: Iterable[ir.Value]) -> bool:
    if interface_of(op.name).keeps_elements:
        return all(_is_repeated(value.type) for values in (results, operands) for value in values)
    return is_rematerializable(op) or is_repeatable_load(op)


def is_repeatable_load(op: ir.Operation) -> bool:
    """Whether an operation reads one element that is the same whenever it is read."""
    return has_repeatable_elements(op) and _has_one_element(op.results[0].type)


def has_repeatable_elements(op: ir.Operation) -> bool:
    """Whether an operation reads a tile that is the same whenever it is read, so that computing roles may repeat it."""
    return op.name in GLOBAL_LOADS and "repeatable" in op.attributes


@cached
def _is_repeated(type: ir.Type) -> bool:
    """Whether every thread of any role holds a scalar, or the element of a tile."""
    return is_scalar(type) or _has_one_element(type)


def _has_one_element(type: ir.Type) -> bool:
    return is_register_tile(type) and math.prod(ir.RankedTensorType(type).shape) == 1


def role_of(op: ir.Operation) -> str | None:
    """The role that runs an operation; None for control flow and for operations that every role may or must repeat."""
    return None if is_repeatable(op) else _role_of_others(op)


def _role_of_others(op: ir.Operation) -> str | None:
    """The role that runs an operation that is not repeatable."""
    executor = interface_of(op.name).executor
    if executor in _ROLES:
        return _ROLES[executor]
    if executor is _PRODUCER:
        producer = op.operands[0].owner.producer
        return {TMA: LOAD, MMA: MULTIPLY, COPIES: COPY}.get(producer) or compute_role(op)
    if executor is _CONSUMER:
        consumer = op.operands[0].owner.consumer_names[ir.IntegerAttr(op.attributes["consumer"]).value]
        return {TMA: LOAD, MMA: MULTIPLY}.get(consumer) or compute_role(op)
    return compute_role(op)


@dataclass(frozen=True, eq=False)
class RoleOperation:
    """An operation and the operations inside of it, with the facts that roles need: reading them from MLIR takes long.

    Attributes:
        op: the operation.
        name: its name.
        role: the result of `role_of`.
        is_repeatable: the result of `is_repeatable`.
        operands: its operands.
        results: its results.
        bodies: the blocks inside of it.
        roles_inside: the roles of the operations inside, without those at the end of loops and branches.
    """

    op: ir.Operation
    name: str
    role: str | None
    is_repeatable: bool
    operands: tuple[ir.Value, ...]
    results: tuple[ir.Value, ...]
    bodies: tuple[RoleBody, ...]
    roles_inside: frozenset[str | None]


@dataclass(frozen=True, eq=False)
class RoleBody:
    """A block of a loop or of a branch: its arguments, its operations, and the one at its end."""

    arguments: tuple[ir.Value, ...]
    operations: tuple[RoleOperation, ...]
    end: RoleOperation


def role_operations(operations: Iterable[ir.Operation]) -> tuple[RoleOperation, ...]:
    """The operations with their roles, and those of all operations inside of them."""
    return tuple(map(_role_operation, operations))


def _role_operation(op: ir.Operation) -> RoleOperation:
    bodies = tuple([_role_body(block) for region in op.regions for block in region.blocks])
    inside = [op for body in bodies for op in (*body.operations, body.end) if op.name != "scf.yield"]
    roles_inside = frozenset({op.role for op in inside}.union(*(op.roles_inside for op in inside)))
    operands, results = tuple(op.operands), tuple(op.results)
    repeats = _is_repeatable(op, operands, results)
    role = None if repeats else _role_of_others(op)
    return RoleOperation(op, op.name, role, repeats, operands, results, bodies, roles_inside)


def _role_body(block: ir.Block) -> RoleBody:
    *operations, end = role_operations(op.operation for op in block.operations)
    return RoleBody(tuple(block.arguments), tuple(operations), end)


def roles_of(operations: Iterable[RoleOperation]) -> list[str]:
    """The roles that a kernel body needs, `compute` first."""
    found = {role for op in operations for role in (op.role, *op.roles_inside)}
    return [name for name in (*COMPUTE_ROLES, COPY, LOAD, MULTIPLY) if name == COMPUTE_ROLES[0] or name in found]
