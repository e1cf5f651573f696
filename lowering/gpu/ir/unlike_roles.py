"""The roles of a kernel that do different work: of two that compute alternate tiles, the first one."""

from __future__ import annotations

from collections.abc import Iterator

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.channel import MakeChannelOp, SkipOp
from tilec.dialect.tile_gpu.kernel import COMPUTE, COMPUTE_ROLES, RolesOp

SKIP = SkipOp.OPERATION_NAME
_CHANNEL = MakeChannelOp.OPERATION_NAME


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
