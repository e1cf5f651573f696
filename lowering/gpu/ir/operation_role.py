"""The role that runs an operation of a kernel, and the operations and values that every role may compute.

Operations of threads have an attribute with the role that computes them, if several roles compute.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass

from tilec.dialect.cache import cached
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.attribute_names import ROLE
from tilec.dialect.tile_gpu.categories import GLOBAL_LOADS
from tilec.dialect.tile_gpu.interface import Category, Executor, interface_of
from tilec.dialect.tile_gpu.operations.channel import CLAIMS, COPIES, MMA, TMA, MakeChannelOp, SkipOp
from tilec.dialect.tile_gpu.operations.claims import ClaimedBlockOp
from tilec.dialect.tile_gpu.operations.kernel import COMPUTE, COMPUTE_ROLES, COPY, KernelOp, RolesOp
from tilec.dialect.tile_gpu.sets import is_register_tile, is_scalar
from tilec.dialect.walk import operations_below, operations_in, users_of, views_in
from tilec.lowering.gpu.ir.joined_values import Carried, carried_values

SKIP = SkipOp.OPERATION_NAME
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


def compute_role(op: ir.Operation) -> str:
    """The role that computes an operation of threads; `compute` without the attribute."""
    role = op.attributes.get(ROLE)
    return COMPUTE if role is None else ir.StringAttr(role).value


def set_compute_role(op: ir.Operation, role: str) -> None:
    """Assigns an operation of threads to a role."""
    if role != COMPUTE:
        op.attributes[ROLE] = ir.StringAttr.get(role, op.context)


def has_compute_roles(kernel: KernelOp) -> bool:
    """Whether several roles compute in a kernel that is not divided yet."""
    return any(compute_role(op.operation) in COMPUTE_ROLES[1:] for op in operations_below(kernel))


def clear_compute_role(op: ir.Operation) -> None:
    """Removes the attribute, in the code of a role."""
    if ROLE in op.attributes:
        del op.attributes[ROLE]


def alternate(roles: RolesOp) -> bool:
    """Whether two roles compute alternate tiles: each skips the slots of the other one."""
    if len(set(roles.bodies).intersection(COMPUTE_ROLES)) < 2:
        return False
    channels = views_in(roles.operation.block, (MakeChannelOp.OPERATION_NAME,))
    return any(user.name == SKIP for op in channels for user in users_of(op.channel))


def unlike_roles(roles: RolesOp) -> Iterator[tuple[str, int, ir.Block]]:
    """The name, the warps and the code of each role that does work of its own."""
    are_alike = alternate(roles)
    for (name, region), warps in zip(roles.bodies.items(), roles.warps, strict=True):
        if not are_alike or name == COMPUTE or name not in COMPUTE_ROLES:
            yield name, warps, region.blocks[0]


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
        return {TMA: LOAD, MMA: MULTIPLY, COPIES: COPY, CLAIMS: LOAD}.get(producer) or compute_role(op)
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
        carried: the values that a loop or a branch carries.
        roles_inside: the roles of the operations inside, without those at the end of loops and branches.
    """

    op: ir.Operation
    name: str
    role: str | None
    is_repeatable: bool
    operands: tuple[ir.Value, ...]
    results: tuple[ir.Value, ...]
    bodies: tuple[RoleBody, ...]
    carried: Sequence[Carried]
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
    arguments, ends = [body.arguments for body in bodies], [body.end.operands for body in bodies]
    carried = carried_values(op.name, operands, results, arguments, ends) if op.name in CONTROL_FLOW else ()
    return RoleOperation(op, op.name, role, repeats, operands, results, bodies, carried, roles_inside)


def _role_body(block: ir.Block) -> RoleBody:
    *operations, end = role_operations(operations_in(block))
    return RoleBody(tuple(block.arguments), tuple(operations), end)


def roles_of(operations: Iterable[RoleOperation]) -> list[str]:
    """The roles that a kernel body needs, `compute` first."""
    found = {role for op in operations for role in (op.role, *op.roles_inside)}
    return [name for name in (*COMPUTE_ROLES, COPY, LOAD, MULTIPLY) if name == COMPUTE_ROLES[0] or name in found]


def nested_operations(operations: Iterable[RoleOperation]) -> Iterator[RoleOperation]:
    """The operations and those inside of loops and branches, without terminators."""
    for op in operations:
        yield op
        for body in op.bodies if op.name in CONTROL_FLOW else ():
            yield from nested_operations(body.operations)


def unknown_values(
    role: str, operations: Iterable[RoleOperation], crossing: Collection[ir.Operation] = ()
) -> set[ir.Value]:
    """The values that a role cannot compute, as another role executes operations that they need.

    The role gets the results of the operations that are `crossing`. Iterates to a fixed point: a value that is yielded
    at the end of a loop body may be unknown at its start.
    """
    unknown: set[ir.Value] = set()
    nested, size = list(nested_operations(operations)), -1
    while len(unknown) != size:
        size = len(unknown)
        for op in nested:
            if op.name in CONTROL_FLOW:
                unknown.update(value for each in op.carried if _is_lost(each, role, unknown) for value in each.targets)
            elif op.is_repeatable:
                unknown.update(() if unknown.isdisjoint(op.operands) else op.results)
            elif op.role != role and op.op not in crossing:
                unknown.update(op.results)
    return unknown


def values_of_threads(kernel: KernelOp) -> set[ir.Value]:
    """The values that only threads compute; every role gets the response to a claim."""
    operations = role_operations(operations_in(kernel.body.blocks[0]))
    claims = [op.op for op in nested_operations(operations) if op.name == ClaimedBlockOp.OPERATION_NAME]
    return unknown_values("", operations, claims)


def _is_lost(carried: Carried, role: str, unknown: Set[ir.Value]) -> bool:
    """Whether a role cannot carry values: roles that do not compute carry scalars alone."""
    is_carried = role in COMPUTE_ROLES or is_scalar(carried.targets[0].type)
    return not is_carried or not unknown.isdisjoint((*carried.decisions, *carried.sources))
