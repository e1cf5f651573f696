"""Predicates that guard accesses to memory."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering


def first_holder(lowering: Lowering, free_thread_mask: int) -> ir.Value | None:
    """True in the first thread that holds each element; None if every element is held by one thread."""
    if not free_thread_mask:
        return None
    free = lowering.compute(f"and.b32 $0, $1, {free_thread_mask};", "i32", lowering.thread)
    return lowering.compute("setp.eq.s32 $0, $1, 0;", "i1", free)


def conjunction(lowering: Lowering, left: ir.Value | None, right: ir.Value | None) -> ir.Value | None:
    """The conjunction of two predicates; None means always."""
    if left is None or right is None:
        return left if right is None else right
    return lowering.compute("and.pred $0, $1, $2;", "i1", left, right)
