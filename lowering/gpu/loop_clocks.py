"""The clocks that the multiplies of a loop take, and those of its threads, if each of them is alone."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.lowering.gpu.loop_graph import LoopGraph
from tilec.lowering.gpu.loop_parts import LoopPart
from tilec.lowering.gpu.loop_reader import LoopReader
from tilec.lowering.gpu.shared_plan import SharedPlan
from tilec.lowering.model.constants import device_of
from tilec.lowering.schedule.costs import TENSOR_CORE
from tilec.lowering.target import Target


@dataclass(frozen=True)
class LoopClocks:
    """The clocks of an iteration: of the tensor core, and of the instructions of threads."""

    multiplies: int
    threads: int


def loop_clocks(part: LoopPart, plan: SharedPlan, target: Target) -> LoopClocks:
    """The clocks of the part of a loop in one role, or in one of its warpgroups."""
    graph = LoopGraph()
    LoopReader(graph, part, plan, target).read()
    costs = [node.cost(device_of(target.name)) for node in graph.nodes]
    multiplies = [sum(use.busy for use in cost.uses if use.unit == TENSOR_CORE) for cost in costs]
    threads = sum(cost.duration for cost, busy in zip(costs, multiplies, strict=True) if not busy)
    return LoopClocks(sum(multiplies), threads)
