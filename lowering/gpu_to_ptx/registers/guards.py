"""Predicates that guard accesses to memory, and code of one thread, with branches of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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


@contextmanager
def if_first_thread(lowering: Lowering, label: str) -> Iterator[None]:
    """Code of the first thread of the role."""
    first = lowering.compute("setp.eq.s32 $0, $1, 0;", "i1", lowering.thread)
    with if_true(lowering, first, label):
        yield


@contextmanager
def if_true(lowering: Lowering, condition: ir.Value, label: str) -> Iterator[None]:
    """Code of the threads whose predicate is true; then the warp converges, because aligned instructions may follow."""
    with lowering.where(condition, label, f"after_{label}", uniform=False):
        yield
    lowering.b.execute("bar.warp.sync 0xffffffff;")


@contextmanager
def counted(lowering: Lowering, count: int, label: str) -> Iterator[ir.Value]:
    """The body of a loop from zero to a count of one or more, with the counter (i32); no loop for a count of one."""
    zero = lowering.compute("mov.b32 $0, 0;", "i32")
    if count == 1:
        yield zero
        return
    b = lowering.b
    head, after = b.block([b.i32], label), b.block(label=f"after_{label}")
    b.branch(head, zero)
    lowering.at(head)
    counter = head.arguments[0]
    yield counter
    following = lowering.compute("add.s32 $0, $1, 1;", "i32", counter)
    again = lowering.compute(f"setp.lt.s32 $0, $1, {count};", "i1", following)
    b.cond_branch(again, head, [following], after, [])
    lowering.at(after)
