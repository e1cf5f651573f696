"""On sm_90a, the warpgroups of a role multiply one after the other, so that others compute meanwhile (ping-pong).

before:   for i < n { get k;  s = q @ k;  o += p @ v;  wait s;  p = f(s);  wait o }
after:    order_signal first
          for i < n { get k;  order_wait;  s = q @ k;  o += p @ v;  order_signal;  wait s;  p = f(s);  wait o }
          order_wait last

Warpgroups that nothing else separates may multiply together and then compute together, in which case no unit is busy
all the time. A warpgroup issues its multiplies when the one before it has issued its own. That order pays where threads
and multiplies take times of the same order: FlashAttention 3, whose choices were measured on H100, has it for 64 and
128 columns of 16 bits, and not for 256; for 128 and 256 columns of 8 bits, and not for 64.

The warpgroups cannot deadlock: a slot for which one waits between `order_wait` and `order_signal` is released before
them by the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.channel import GetOp
from tilec.dialect.tile_gpu.operations.kernel import COMPUTE_ROLES, KernelOp
from tilec.dialect.tile_gpu.operations.matrix import WgmmaOp
from tilec.dialect.tile_gpu.operations.memory import OrderSignalOp, OrderWaitOp, ViewBufferOp
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.walk import operations_in, operations_inside, operations_named, operations_of
from tilec.lowering import emitter
from tilec.lowering.gpu.ir.enclosing import LOOPS
from tilec.lowering.gpu.ir.operation_role import unlike_roles
from tilec.lowering.gpu.ir.scratch_use import independent_warpgroups
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.loops.loop_parts import LoopPart
from tilec.lowering.gpu.schedule.loop_graph import LoopGraph
from tilec.lowering.gpu.schedule.loop_reader import LoopReader
from tilec.lowering.matrix_unit import WARPS_OF_A_GROUP
from tilec.lowering.model.constants import device_of
from tilec.lowering.schedule.costs import TENSOR_CORE

_MULTIPLY = WgmmaOp.OPERATION_NAME
_BETWEEN = (_MULTIPLY, GetOp.OPERATION_NAME, ViewBufferOp.OPERATION_NAME)
# The clocks of threads for each clock of the multiplies of a warpgroup. In the cost model the loops of FlashAttention 3
# that have the order take 0.7 to 1.8, and the others 0.4 or less, and 2.6.
_LEAST_RATIO, _MOST_RATIO = 0.5, 2.0


@dataclass(frozen=True)
class _Section:
    """The multiplies of a loop that a warpgroup issues together: the first and the last one."""

    first: ir.Operation
    last: ir.Operation


def order_warpgroups(kernel: KernelOp, context: Context) -> None:
    """Rewrites the roles of a tile_gpu.kernel in place; run after multiplies are where they are issued."""
    if kernel.roles is None:
        return
    for name, warps, block in unlike_roles(kernel.roles):
        if name in COMPUTE_ROLES:
            sections = [found for loop in _innermost_loops(block) if (found := _section(kernel, loop, warps, context))]
            if sections:
                _order(block, sections)


def _innermost_loops(block: ir.Block) -> Iterator[ir.OpView]:
    for op in operations_of(block):
        if op.name == "scf.for" and not any(inner.name in LOOPS for inner in operations_inside(op)):
            yield op.opview


def _section(kernel: KernelOp, loop: ir.OpView, warps: int, context: Context) -> _Section | None:
    """The multiplies of a loop, if warpgroups should issue them one after the other."""
    operations = operations_in(loop.operation.regions[0].blocks[0])
    numbers = [number for number, op in enumerate(operations) if op.name == _MULTIPLY]
    inside = operations_named(loop, (_MULTIPLY,))
    # A loop with one multiply has nothing to compute while another warpgroup multiplies, or computes before it.
    if len(numbers) < 2 or len(inside) != len(numbers):
        return None
    if not all(map(_is_issue, operations[numbers[0] : numbers[-1]])):
        return None
    groups = independent_warpgroups(loop, warps)
    if groups < 2 or not _LEAST_RATIO <= _ratio(kernel, loop, groups, context) <= _MOST_RATIO:
        return None
    return _Section(operations[numbers[0]], operations[numbers[-1]])


def _is_issue(op: ir.Operation) -> bool:
    """Whether an operation belongs to the issue of multiplies; others, such as releases, do not go between them."""
    is_scalar = op.name.startswith("arith.") and not any(map(is_register_tile, (value.type for value in op.results)))
    return op.name in _BETWEEN or is_scalar


def _ratio(kernel: KernelOp, loop: ir.OpView, groups: int, context: Context) -> float:
    """The clocks of the instructions of a warpgroup for each clock of its multiplies, in an iteration."""
    graph, part = LoopGraph(), LoopPart("", WARPS_OF_A_GROUP, loop, groups)
    LoopReader(graph, part, context.plan(kernel), context.target).read()
    costs = [node.cost(device_of(context.target.name)) for node in graph.nodes]
    multiplies = [sum(use.busy for use in cost.uses if use.unit == TENSOR_CORE) for cost in costs]
    threads = sum(cost.duration for cost, busy in zip(costs, multiplies, strict=True) if not busy)
    return threads / max(1, sum(multiplies))


def _order(block: ir.Block, sections: Sequence[_Section]) -> None:
    for section in sections:
        with section.first.location, ir.InsertionPoint(section.first):
            emitter.gpu(OrderWaitOp)
        with section.last.location, ir.InsertionPoint.after(section.last):
            emitter.gpu(OrderSignalOp)
    with sections[0].first.location, ir.InsertionPoint.at_block_begin(block):
        emitter.gpu(OrderSignalOp, first=ir.UnitAttr.get())
    with sections[-1].last.location, ir.InsertionPoint.at_block_terminator(block):
        emitter.gpu(OrderWaitOp, last=ir.UnitAttr.get())
