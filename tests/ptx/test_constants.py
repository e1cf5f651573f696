"""Code of several roles moves a constant that it passes to its blocks to registers of its own."""

from __future__ import annotations

import re
from collections.abc import Callable

from tilec.dialect.mlir import ir
from tilec.dialect.ptx.builder import PtxBuilder

Lines = Callable[[], list[str]]


def count_up(b: PtxBuilder, name: str, start: ir.Value, done: ir.Block) -> None:
    """A loop that increments a register, from the insertion point to `done`."""
    loop = b.block([b.i32], name)
    b.branch(loop, start)
    b.at(loop)
    (counter,) = loop.arguments
    b.execute("st.local.b32 [0], $0;", (), counter)
    following = b.compute("add.s32 $0, $1, 1;", b.i32, counter)
    b.cond_branch(b.execute("setp.ne.b32 $0, 1, 0;", b.i1), loop, [following], done, ())


def test_each_role_starts_its_loop_from_a_move_of_its_own(b: PtxBuilder, lines: Lines) -> None:
    zero = b.compute("mov.b32 $0, 0;", b.i32)
    first, second, done = b.block((), "first"), b.block((), "second"), b.block((), "done")
    b.cond_branch(b.execute("setp.ne.b32 $0, 1, 0;", b.i1), first, (), second, ())
    for role, name in ((first, "loop"), (second, "other_loop")):
        b.at(role)
        count_up(b, name, zero, done)
    b.at(done)
    b.leave()
    body = lines()
    assert [line for line in body[: body.index("$loop:") - 1] if line.startswith("mov")] == []
    moves = [line for line in body if line.startswith("mov")]
    assert len(moves) == 2 and len(set(moves)) == 2 and all(line.endswith(", 0;") for line in moves)


def test_loops_in_sequence_share_a_constant(b: PtxBuilder, lines: Lines) -> None:
    zero = b.compute("mov.b32 $0, 0;", b.i32)
    following, done = b.block((), "following"), b.block((), "done")
    count_up(b, "loop", zero, following)
    b.at(following)
    count_up(b, "other_loop", zero, done)
    b.at(done)
    b.leave()
    assert sum(line.endswith(", 0;") for line in lines() if line.startswith("mov")) == 1


def test_tiles_in_sequence_start_from_moves_of_their_own(b: PtxBuilder, lines: Lines) -> None:
    """The registers of the second tile are not in use during the first."""
    zero = b.compute("mov.f32 $0, 0f00000000;", b.f32)
    for _ in range(2):
        results = b.execute("mma.example {$0, $1};", (b.f32, b.f32), zero, zero, tied=[0, 1])
        b.execute("st.local.v2.f32 [0], {$0, $1};", (), *results)
    b.leave()
    body = lines()
    first = next(number for number, line in enumerate(body) if line.startswith("mma"))
    assert [line.startswith("mov") for line in body] == [True, True, False, False, True, True, False, False, False]
    assert not any("%f3" in line or "%f4" in line for line in body[: first + 2])


def test_accumulators_of_loops_in_sequence_start_from_moves_of_their_own(b: PtxBuilder, lines: Lines) -> None:
    """No register of the second accumulator has a value during the first loop."""
    zero, descriptor = b.compute("mov.f32 $0, 0f00000000;", b.f32), b.compute("mov.b64 $0, 0;", b.i64)
    for name in ("loop", "other_loop"):
        loop, after = b.block([b.f32] * 4, name), b.block((), f"after_{name}")
        b.branch(loop, *[zero] * 4)
        b.at(loop)
        multiply = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0..$3}, $8, $9, 1, 1, 1, 0, 0;"
        sums = b.execute(multiply, [b.f32] * 4, *loop.arguments, descriptor, descriptor, tied=range(4))
        b.cond_branch(b.execute("setp.ne.b32 $0, 1, 0;", b.i1), loop, sums, after, ())
        b.at(after)
        for value in sums:
            b.execute("st.local.f32 [0], $0;", (), value)
    b.leave()
    body = lines()
    starts = [body.index("$loop:"), body.index("$other_loop:")]
    moved = [line.split()[1].rstrip(",") for line in body[: starts[0]] if line.startswith("mov.f32")]
    also_moved = [line.split()[1].rstrip(",") for line in body[starts[0] : starts[1]] if line.startswith("mov.f32")]
    assert (len(moved), len(also_moved)) == (4, 4)
    second = next(line for line in body[starts[1] :] if line.startswith("wgmma"))
    assert set(re.findall(r"%f\d+", second)).isdisjoint(moved)


def test_each_role_loads_into_a_move_of_its_own(b: PtxBuilder, lines: Lines) -> None:
    """A load with a predicate leaves the constant, in a register that the other role does not use."""
    zero, true = b.compute("mov.b32 $0, 0;", b.i32), b.execute("setp.ne.b32 $0, 1, 0;", b.i1)
    first, second, done = b.block((), "first"), b.block((), "second"), b.block((), "done")
    b.cond_branch(true, first, (), second, ())
    for role in (first, second):
        b.at(role)
        loaded = b.execute("@$1 ld.local.b32 $0, [0];", b.i32, true, zero, tied=[1])
        b.execute("st.local.b32 [4], $0;", (), loaded)
        b.branch(done)
    b.at(done)
    b.leave()
    body = lines()
    moves = [number for number, line in enumerate(body) if line.startswith("mov")]
    assert [body[number].endswith(", 0;") for number in moves] == [True, True]
    for number in moves:
        register = body[number].split()[1].rstrip(",")
        assert body[number + 1] == f"@%p1 ld.local.b32 {register}, [0];"
    assert body[moves[0]] != body[moves[1]]
