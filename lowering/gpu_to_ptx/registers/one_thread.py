"""Code that one thread of a role executes, with branches of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering


@contextmanager
def if_first_thread(lowering: Lowering, label: str) -> Iterator[None]:
    """Code of the first thread of the role."""
    first = lowering.compute("setp.eq.s32 $0, $1, 0;", "i1", lowering.thread)
    with if_true(lowering, first, label):
        yield


@contextmanager
def if_true(lowering: Lowering, condition: ir.Value, label: str) -> Iterator[None]:
    """Code of the threads whose predicate is true; then the warp converges, because aligned instructions may follow."""
    b = lowering.b
    body, after = b.block(label=label), b.block(label=f"after_{label}")
    b.cond_branch(condition, body, [], after, [])
    lowering.at(body)
    yield
    b.branch(after)
    lowering.at(after)
    b.execute("bar.warp.sync 0xffffffff;")


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
