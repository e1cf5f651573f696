"""The cycles of all loops of a kernel for a tile block."""

from __future__ import annotations

from collections.abc import Iterator

from tilec.lowering.gpu.cost.loop_work import LoopWork, cycles_of
from tilec.lowering.model.constants import Device

# The iterations of a loop that are assumed if they are not known: a depth of 4096 in steps of 64.
_ASSUMED_ITERATIONS = 64


def cycles_of_loops(outside: LoopWork, device: Device, blocks_per_processor: int) -> float:
    """The cycles of all loops in the operations outside of loops, for one of the blocks of an SM."""
    loops = _inner_loops(outside, 1)
    return sum(cycles_of(loop, device, blocks_per_processor).cycles * count for loop, count in loops)


def _inner_loops(loop: LoopWork, count: float) -> Iterator[tuple[LoopWork, float]]:
    """The loops in a loop that is executed `count` times, with the number of their iterations."""
    inner = {id(each): each for entries in loop.inner.values() for _, each in entries if not each.is_prologue}
    for each in inner.values():
        iterations = count * iterations_of(each)
        yield each, iterations
        yield from _inner_loops(each, iterations)


def iterations_of(loop: LoopWork) -> int:
    """The iterations of a loop, or those that are assumed."""
    return _ASSUMED_ITERATIONS if loop.iterations is None else loop.iterations
