"""The roles that compute: the attribute of operations of threads that names theirs, and those whose work is alike."""

from __future__ import annotations

from collections.abc import Iterator

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.attribute_names import ROLE
from tilec.dialect.tile_gpu.channel import MakeChannelOp, SkipOp
from tilec.dialect.tile_gpu.kernel import COMPUTE, COMPUTE_ROLES, KernelOp, RolesOp
from tilec.dialect.walk import operations_below

SKIP = SkipOp.OPERATION_NAME
_CHANNEL = MakeChannelOp.OPERATION_NAME


def compute_role(op: ir.Operation) -> str:
    """The role that computes an operation of threads; `compute` without the attribute."""
    return ir.StringAttr(op.attributes[ROLE]).value if ROLE in op.attributes else COMPUTE


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
    channels = (op.operation.results[0] for op in roles.operation.block.operations if op.operation.name == _CHANNEL)
    return any(use.owner.operation.name == SKIP for channel in channels for use in channel.uses)


def unlike_roles(roles: RolesOp) -> Iterator[tuple[str, int, ir.Block]]:
    """The name, the warps and the code of each role that does work of its own."""
    are_alike = alternate(roles)
    for (name, region), warps in zip(roles.bodies.items(), roles.warps, strict=True):
        if not are_alike or name == COMPUTE or name not in COMPUTE_ROLES:
            yield name, warps, region.blocks[0]
