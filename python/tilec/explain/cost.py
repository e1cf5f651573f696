"""The cost of a compiled kernel: the cycles of an iteration of each loop, and the unit that bounds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.claims import TryCancelOp
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.walk import operations_named
from tilec.errors import SourceLocation
from tilec.lowering.gpu.cost.loop_cycles import LoopCycles, cycles_of, iterations_of, timeline_cycles
from tilec.lowering.gpu.cost.loop_work import LoopWork, Ring, loops_of
from tilec.lowering.gpu.kernel_cycles import blocks_per_processor
from tilec.lowering.kernel_hints import CLUSTER_CHOICE
from tilec.lowering.model.constants import Device, device_of
from tilec.lowering.model.step import TENSOR_PIPE
from tilec.lowering.model.timeline import Action, Busy, Multiply
from tilec.lowering.target import TARGETS, Target

_KILOBYTE = 1024


@dataclass(frozen=True)
class LoopCost:
    """A loop of a kernel, or its operations outside of loops, with its predicted cycles.

    Attributes:
        work: the work of an iteration.
        cycles: the cycles of an iteration on the SM, of one of its blocks.
        epilogue: the overlap of the epilogue of a tile, for a loop of tiles that are multiplied in an inner loop.
    """

    work: LoopWork
    cycles: LoopCycles
    epilogue: EpilogueOverlap | None = None

    @property
    def tensor_share(self) -> float:
        """The part of the time in which the tensor pipe multiplies."""
        return self.cycles.units[TENSOR_PIPE] / self.cycles.cycles if self.cycles.cycles else 0.0

    @property
    def hbm_share(self) -> float:
        """The part of the time in which HBM transfers at its full bandwidth; 0 if data may come from L2."""
        return self.cycles.transfer / self.cycles.cycles if self.cycles.cycles else 0.0

    def lines(self) -> Iterator[str]:
        """The cycles and the units with the most cycles, as text."""
        work, cycles = self.work, self.cycles
        where = "outside of loops" if work.depth < 0 else f"{work.location or 'unknown location'}: loop"
        per = "" if work.depth < 0 else " per iteration"
        yield f"{where}: {cycles.cycles:,.0f} cycles{per}, bound by {cycles.bound}"
        excerpt = work.location.excerpt() if work.location is not None else None
        if excerpt:
            yield excerpt
        units = sorted(((busy, unit) for unit, busy in cycles.units.items() if busy >= 0.5), reverse=True)
        for busy, unit in units:
            yield f"  {unit:<22}{busy:>10,.0f} cycles{busy / cycles.cycles:>6.0%}"
        if work.multiply_adds:
            yield f"  {work.multiply_adds:,.0f} multiply-adds"
        for loads, is_copied in (("TMA loads", False), ("threads copy", True)):
            found = [ring for ring in work.rings.values() if ring.is_copied == is_copied]
            rings = map(_ring_text, found)
            if found:
                yield f"  {loads} {', '.join(rings)}"
        if self.epilogue is not None:
            exposed = f"{self.epilogue.exposed:,.0f} of them not hidden"
            per_tile = f"by inner loops of {self.epilogue.iterations} iterations"
            yield f"  epilogue of {self.epilogue.cycles:,.0f} cycles, {exposed} {per_tile}"

    def fields(self) -> dict[str, Any]:
        """The same as JSON."""
        work, cycles = self.work, self.cycles
        return {
            "location": _location_fields(work.location),
            "depth": work.depth,
            "iterations": work.iterations,
            "cycles": round(cycles.cycles, 1),
            "bound": cycles.bound,
            "units": {unit: round(busy, 1) for unit, busy in cycles.units.items()},
            "tensor_share": round(self.tensor_share, 3),
            "hbm_share": round(self.hbm_share, 3),
            "multiply_adds": work.multiply_adds,
            "tma_bytes": work.tma_bytes,
            "rings": [
                {"stages": ring.stages, "bytes": ring.bytes, "prefetched": ring.is_prefetched}
                for ring in work.rings.values()
            ],
            "epilogue": None if self.epilogue is None else _epilogue_fields(self.epilogue),
        }


def _ring_text(ring: Ring) -> str:
    prefetched = " prefetched to L2" if ring.is_prefetched else ""
    return f"{ring.bytes / _KILOBYTE:g} KB{prefetched} into a ring of {ring.stages}"


def _epilogue_fields(epilogue: EpilogueOverlap) -> dict[str, Any]:
    return {
        "cycles": round(epilogue.cycles, 1),
        "exposed": round(epilogue.exposed, 1),
        "hidden_share": round(epilogue.hidden_share, 3),
        "iterations": epilogue.iterations,
    }


def _location_fields(location: SourceLocation | None) -> dict[str, Any] | None:
    return None if location is None else {"file": location.file, "line": location.line, "column": location.column}


@dataclass(frozen=True)
class KernelCost:
    """The predicted cost of a kernel.

    Attributes:
        kernel: the name of the kernel.
        device: the device whose constants apply.
        blocks_per_processor: blocks that fit on an SM by their memory and warps.
        blocks_per_tile: blocks of the cluster that computes a tile.
        cluster_choice: why there is a cluster, if no hint asks for it.
        start_cycles: the cycles that an SM saves for each block that another one takes over; None without the hint
            `persistent`.
        loops: the operations outside of loops, then the loops.
    """

    kernel: str
    device: Device
    blocks_per_processor: int
    blocks_per_tile: int
    cluster_choice: str | None
    start_cycles: float | None
    loops: tuple[LoopCost, ...]

    def text(self) -> str:
        """The cost as text."""
        blocks = f"{self.blocks_per_processor} block{'s' if self.blocks_per_processor > 1 else ''} per SM"
        lines = [f"{self.kernel} on {self.device.name}, {blocks}"]
        if self.blocks_per_tile > 1:
            reason = "" if self.cluster_choice is None else f", chosen because {self.cluster_choice}"
            lines.append(f"  {self.blocks_per_tile} blocks per tile{reason}")
        if self.start_cycles is not None:
            lines.append(f"  blocks take over others, which would take {self.start_cycles:,.0f} cycles each to start")
        for loop in self.loops:
            lines += loop.lines()
        return "\n".join(lines)

    def fields(self) -> dict[str, Any]:
        """The cost as JSON."""
        return {
            "kernel": self.kernel,
            "device": self.device.name,
            "blocks_per_processor": self.blocks_per_processor,
            "blocks_per_tile": self.blocks_per_tile,
            "cluster_choice": self.cluster_choice,
            "start_cycles": self.start_cycles,
            "loops": [loop.fields() for loop in self.loops],
        }


def kernel_costs(module: ir.Module, target: str) -> list[KernelCost]:
    """The cost of each kernel of a module of tile_gpu."""
    kernels = operations_named(module, (KernelOp.OPERATION_NAME,))
    return [_cost(kernel, TARGETS[target], device_of(target)) for kernel in kernels]


def _cost(kernel: KernelOp, target: Target, device: Device) -> KernelCost:
    blocks = blocks_per_processor(kernel, target, device)
    loops = [loop for loop in loops_of(kernel, device) if not loop.is_prologue]
    costs = tuple(
        LoopCost(loop, cycles_of(loop, device, blocks), epilogue_overlap(loop, device, blocks)) for loop in loops
    )
    # Outside of loops there may be nothing to do.
    shown = tuple(cost for cost in costs if cost.cycles.cycles >= 1)
    attributes = kernel.operation.attributes
    choice = attributes[CLUSTER_CHOICE].value if CLUSTER_CHOICE in attributes else None
    claims = operations_named(kernel, (TryCancelOp.OPERATION_NAME,))
    # From the end of a block until the first data of the next one is in shared memory.
    start = device.block_start_cycles + device.load_dram_latency_cycles if claims else None
    return KernelCost(attributes["sym_name"].value, device, blocks, kernel.ctas, choice, start, shown)


@dataclass(frozen=True)
class EpilogueOverlap:
    """The epilogue of a tile.

    Attributes:
        cycles: cycles of the role that takes the longest outside of the inner loops.
        exposed: cycles of a tile in which no inner loop runs.
        iterations: iterations of the inner loops of a tile.
    """

    cycles: float
    exposed: float
    iterations: int

    @property
    def hidden_share(self) -> float:
        """The part of the epilogue that runs while an inner loop does."""
        return max(0.0, 1 - self.exposed / self.cycles) if self.cycles else 1.0


def epilogue_overlap(loop: LoopWork, device: Device, blocks: int = 1) -> EpilogueOverlap | None:
    """The overlap in a loop of tiles; None if no role multiplies in an inner loop, or the roles deadlock."""
    inner = {id(each): each for entries in loop.inner.values() for _, each in entries if each.multiply_adds}
    if loop.depth < 0 or not inner:
        return None
    busy = {key: _tile_cycles(each, device, blocks) for key, each in inner.items()}
    own = max(sum(each.cycles for each in role if isinstance(each, Busy)) for role in loop.roles.values())
    iterations = max(map(iterations_of, inner.values()))
    if loop.alternates:
        # An epilogue runs beside the inner loop of the other role, and after the epilogue of the tile before.
        return EpilogueOverlap(own, max(0.0, own - sum(busy.values())), iterations)
    roles = {role: _with_inner_loops(loop, role, busy) for role in loop.roles}
    cycles = timeline_cycles(replace(loop, roles=roles, inner={}), loop.stages, device)
    if cycles is None:
        return None
    return EpilogueOverlap(own, max(0.0, cycles - sum(busy.values())), iterations)


def _tile_cycles(inner: LoopWork, device: Device, blocks: int) -> float:
    """The cycles of all iterations of an inner loop."""
    return cycles_of(inner, device, blocks).cycles * iterations_of(inner)


def _with_inner_loops(loop: LoopWork, role: str, busy: dict[int, float]) -> list[Action]:
    """The actions of a role, with its inner loops as one: a multiply if the role issues multiplies there."""
    actions = list(loop.roles[role])
    for before, inner in reversed(loop.inner.get(role, [])):
        cycles = busy.get(id(inner), 0.0)
        multiplies = [each for each in inner.roles.get(role, ()) if isinstance(each, Multiply)]
        latency = max((each.latency_cycles for each in multiplies), default=0.0)
        actions.insert(before, Multiply(cycles, latency) if multiplies else Busy(cycles))
    return actions
