"""Loops of which operations run an iteration ahead, and reordered bodies, store the same tiles in the same order.

The oracle executes tile_gpu itself: each tile of these kernels has equal elements, so that it is one integer.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.schedule import set_schedule
from tilec.dialect.walk import operations_named
from tilec.lowering.gpu.ir.operation_role import is_rematerializable
from tilec.lowering.gpu.loops.reorder_body import dependences, reorder_body
from tilec.lowering.gpu.loops.rotate_loop import rotate_loop
from tilec.lowering.gpu.passes import run_pass
from tilec.lowering.gpu.schedule.legal_schedules import only_loads_are_ahead, schedule_error
from tilec.text_input.stage_module import read_stage_module

MASK = 2**32 - 1
HEAD = """
#line = "register=none lane=(1)(2)(4)(8)(16) warp=(32)(64) shape=128"
!l = tensor<128xi32, #line>
#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!t = tensor<128x64xf16, #rows>
!s = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
tile_gpu.kernel @k(%q: i64, %p: i64, %lower: i32, %upper: i32, %step: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %size = arith.constant 128 : i32
  %first = arith.constant dense<3> : !l
  %second = arith.constant dense<5> : !l
"""
# Bounds of loops with 0, 1, 2, 3 and 5 iterations.
BOUNDS = [(0, 0, 1), (2, 3, 4), (0, 2, 1), (1, 9, 3), (0, 5, 1)]


def store(value: str) -> str:
    return f"tile_gpu.store_view {value} -> %q[%zero] extents [%size] strides [%one] vector 1 : !l"


def random_kernel(choose: random.Random, kinds: Sequence[str] = ("add", "multiply", "count", "store")) -> str:
    """A loop that carries two tiles, with arithmetic on tiles and on its counter, stores, and early loads."""
    names, lines = ["%a", "%b"], []
    for number in range(choose.randint(3, 10)):
        kind = choose.choice(kinds)
        if kind == "load":
            place = "%p[%i] extents [%size] strides [%one] vector 1 early"
            lines.append(f"%t{number} = tile_gpu.load_view {place} : !l")
            names.append(f"%t{number}")
            continue
        if kind == "store":
            lines.append(store(choose.choice(names)))
            continue
        if kind == "branch":
            # Its region alone has the value that is computed before it.
            lines.append(f"%c{number} = arith.cmpi slt, %one, %i : i32")
            lines.append(f"%s{number} = arith.muli %i, %size : i32")
            inside = f"%t{number} = tile_gpu.splat %s{number} : i32 -> !l\n{store(f'%t{number}')}"
            lines.append(f"scf.if %c{number} id {number} {{\n{inside}\n}}")
            continue
        if kind == "count":
            lines += [f"%s{number} = arith.addi %i, %one : i32", f"%t{number} = tile_gpu.splat %s{number} : i32 -> !l"]
        else:
            operation = "arith.addi" if kind == "add" else "arith.muli"
            lines.append(f"%t{number} = {operation} {choose.choice(names)}, {choose.choice(names)} : !l")
        names.append(f"%t{number}")
    yielded = [choose.choice(names), choose.choice(names)]
    body = "\n      ".join([*lines, f"scf.yield {', '.join(yielded)} : !l, !l"])
    loop = "scf.for %i = %lower to %upper step %step iter_args(%a = %first, %b = %second) -> (!l, !l) : i32"
    return f"{HEAD}  %x, %y = {loop} {{\n      {body}\n  }}\n  {store('%x')}\n  {store('%y')}\n}}\n"


def stored(module: ir.Module, bounds: tuple[int, int, int]) -> list[int]:
    """What a kernel stores, in order, for these bounds and this step of its loop."""
    (kernel,) = operations_named(module, ("tile_gpu.kernel",))
    block = kernel.operation.regions[0].blocks[0]
    found: list[int] = []
    execute(block, dict(zip(block.arguments, (0, 0, *bounds), strict=True)), found)
    return found


def execute(block: ir.Block, values: dict[ir.Value, int], found: list[int]) -> list[int]:
    """Executes a block; returns what it yields."""
    for op in (each.operation for each in block.operations):
        operands = [values[value] for value in op.operands] if op.name != "tile_gpu.store_view" else []
        if op.name == "scf.yield":
            return operands
        if op.name == "tile_gpu.store_view":
            found.append(values[op.operands[0]])
        elif op.name == "tile_gpu.load_view":
            # The tile at a place of memory is a number that depends on the place, here the counter of the loop.
            values[op.results[0]] = operands[1] * 7919 + 1 & MASK
        elif op.name == "scf.for":
            values.update(zip(op.results, iterate(op, operands, values, found), strict=True))
        elif op.name == "scf.if":
            region = op.regions[0 if operands[0] else 1]
            results = execute(region.blocks[0], values, found) if len(list(region.blocks)) else []
            values.update(zip(op.results, results, strict=False))
        elif op.name not in ("tile_gpu.return",):
            values[op.results[0]] = RULES[op.name](op, *operands) & MASK
    return []


def iterate(op: ir.Operation, operands: list[int], values: dict[ir.Value, int], found: list[int]) -> list[int]:
    lower, upper, step, *carried = operands
    body = op.regions[0].blocks[0]
    for counter in range(lower, upper, step):
        values.update(zip(body.arguments, (counter, *carried), strict=True))
        carried = execute(body, values, found)
    return carried


def constant(op: ir.Operation) -> int:
    value = op.attributes["value"]
    return int(ir.DenseElementsAttr(value).get_splat_value().value if "dense" in str(value) else value.value)


RULES: Mapping[str, Callable[..., Any]] = {
    "arith.constant": constant,
    "arith.addi": lambda _, a, b: a + b,
    "arith.subi": lambda _, a, b: a - b,
    "arith.muli": lambda _, a, b: a * b,
    "arith.andi": lambda _, a, b: a & b,
    "arith.divui": lambda _, a, b: a // b,
    "arith.ceildivui": lambda _, a, b: -(-a // b),
    "arith.select": lambda _, a, b, c: b if a else c,
    # No number of these kernels is negative, so that signed and unsigned comparisons are the same: all are `less than`.
    "arith.cmpi": lambda _, a, b: int(a < b),
    "tile_gpu.splat": lambda _, a: a,
}


def the_loop(module: ir.Module) -> ir.Operation:
    (loop,) = operations_named(module, ("scf.for",))
    return loop.operation


def body_of(loop: ir.Operation) -> list[ir.Operation]:
    return [op.operation for op in loop.regions[0].blocks[0].operations][:-1]


def random_members(choose: random.Random, operations: list[ir.Operation]) -> set[int]:
    """Operations but scalars, with all that they follow."""
    preceding = dependences(operations)
    members: set[int] = set()
    waiting = [number for number in range(len(operations)) if choose.random() < 0.3]
    while waiting:
        number = waiting.pop()
        members.add(number)
        waiting += [source for source in preceding[number] if source not in members]
    return {number for number in members if not is_rematerializable(operations[number])}


@pytest.mark.parametrize("seed", range(60))
def test_rotated_loops_store_the_same(seed: int) -> None:
    """Each loop is rotated once or twice, and then gets a random order."""
    choose = random.Random(seed)
    module = read_stage_module(random_kernel(choose), "kernel.mlir")
    expected = [stored(module, bounds) for bounds in BOUNDS]
    with module.context, ir.Location.unknown():
        for _ in range(choose.randint(1, 2)):
            loop = the_loop(module)
            members = random_members(choose, body_of(loop))
            if members:
                assert rotate_loop(loop, members) is not None
        operations = body_of(the_loop(module))
        ranks = {number: choose.randrange(9) for number in range(len(operations))}
        reorder_body(operations, dependences(operations), ranks)
    assert module.operation.verify()
    assert [stored(module, bounds) for bounds in BOUNDS] == expected


@pytest.mark.parametrize("rounds", [1, 2, 3, 4])
def test_loops_with_legal_schedules_store_the_same(rounds: int) -> None:
    """Of random schedules the expander takes those without an error, and then each tile is stored as before."""
    legal = 0
    for seed in range(200):
        choose = random.Random(seed)
        text = random_kernel(choose, ("add", "multiply", "count", "store", "branch"))
        module = read_stage_module(text, "kernel.mlir")
        with module.context, ir.Location.unknown():
            loop = the_loop(module)
            order = random_order(choose, body_of(loop))
            if schedule_error(loop, order, rounds) is None:
                assert_equal_when_expanded(module, loop, order, rounds)
                legal += 1
    assert legal >= 80


def assert_equal_when_expanded(
    module: ir.Module, loop: ir.Operation, order: list[tuple[ir.Operation, int]], rounds: int = 1
) -> None:
    expected = [stored(module, bounds) for bounds in BOUNDS]
    set_schedule(loop, order, rounds)
    run_pass(module, "expand-schedules", target="sm_100a")
    assert module.operation.verify()
    assert [stored(module, bounds) for bounds in BOUNDS] == expected


@pytest.mark.parametrize("seed", range(60))
def test_loops_whose_loads_run_ahead_store_the_same(seed: int) -> None:
    """Some loads are up to four iterations ahead, after random operations; the loop keeps its iterations."""
    choose = random.Random(seed)
    text = random_kernel(choose, ("load", "add", "multiply", "count", "store"))
    module = read_stage_module(text.replace("step %step", "step %one"), "kernel.mlir")
    with module.context, ir.Location.unknown():
        loop = the_loop(module)
        operations = [op for op in body_of(loop) if not is_rematerializable(op)]
        moved = [op for op in operations if op.name == "tile_gpu.load_view" and choose.random() < 0.7]
        order = [(op, 0) for op in operations if op not in moved]
        ahead = choose.randint(1, 4)
        for op in moved:
            order.insert(choose.randint(0, len(order)), (op, ahead))
        assert schedule_error(loop, order) is None
        assert only_loads_are_ahead(loop, order) == bool(moved)
        assert_equal_when_expanded(module, loop, order)
        assert "tile_gpu.repeats" in str(module) or ahead == 1 or not moved


def random_order(choose: random.Random, operations: list[ir.Operation]) -> list[tuple[ir.Operation, int]]:
    """Operations but scalars in about their order, some up to two iterations ahead and then behind or among others."""
    ahead = dict.fromkeys(range(len(operations)), 0)
    for _ in range(choose.randint(0, 2)):
        for number in random_members(choose, operations):
            ahead[number] += 1
    distance = choose.choice((0, 0, 1, 3))
    places = {
        number: number + distance * choose.random() + count * choose.choice((1, len(operations)))
        for number, count in ahead.items()
    }
    ordered = sorted(places, key=places.__getitem__)
    return [(operations[number], ahead[number]) for number in ordered if not is_rematerializable(operations[number])]


def test_buffers_are_not_carried() -> None:
    """The get of a slot that the rest reads cannot be ahead of it; the loop stays as it is."""
    text = (
        HEAD
        + """
  %c = tile_gpu.make_channel stages 2 producer tma consumers [threads] reuse ring : channel<[!s]>
  scf.for %i = %lower to %upper step %step : i32 {
    %slot = tile_gpu.get %c consumer 0 : channel<[!s]>
    %tile = tile_gpu.load_shared %slot : !s -> !t
    tile_gpu.release %c consumer 0 : channel<[!s]>
  }
}
"""
    )
    module = read_stage_module(text, "kernel.mlir")
    before = str(module)
    with module.context, ir.Location.unknown():
        assert rotate_loop(the_loop(module), {0}) is None
    assert str(module) == before


def test_accesses_of_one_place_keep_their_order() -> None:
    """Two reads of a slot may change places; the release follows both, and the get of another channel neither."""
    text = (
        HEAD
        + """
  %c = tile_gpu.make_channel stages 2 producer tma consumers [threads] reuse ring : channel<[!s]>
  %d = tile_gpu.make_channel stages 2 producer tma consumers [threads] reuse ring : channel<[!s]>
  scf.for %i = %lower to %upper step %step : i32 {
    %slot = tile_gpu.get %c consumer 0 : channel<[!s]>
    %x = tile_gpu.load_shared %slot : !s -> !t
    %y = tile_gpu.load_shared %slot : !s -> !t
    tile_gpu.release %c consumer 0 : channel<[!s]>
    %other = tile_gpu.get %d consumer 0 : channel<[!s]>
    tile_gpu.barrier
    tile_gpu.print "done"
    tile_gpu.release %d consumer 0 : channel<[!s]>
  }
}
"""
    )
    module = read_stage_module(text, "kernel.mlir")
    get, first, second, release, other, barrier, print_, last = dependences(body_of(the_loop(module)))
    assert (get, first, second) == (set(), {0}, {0})
    assert release == {0, 1, 2}
    assert other == barrier == set()
    # A print keeps its order with all operations, and the accesses after it keep their order with the print.
    assert print_ >= {3, 4, 5}
    assert 6 in last


def test_an_assertion_keeps_its_order_with_stores_and_output() -> None:
    """It may be before or after steps on channels, which wait for other roles; not after the store that it guards."""
    text = (
        HEAD
        + f"""
  %holds = arith.cmpi slt, %lower, %upper : i32
  %c = tile_gpu.make_channel stages 2 producer tma consumers [threads] reuse ring : channel<[!s]>
  scf.for %i = %lower to %upper step %step : i32 {{
    %slot = tile_gpu.get %c consumer 0 : channel<[!s]>
    tile_gpu.assert %holds, "holds" : i1
    {store("%first")}
    tile_gpu.assert %holds, "still holds" : i1
    tile_gpu.print "done"
    tile_gpu.release %c consumer 0 : channel<[!s]>
  }}
}}
"""
    )
    module = read_stage_module(text, "kernel.mlir")
    _, assertion, stored_, second, printed, release = dependences(body_of(the_loop(module)))
    assert (assertion, stored_, second) == (set(), {1}, {1, 2})
    assert printed >= {0, 3} and release == {4}
