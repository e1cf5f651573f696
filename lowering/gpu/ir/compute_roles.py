"""The attribute that names the role of an operation of threads, if several roles compute."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.attribute_names import ROLE
from tilec.dialect.tile_gpu.kernel import COMPUTE, COMPUTE_ROLES, KernelOp
from tilec.dialect.walk import operations_below


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
