"""How much of the epilogue of a tile runs while the tensor pipe multiplies the next tile, in a loop of tiles."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilec.lowering.gpu.cost.loop_work import LoopWork, cycles_of, timeline_cycles
from tilec.lowering.model.constants import Device
from tilec.lowering.model.timeline import Action, Busy, Multiply

# The iterations of an inner loop that are assumed if they are not known: a depth of 4096 in steps of 64.
_ITERATIONS = 64


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


def epilogue_overlap(loop: LoopWork, device: Device, blocks_per_processor: int = 1) -> EpilogueOverlap | None:
    """The overlap in a loop of tiles; None if no role multiplies in an inner loop, or the roles deadlock."""
    inner = {id(each): each for entries in loop.inner.values() for _, each in entries if each.multiply_adds}
    if loop.depth < 0 or not inner:
        return None
    busy = {key: _tile_cycles(each, device, blocks_per_processor) for key, each in inner.items()}
    own = max(sum(each.cycles for each in role if isinstance(each, Busy)) for role in loop.roles.values())
    iterations = max(each.iterations or _ITERATIONS for each in inner.values())
    if loop.alternates:
        # An epilogue runs beside the inner loop of the other role, and after the epilogue of the tile before.
        return EpilogueOverlap(own, max(0.0, own - sum(busy.values())), iterations)
    roles = {role: _with_inner_loops(loop, role, busy) for role in loop.roles}
    cycles = timeline_cycles(replace(loop, roles=roles, inner={}), loop.stages, device)
    if cycles is None:
        return None
    return EpilogueOverlap(own, max(0.0, cycles - sum(busy.values())), iterations)


def _tile_cycles(inner: LoopWork, device: Device, blocks_per_processor: int) -> float:
    """The cycles of all iterations of an inner loop."""
    return cycles_of(inner, device, blocks_per_processor).cycles * (inner.iterations or _ITERATIONS)


def _with_inner_loops(loop: LoopWork, role: str, busy: dict[int, float]) -> list[Action]:
    """The actions of a role, with its inner loops as one: a multiply if the role issues multiplies there."""
    actions = list(loop.roles[role])
    for before, inner in reversed(loop.inner.get(role, [])):
        cycles = busy.get(id(inner), 0.0)
        multiplies = [each for each in inner.roles.get(role, ()) if isinstance(each, Multiply)]
        latency = max((each.latency_cycles for each in multiplies), default=0.0)
        actions.insert(before, Multiply(cycles, latency) if multiplies else Busy(cycles))
    return actions
