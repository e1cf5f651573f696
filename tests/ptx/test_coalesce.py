"""Values share a register if that saves a move, and never if both are live at once."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tilec.dialect.mlir import ir
from tilec.dialect.ptx.builder import PtxBuilder

Lines = Callable[[], list[str]]


def number(b: PtxBuilder, value: int) -> ir.Value:
    return b.compute(f"mov.b32 $0, {value};", b.i32)


def use(b: PtxBuilder, value: ir.Value) -> None:
    b.execute("st.local.b32 [0], $0;", (), value)


def loop_of(b: PtxBuilder, *types: ir.Type) -> tuple[ir.Block, ir.Block]:
    return b.block(types, "loop"), b.block((), "after")


def predicate(b: PtxBuilder) -> ir.Value:
    return b.execute("setp.ne.b32 $0, 1, 0;", b.i1)


def test_accumulators_of_a_wgmma_loop_need_no_moves(b: PtxBuilder, lines: Lines) -> None:
    zero = b.compute("mov.f32 $0, 0f00000000;", b.f32)
    descriptor = b.compute("mov.b64 $0, 0;", b.i64)
    loop, after = loop_of(b, *[b.f32] * 64)
    b.branch(loop, *[zero] * 64)
    b.at(loop)
    accumulators = list(loop.arguments)
    for _ in range(4):
        instruction = "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {$0..$63}, $128, $129, 1, 1, 1, 0, 0;"
        accumulators = b.execute(instruction, [b.f32] * 64, *accumulators, descriptor, descriptor, tied=range(64))
    b.cond_branch(predicate(b), loop, accumulators, after, ())
    b.at(after)
    for value in accumulators:
        b.execute("st.local.f32 [0], $0;", (), value)
    b.leave()
    body = lines()
    start, end = body.index("$loop:"), body.index("@%p1 bra $loop;")
    assert not [line for line in body[start:end] if line.startswith("mov")]
    # The zero of 64 registers is written once, and copied 63 times before the loop.
    assert sum(line.startswith("mov.f32") for line in body[:start]) == 64
    assert not [line for line in body[end:] if line.startswith("mov")]


def test_registers_of_a_multiply_in_flight_are_not_moved(b: PtxBuilder, lines: Lines) -> None:
    """The accumulator would share a register with the argument of a later loop, which lives beside the result."""
    zero = b.compute("mov.f32 $0, 0f00000000;", b.f32)
    first, latch, second = b.block([b.f32], "first"), b.block((), "latch"), b.block([b.f32, b.f32], "second")
    multiply, between, after = b.block((), "multiply"), b.block((), "between"), b.block((), "after")
    b.branch(first, zero)
    b.at(first)
    b.cond_branch(predicate(b), latch, (), multiply, ())
    b.at(latch)
    one = b.compute("mov.f32 $0, 0f3f800000;", b.f32)
    b.cond_branch(predicate(b), first, [first.arguments[0]], second, [first.arguments[0], one])
    b.at(multiply)
    issued = b.execute("wgmma.mma_async $0;", b.f32, first.arguments[0], tied=[0])
    complete = b.execute("wgmma.wait_group 0; // $0", b.f32, issued, tied=[0])
    b.branch(between)
    b.at(between)
    two = b.compute("mov.f32 $0, 0f40000000;", b.f32)
    b.cond_branch(predicate(b), between, (), second, [two, complete])
    b.at(second)
    b.execute("st.local.f32 [0], $0;", (), second.arguments[0])
    b.cond_branch(predicate(b), second, list(second.arguments), after, ())
    b.at(after)
    b.execute("st.local.f32 [0], $0;", (), second.arguments[1])
    b.leave()
    body = lines()
    issue = next(number for number, line in enumerate(body) if line.startswith("wgmma.mma_async"))
    assert body[issue + 1].startswith("wgmma.wait_group")


def test_two_accumulators_share_all_registers_or_none(b: PtxBuilder, lines: Lines) -> None:
    """Both start as the same zero, and ptxas serializes multiplies whose accumulators share some registers."""
    zero = b.compute("mov.f32 $0, 0f00000000;", b.f32)
    types = [b.f32, b.f32]
    loop, after, join = b.block(types, "loop"), b.block((), "after"), b.block(types, "join")
    b.cond_branch(predicate(b), loop, [zero, zero], join, [zero, zero])
    b.at(loop)
    first = b.execute("wgmma.mma_async {$0, $1};", types, *loop.arguments, tied=[0, 1])
    b.cond_branch(predicate(b), loop, first, after, ())
    b.at(after)
    scaled = [b.compute("neg.f32 $0, $1;", b.f32, value) for value in first]
    b.branch(join, *b.execute("wgmma.mma_async {$0, $1};", types, *scaled, tied=[0, 1]))
    b.at(join)
    for value in join.arguments:
        b.execute("st.local.f32 [0], $0;", (), value)
    b.leave()
    registers = [set(re.findall(r"%f\d+", line)) for line in lines() if line.startswith("wgmma")]
    assert registers[0] == registers[1] or registers[0].isdisjoint(registers[1])


def test_counter_is_incremented_in_place(b: PtxBuilder, lines: Lines) -> None:
    zero = number(b, 0)
    loop, after = loop_of(b, b.i32)
    b.branch(loop, zero)
    b.at(loop)
    incremented = b.compute("add.s32 $0, $1, 1;", b.i32, loop.arguments[0])
    b.cond_branch(predicate(b), loop, [incremented], after, ())
    b.at(after)
    b.leave()
    assert lines() == [
        "mov.b32 %r1, 0;",
        "$loop:",
        "add.s32 %r1, %r1, 1;",
        "setp.ne.b32 %p1, 1, 0;",
        "@%p1 bra $loop;",
        "ret;",
    ]


def test_lost_copy_problem(b: PtxBuilder, lines: Lines) -> None:
    """The old value is live after the loop, so the new one has another register and a move on the back edge."""
    zero = number(b, 0)
    loop, after = loop_of(b, b.i32)
    b.branch(loop, zero)
    b.at(loop)
    old = loop.arguments[0]
    new = b.compute("add.s32 $0, $1, 1;", b.i32, old)
    b.cond_branch(predicate(b), loop, [new], after, ())
    b.at(after)
    use(b, old)
    b.leave()
    assert lines() == [
        "mov.b32 %r1, 0;",
        "$loop:",
        "add.s32 %r2, %r1, 1;",
        "setp.ne.b32 %p1, 1, 0;",
        "@!%p1 bra $after;",
        "mov.b32 %r1, %r2;",
        "bra.uni $loop;",
        "$after:",
        "st.local.b32 [0], %r1;",
        "ret;",
    ]


def test_swap_on_the_back_edge(b: PtxBuilder, lines: Lines) -> None:
    first, second = number(b, 1), number(b, 2)
    loop, after = loop_of(b, b.i32, b.i32)
    b.branch(loop, first, second)
    b.at(loop)
    left, right = loop.arguments
    use(b, left)
    b.cond_branch(predicate(b), loop, [right, left], after, ())
    b.at(after)
    b.leave()
    body = lines()
    start = body.index("@!%p1 bra $after;")
    assert body[start + 1 : start + 4] == ["mov.b32 %r3, %r1;", "mov.b32 %r1, %r2;", "mov.b32 %r2, %r3;"]


def test_tied_operand_that_stays_live_is_copied_first(b: PtxBuilder, lines: Lines) -> None:
    kept = number(b, 5)
    other = number(b, 6)
    result = b.execute("add.s32 $0, $0, $2;", b.i32, kept, other, tied=[0])
    use(b, kept)
    use(b, result)
    b.leave()
    assert lines() == [
        "mov.b32 %r1, 5;",
        "mov.b32 %r2, 6;",
        "mov.b32 %r3, %r1;",
        "add.s32 %r3, %r3, %r2;",
        "st.local.b32 [0], %r1;",
        "st.local.b32 [0], %r3;",
        "ret;",
    ]


def test_copy_before_an_instruction_does_not_overwrite_its_other_operands(b: PtxBuilder, lines: Lines) -> None:
    """`result` and `other` are joined by the loop, but `result` is copied from `kept` before `other` is read."""
    kept = number(b, 5)
    loop, after = loop_of(b, b.i32)
    b.branch(loop, number(b, 0))
    b.at(loop)
    other = loop.arguments[0]
    result = b.execute("sub.s32 $0, $0, $2;", b.i32, kept, other, tied=[0])
    b.cond_branch(predicate(b), loop, [result], after, ())
    b.at(after)
    use(b, kept)
    b.leave()
    body = lines()
    start = body.index("$loop:")
    assert body[start + 1 : start + 3] == ["mov.b32 %r3, %r1;", "sub.s32 %r3, %r3, %r2;"]
    assert "mov.b32 %r2, %r3;" in body


def test_results_of_one_instruction_never_share(b: PtxBuilder, lines: Lines) -> None:
    """The first result is unused, but the instruction still writes it."""
    loop, after = loop_of(b, b.i32)
    b.branch(loop, number(b, 0))
    b.at(loop)
    _, second = b.execute("mov.b64 {$0, $1}, 7;", [b.i32, b.i32], loop.arguments[0], tied=[0, -1])
    b.cond_branch(predicate(b), loop, [second], after, ())
    b.at(after)
    b.leave()
    assert "mov.b64 {%r1, %r2}, 7;" in lines()


@pytest.mark.parametrize("swapped", [False, True])
def test_value_that_is_live_in_one_branch_keeps_its_register_there(b: PtxBuilder, lines: Lines, swapped: bool) -> None:
    """Block `overwriting` may overwrite `first`; block `preserving` defines its value while `first` is live."""
    first = number(b, 1)
    overwriting, preserving = b.block((), "overwriting"), b.block((), "preserving")
    join = b.block([b.i32], "join")
    then, otherwise = (preserving, overwriting) if swapped else (overwriting, preserving)
    b.cond_branch(predicate(b), then, (), otherwise, ())
    b.at(overwriting)
    b.branch(join, b.execute("add.s32 $0, $0, 1;", b.i32, first, tied=[0]))
    b.at(preserving)
    second = number(b, 2)
    use(b, first)
    b.branch(join, second)
    b.at(join)
    use(b, join.arguments[0])
    b.leave()
    body = lines()
    assert body[body.index("mov.b32 %r2, 2;") + 1] == "st.local.b32 [0], %r1;"
    # One of the branches moves its value to the register of the other one.
    assert sum(line.startswith("mov.b32 %r") and ", %r" in line for line in body) == 1


def test_unused_argument_needs_no_move(b: PtxBuilder, lines: Lines) -> None:
    loop, after = loop_of(b, b.i32)
    kept = number(b, 1)
    b.branch(loop, kept)
    b.at(loop)
    use(b, kept)
    b.cond_branch(predicate(b), loop, [kept], after, ())
    b.at(after)
    b.leave()
    assert sum(line.startswith("mov") for line in lines()) == 1


def test_moves_of_both_edges_are_before_the_branch(b: PtxBuilder, lines: Lines) -> None:
    """A loop and the block after it have the same initial accumulators if the loop is skipped."""
    zero = b.compute("mov.f32 $0, 0f00000000;", b.f32)
    loop, after = b.block([b.f32] * 4, "loop"), b.block([b.f32] * 4, "after")
    b.cond_branch(predicate(b), loop, [zero] * 4, after, [zero] * 4)
    b.at(loop)
    sums = [b.compute("add.f32 $0, $1, $1;", b.f32, value) for value in loop.arguments]
    b.cond_branch(predicate(b), loop, sums, after, sums)
    b.at(after)
    b.execute("st.local.v4.f32 [0], {$0..$3};", (), *after.arguments)
    b.leave()
    body = lines()
    start = body.index("@!%p1 bra $after;")
    assert body[1] == "setp.ne.b32 %p1, 1, 0;"
    assert sorted(body[2:start]) == [f"mov.f32 %f{number}, %f1;" for number in (2, 3, 4)]
    assert not [line for line in body[start:] if line.startswith("mov")]


def test_move_whose_destination_is_read_on_an_edge_stays_on_its_edge(b: PtxBuilder, lines: Lines) -> None:
    """Both edges write `second` to the register of `left`, but the back edge also reads `left`."""
    first, second = number(b, 1), number(b, 2)
    loop, again, after = b.block([b.i32, b.i32], "loop"), b.block((), "again"), b.block([b.i32], "after")
    b.branch(loop, first, second)
    b.at(loop)
    left, right = loop.arguments
    use(b, right)
    b.cond_branch(predicate(b), again, (), after, [left])
    b.at(again)
    b.cond_branch(predicate(b), loop, [second, left], after, [second])
    b.at(after)
    use(b, after.arguments[0])
    use(b, second)
    b.leave()
    body = lines()
    start = body.index("@!%p2 bra $edge_1;")
    assert body[start + 1 : start + 3] == ["mov.b32 %r3, %r1;", "mov.b32 %r1, %r2;"]
    assert body[body.index("$edge_1:") + 1] == "mov.b32 %r1, %r2;"


def test_condition_is_read_before_it_is_overwritten(b: PtxBuilder, lines: Lines) -> None:
    """Both edges write `other` to the register of the condition."""
    other = b.execute("setp.eq.b32 $0, 1, 0;", b.i1)
    loop, again, after = b.block([b.i1], "loop"), b.block((), "again"), b.block([b.i1], "after")
    b.branch(loop, predicate(b))
    b.at(loop)
    condition = loop.arguments[0]
    b.cond_branch(predicate(b), again, (), after, [condition])
    b.at(again)
    b.cond_branch(condition, loop, [other], after, [other])
    b.at(after)
    b.execute("selp.b32 _, 0, 1, $0;", (), after.arguments[0])
    b.execute("selp.b32 _, 0, 1, $0;", (), other)
    b.leave()
    body = lines()
    start = body.index("@!%p2 bra $edge_1;")
    assert body[start + 1] == "mov.pred %p2, %p1;"
    assert body[body.index("$edge_1:") + 1] == "mov.pred %p2, %p1;"


def test_both_edges_of_a_branch_may_need_moves(b: PtxBuilder, lines: Lines) -> None:
    first, second = number(b, 1), number(b, 2)
    then, otherwise = b.block([b.i32], "then"), b.block([b.i32], "otherwise")
    b.cond_branch(predicate(b), then, [first], otherwise, [first])
    b.at(then)
    use(b, then.arguments[0])
    use(b, first)
    use(b, second)
    b.cond_branch(predicate(b), then, [second], otherwise, [second])
    b.at(otherwise)
    use(b, otherwise.arguments[0])
    use(b, second)
    b.leave()
    body = lines()
    start = body.index("@!%p2 bra $edge_1;")
    assert body[start + 1 : start + 4] == ["mov.b32 %r3, %r2;", "bra.uni $then;", "$edge_1:"]
