"""The attribute that names the role of an operation of threads, if several roles compute."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.kernel import COMPUTE, COMPUTE_ROLES, KernelOp
from tilec.dialect.walk import operations_below

_NAME = "tile_gpu.role"


def compute_role(op: ir.Operation) -> str:
    """The role that computes an operation of threads; `compute` without the attribute."""
    return ir.StringAttr(op.attributes[_NAME]).value if _NAME in op.attributes else COMPUTE


def set_compute_role(op: ir.Operation, role: str) -> None:
    """Assigns an operation of threads to a role."""
    if role != COMPUTE:
        op.attributes[_NAME] = ir.StringAttr.get(role, op.context)


def has_compute_roles(kernel: KernelOp) -> bool:
    """Whether several roles compute in a kernel that is not divided yet."""
    return any(compute_role(op.operation) in COMPUTE_ROLES[1:] for op in operations_below(kernel))


def clear_compute_role(op: ir.Operation) -> None:
    """Removes the attribute, in the code of a role."""
    if _NAME in op.attributes:
        del op.attributes[_NAME]
