"""Loads of rings that are too short for the latency of DRAM are prefetched to L2, iterations before TMA issues them.

before:   for i < n { put_begin ring;  tma_load map[f(i)] -> slot;  put_commit ring }
after:    for i < n { tma_prefetch map[f(i + 1 < n ? i + 1 : i)];  put_begin ring;  tma_load ..;  put_commit ring }

A ring of one or two slots issues a load shortly before its tile is needed; a prefetch needs no slot. Only tiles that
several blocks read are prefetched: others come as fast as HBM allows. The cost model evaluates the loops with
the prefetches, which stay if they save enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.channel import TMA
from tilec.dialect.tile_gpu.operations.kernel import KernelOp, ProgramIdOp
from tilec.dialect.tile_gpu.operations.tma import TmaLoadOp, TmaPrefetchOp
from tilec.dialect.walk import operations_in, operations_inside, operations_named, owner_of, reached_from, views_in
from tilec.lowering import emitter
from tilec.lowering.emitter import constant_of
from tilec.lowering.gpu.channels.ring_depth import rings_of
from tilec.lowering.gpu.cost.loop_cycles import cycles_of, cycles_of_loops
from tilec.lowering.gpu.cost.loop_work import loops_of, prefetches_beside
from tilec.lowering.gpu.ir.enclosing import LOOPS
from tilec.lowering.gpu.ir.operation_role import LOAD
from tilec.lowering.gpu.ir.scratch_use import scratch_bytes
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.loops.other_iteration import copy_all, scalars_behind
from tilec.lowering.gpu.memory.boxes import box_starts
from tilec.lowering.gpu.memory.occupancy import blocks_together
from tilec.lowering.layout.scale_layout import is_scale_layout
from tilec.lowering.model.constants import device_of
from tilec.lowering.model.step import RING

# The most slots of a ring that may wait for DRAM, where multiplies take most of the time.
_SHORT = 2
# The share of the time that prefetches have to save.
_LEAST_GAIN = 0.02
_DIVISIONS = tuple(f"arith.{name}" for name in ("divsi", "divui", "floordivsi", "ceildivsi", "remsi", "remui", "shrui"))
# A number that tells tile blocks apart: its axis, and the operation that divides it, or "".
_BlockNumber: TypeAlias = tuple[int, str]


def prefetch_loads(kernel: KernelOp, context: Context) -> bool:
    """Adds prefetches to the role that loads, in a kernel of one CTA whose loops are expanded.

    Returns False if the kernel is as before.
    """
    if kernel.roles is None or kernel.cluster_ctas > 1 or LOAD not in kernel.roles.bodies:
        return False
    short = {op.channel for op in rings_of(kernel, TMA) if op.stages <= _SHORT}
    if not short:
        return False
    loads = _loads_of_several_blocks(kernel, [each for each in _loads_of_loops(kernel) if each[1].channel in short])
    if not loads:
        return False
    device, plan = device_of(context.target.name), context.plan(kernel)
    blocks = blocks_together(kernel, context.target, plan.bytes_with(scratch_bytes(kernel)), plan.tensor_columns)
    before = loops_of(kernel, device, counts_outside=False)
    if before[0].loads_once:
        return False
    waiting = [found for loop in before if (found := cycles_of(loop, device, blocks)).units.get(RING)]
    if not waiting:
        return False
    iterations = math.ceil(device.tma_dram_latency_cycles / min(found.cycles for found in waiting))
    made = [op for loop, load in loads for op in _prefetch(loop, load, iterations)]
    if not made:
        return False
    after = loops_of(kernel, device, counts_outside=False)
    limit = cycles_of_loops(before[0], device, blocks) * (1 - _LEAST_GAIN)
    if cycles_of_loops(after[0], device, blocks) > limit:
        for op in made:
            op.erase()
        return False
    return True


def _loads_of_several_blocks(
    kernel: KernelOp, loads: list[tuple[ir.Operation, TmaLoadOp]]
) -> list[tuple[ir.Operation, TmaLoadOp]]:
    """The loads whose tile does not depend on all numbers of the tile block that the kernel uses."""
    used = _numbers_used_by(operations_inside(kernel)) if loads else set()
    return [(loop, load) for loop, load in loads if not used <= _numbers_behind(list(load.coordinates))]


def _loads_of_loops(kernel: KernelOp) -> Iterator[tuple[ir.Operation, TmaLoadOp]]:
    """The innermost loops of the role that loads, each with the loads of boxes of a matrix in its body."""
    assert kernel.roles is not None, "the kernel has roles"
    for loop in operations_named(kernel, ("scf.for",)):
        body = loop.operation.regions[0].blocks[0]
        if any(op.name in LOOPS for op in operations_inside(loop)):
            continue
        for load in views_in(body, (TmaLoadOp.OPERATION_NAME,)):
            is_matrix = load.map.owner.kind is None and not is_scale_layout(load.buffer.type.layout)
            # The program may prefetch by itself.
            if is_matrix and not prefetches_beside(load):
                yield loop.operation, load


def _prefetch(loop: ir.Operation, load: TmaLoadOp, iterations: int) -> list[ir.Operation]:
    """Prefetches the boxes of a load some iterations earlier; none if more than the counter decides their position."""
    body, (_, upper, step) = loop.regions[0].blocks[0], list(loop.operands)[:3]
    counter, distance = body.arguments[0], constant_of(step)
    if distance is None:
        return []
    with load.operation.location, ir.InsertionPoint.at_block_begin(body):
        first = emitter.gpu(TmaPrefetchOp, [load.map, list(load.coordinates)])
        needed = scalars_behind([first], body)
        if needed is None or counter not in {operand for op in (first, *needed) for operand in op.operands}:
            first.erase()
            return []
        moved = emitter.plus(counter, distance * iterations)
        # After the last iteration, the box that this one loads: a box after it could be one of another matrix.
        exists = emitter.less_than(moved, upper, "unsignedCmp" in loop.attributes)
        values = {counter: emitter.create("arith.select", [counter.type], [exists, moved, counter]).result}
        copy_all([op for op in operations_in(body) if op in needed], values)
        start = [values.get(value, value) for value in load.coordinates]
        boxes = [list(map(emitter.plus, start, firsts)) for firsts in box_starts(load)]
        made = [emitter.gpu(TmaPrefetchOp, [load.map, box]) for box in boxes]
        first.erase()
    return made


def _numbers_behind(values: Sequence[ir.Value]) -> set[_BlockNumber]:
    """The numbers of the tile block that values are computed from."""

    def operands(value: ir.Value) -> Sequence[ir.Value]:
        op = owner_of(value)
        return [] if op is None or _block_number(value) is not None else list(op.operands)

    return {number for value in reached_from(values, operands) if (number := _block_number(value)) is not None}


def _numbers_used_by(operations: Iterable[ir.Operation]) -> set[_BlockNumber]:
    """The numbers of the tile block that operations use, other than to divide them or as the bound of a loop."""
    uses = [op.operands[op.name in _DIVISIONS :] for op in operations if op.name not in LOOPS]
    return {number for operands in uses for value in operands if (number := _block_number(value)) is not None}


def _block_number(value: ir.Value) -> _BlockNumber | None:
    """The number of the tile block that a value is, also by division, or the counter of a persistent loop; or None."""
    op = owner_of(value)
    if op is None:
        loop, is_counter = value.owner.owner, value == value.owner.arguments[0]
        # The step of a persistent loop is the number of blocks.
        if loop.name != "scf.for" or not is_counter or constant_of(loop.operands[2]) is not None:
            return None
        return _block_number(loop.operands[0])
    if op.name == ProgramIdOp.OPERATION_NAME:
        return op.opview.axis, ""
    if op.name not in _DIVISIONS or (number := _block_number(op.operands[0])) is None:
        return None
    axis, division = number
    return axis, division or op.name
