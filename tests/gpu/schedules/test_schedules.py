"""Schedules that are written by hand are checked: their attribute, the dependences that they keep, and liveness."""

from __future__ import annotations

import pytest

from tilec.compile_options import DEFAULTS
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_named
from tilec.errors import TilecError
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.passes import run_pass
from tilec.lowering.gpu.schedule.legal_schedules import write_schedules
from tilec.lowering.target import target_named
from tilec.text_input.stage_module import read_stage_module

HEAD = """
#w = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!s = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!t = tensor<128x64xf16, #w>
tile_gpu.kernel @k(%n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %x = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse ring : channel<[!s]>
  %y = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse ring : channel<[!s]>
"""
GET_X, GET_Y = (f"%{name * 2} = tile_gpu.get %{name} consumer 0" for name in "xy")
LOAD_X = "%tile = tile_gpu.load_shared %xx"
RELEASE_X, RELEASE_Y = (f"tile_gpu.release %{name} consumer 0" for name in "xy")
TYPES = {GET_X: "channel<[!s]>", GET_Y: "channel<[!s]>", LOAD_X: "!s -> !t"}


def kernel(body: list[tuple[str, str]], front: str = "", rounds: str = "") -> str:
    """A kernel whose threads have a loop of operations with schedules, and whose loads have all of x, then y."""
    lines = []
    for operation, position in body:
        schedule = f" {{tile_gpu.schedule = {position}}}" if position else ""
        lines.append(f"{operation}{schedule} : {TYPES.get(operation, 'channel<[!s]>')}")
    puts = "\n".join(
        f"%{name} = tile_gpu.put_begin %{name[0]} : channel<[!s]>\ntile_gpu.put_commit %{name[0]} : channel<[!s]>"
        for name in ("xp", "yp")
    )
    loops = [f"scf.for %i = %zero to %n step %one : i32 id 0 {{\n{code}\n}}" for code in ("\n".join(lines), puts)]
    loops[0] += f" {{tile_gpu.rounds = {rounds}}}" if rounds else ""
    return f"{HEAD}tile_gpu.roles compute warps 4 {{\n{front}{loops[0]}\n}} load warps 1 {{\n{loops[1]}\n}}\n}}\n"


def at(ahead: int, order: int) -> str:
    return f"array<i32: {ahead}, {order}>"


def expand(text: str) -> str:
    module = read_stage_module(text, "kernel.mlir")
    run_pass(module, "expand-schedules", target="sm_100a")
    return str(module)


MUST_BE = "tile_gpu.schedule must be array<i32: iterations ahead, order>, but is"
OPERAND = "the schedule has an operation at {}, and what computes its operand at {}"
IN_ORDER = [(GET_X, at(0, 0)), (LOAD_X, at(0, 1)), (RELEASE_X, at(0, 2)), (GET_Y, at(0, 3)), (RELEASE_Y, at(0, 4))]


def changed(**positions: str) -> list[tuple[str, str]]:
    """The operations of IN_ORDER, by number, with other positions."""
    return [(op, positions.get(f"p{number}", old)) for number, (op, old) in enumerate(IN_ORDER)]


def test_schedule_in_program_order_changes_nothing_but_its_attribute() -> None:
    plain = [(operation, "") for operation, _ in IN_ORDER]
    assert "tile_gpu.schedule" not in expand(kernel(IN_ORDER))
    assert expand(kernel(IN_ORDER)) == expand(kernel(plain))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (changed(p0="1 : i32"), f"{MUST_BE} 1 : i32"),
        (changed(p0="array<i32: 1>"), f"{MUST_BE} array<i32: 1>"),
        (changed(p0=at(-1, 0)), "tile_gpu.schedule must have no negative number, but is array<i32: -1, 0>"),
        (changed(p3=at(0, 1)), "two operations of a loop have order 1 in its schedule"),
        # The slot is got after the load of it, or in the iteration after.
        (changed(p0=at(0, 1), p1=at(0, 0)), OPERAND.format((0, 0), (0, 1))),
        (changed(p1=at(1, 1)), OPERAND.format((1, 1), (0, 0))),
    ],
)  # fmt: skip
def test_verifier_rejects_a_schedule(body: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(TilecError) as error:
        expand(kernel(body))
    assert message in str(error.value)
    assert "kernel.mlir:1" in str(error.value)


@pytest.mark.parametrize("rounds", ["1 : i32", "-4 : i32", '"four"'])
def test_verifier_rejects_rounds(rounds: str) -> None:
    with pytest.raises(TilecError) as error:
        expand(kernel(IN_ORDER, rounds=rounds))
    message = f"tile_gpu.rounds must be an integer from 2 on, the iterations of a round, but is {rounds}"
    assert message in str(error.value)


def test_rounds_of_an_operation_that_is_no_loop_are_rejected() -> None:
    get = f"{GET_X.replace('%xx', '%first')} {{tile_gpu.rounds = 2 : i32}} : channel<[!s]>\n"
    with pytest.raises(TilecError, match="tile_gpu.rounds must be on scf.for, but is on tile_gpu.get"):
        expand(kernel(IN_ORDER, front=get))


def test_loop_of_a_role_with_steps_has_no_rounds() -> None:
    with pytest.raises(TilecError, match="scf.for has rounds of several iterations, and steps on channels"):
        expand(kernel(IN_ORDER, rounds="2 : i32"))


def test_schedule_of_an_operation_outside_of_loops_is_rejected() -> None:
    get = f"{GET_X.replace('%xx', '%first')} {{tile_gpu.schedule = {at(0, 0)}}} : channel<[!s]>\n"
    with pytest.raises(TilecError, match="tile_gpu.schedule must be on operations of the body of scf.for"):
        expand(kernel(IN_ORDER, front=get))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (changed(p3=""), "kernel.mlir:15:7: error: tile_gpu.get has no schedule, as all operations of its loop have"),
        # The slot is released before the load of it.
        (
            changed(p1=at(0, 2), p2=at(0, 1)),
            "kernel.mlir:14:1: error: tile_gpu.release precedes tile_gpu.load_shared (kernel.mlir:13:9) in the "
            "schedule, on which it depends",
        ),
        (
            changed(p2=at(1, 2)),
            "kernel.mlir:14:1: error: tile_gpu.release is more iterations ahead than tile_gpu.get (kernel.mlir:12:7) "
            "in the schedule, on which it depends",
        ),
        (
            changed(p0=at(1, 0)),
            "kernel.mlir:11:1: error: scf.for has a schedule that passes a buffer to another iteration",
        ),
    ],
)  # fmt: skip
def test_schedule_that_breaks_a_dependence_is_refused_with_the_line(body: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(TilecError) as error:
        expand(kernel(body))
    assert message in str(error.value)


def test_schedule_that_deadlocks_is_refused() -> None:
    """The loads fill x before y: of the next iteration when the threads have released the only slot of x."""
    twin = [(GET_X, at(0, 0)), (RELEASE_X, at(0, 1)), (GET_Y, at(1, 2)), (RELEASE_Y, at(1, 3))]
    expand(kernel(twin))
    deadlock = [(GET_X, at(0, 0)), (RELEASE_X, at(0, 3)), (GET_Y, at(1, 1)), (RELEASE_Y, at(1, 2))]
    with pytest.raises(
        TilecError, match="the roles of the kernel deadlock: role 'compute' waits in get .* role 'load' waits"
    ):
        expand(kernel(deadlock))


ROLES_THAT_GIVE_FIRST = """
!s = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
tile_gpu.kernel @k(%n: i32) target "sm_90a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %x = tile_gpu.make_channel stages 1 producer threads consumers [threads] reuse ring : channel<[!s]>
  %y = tile_gpu.make_channel stages 1 producer threads consumers [threads] reuse ring : channel<[!s]>
  tile_gpu.roles compute warps 4 {
    scf.for %i = %zero to %n step %one : i32 id 0 {
      %put = tile_gpu.put_begin %x : channel<[!s]>
      tile_gpu.put_commit %x : channel<[!s]>
      %got = tile_gpu.get %y consumer 0 : channel<[!s]>
      tile_gpu.release %y consumer 0 : channel<[!s]>
    }
  } compute1 warps 4 {
    scf.for %i = %zero to %n step %one : i32 id 0 {
      %put = tile_gpu.put_begin %y : channel<[!s]>
      tile_gpu.put_commit %y : channel<[!s]>
      %got = tile_gpu.get %x consumer 0 : channel<[!s]>
      tile_gpu.release %x consumer 0 : channel<[!s]>
    }
  }
}
"""


@pytest.mark.parametrize("number", [0, 1])
def test_schedule_is_legal_with_those_that_other_loops_have(number: int) -> None:
    """Each of two roles may get before it puts while the other one puts first, and not both."""
    module = read_stage_module(ROLES_THAT_GIVE_FIRST, "kernel.mlir")
    (kernel,) = operations_named(module, ("tile_gpu.kernel",))
    with module.context, ir.Location.unknown():
        context = Context.of(kernel, target_named("sm_90a"), DEFAULTS, [])
        loops = [op.operation for op in operations_named(module, ("scf.for",))]
        gets_first = {loop: [(op, 0) for op in (*body[2:4], *body[:2])] for loop in loops if (body := body_of(loop))}
        first, second = loops[number], loops[1 - number]
        assert write_schedules(kernel, {first: gets_first[first]}, context)
        assert not write_schedules(kernel, {second: gets_first[second]}, context)
        assert write_schedules(kernel, {second: [(op, 0) for op in body_of(second)]}, context)


def body_of(loop: ir.Operation) -> list[ir.Operation]:
    return [op.operation for op in loop.regions[0].blocks[0].operations][:-1]


WARPGROUP = """
#d = "register=(0,1)(8,0)(0,8)(0,16)(0,32) lane=(0,2)(0,4)(1,0)(2,0)(4,0) warp=(16,0)(32,0) shape=64x64"
!d = tensor<64x64xf32, #d>
!a = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=0 swizzle=128B>
tile_gpu.kernel @k(%n: i32) target "sm_90a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : !d
  %left = tile_gpu.shared : !a
  %right = tile_gpu.shared : !b
"""


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ((0, 2), (0, 3), None),
        (
            (0, 3),
            (0, 2),
            "tile_gpu.wgmma_wait awaits multiplies of warpgroups in another order than that of their issue",
        ),
        ((0, 2), (1, 3), "scf.for has a schedule, and awaits multiplies of warpgroups in another iteration"),
    ],
)
def test_multiplies_are_awaited_in_the_order_of_issue(
    first: tuple[int, int], second: tuple[int, int], message: str | None
) -> None:
    """Of the first wait the second multiply is in flight."""
    text = f"""{WARPGROUP}
  scf.for %i = %zero to %n step %one : i32 {{
    %s = tile_gpu.wgmma f16 %left, %right, %none {{tile_gpu.schedule = {at(0, 0)}}} : !a, !b -> !d
    %t = tile_gpu.wgmma f16 %left, %right, %none {{tile_gpu.schedule = {at(1 if second[0] else 0, 1)}}} : !a, !b -> !d
    %u = tile_gpu.wgmma_wait %s pending 0 {{tile_gpu.schedule = {at(*first)}}} : !d
    %v = tile_gpu.wgmma_wait %t pending 0 {{tile_gpu.schedule = {at(0, second[1])}}} : !d
  }}
}}
"""
    if message is None:
        assert "pending = 1" in expand(text) or "pending 1" in expand(text)
        return
    with pytest.raises(TilecError, match=message):
        expand(text)


def test_multiplies_that_are_awaited_in_the_next_iteration_have_no_schedule() -> None:
    text = f"""{WARPGROUP}
  %r = scf.for %i = %zero to %n step %one iter_args(%o = %none) -> (!d) : i32 {{
    %t = tile_gpu.wgmma_wait %o pending 0 {{tile_gpu.schedule = array<i32: 0, 0>}} : !d
    %s = tile_gpu.wgmma f16 %left, %right, %t {{tile_gpu.schedule = array<i32: 0, 1>}} : !a, !b -> !d
    scf.yield %s : !d
  }}
}}
"""
    with pytest.raises(
        TilecError, match="scf.for has a schedule, and awaits multiplies of warpgroups in another iteration"
    ):
        expand(text)
