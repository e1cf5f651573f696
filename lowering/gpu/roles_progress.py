"""Whether the roles of a kernel end, as far as they wait for each other: their steps on channels, executed in order.

Every loop has a few iterations, less those that are in front of it or behind it, and of branches the first one is
taken, in all roles alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.lowering.gpu.enclosing import LOOPS, body_of
from tilec.lowering.gpu.iterations_ahead import iterations_ahead

# More than operations are ahead, and than short rings have slots.
_ITERATIONS = 7
_PUT, _COMMIT, _GET, _RELEASE = "tile_gpu.put_begin", "tile_gpu.put_commit", "tile_gpu.get", "tile_gpu.release"
_STEPS = (_PUT, _COMMIT, _GET, _RELEASE)


@dataclass(frozen=True)
class _Step:
    """A step on a ring: of its producer, or of the consumer of a number."""

    name: str
    ring: ir.Value
    consumer: int = 0


def roles_progress(kernel: KernelOp) -> bool:
    """Whether all roles end. False, too, for kernels whose roles pass over slots of each other (`skip`)."""
    roles = kernel.roles
    if roles is None:
        return True
    threads = []
    for region in roles.bodies.values():
        steps = list(_steps(region.blocks[0]))
        if any(step is None for step in steps):
            return False
        threads.append([step for step in steps if step is not None])
    return _Channels().end(threads)


def _steps(block: ir.Block) -> Iterator[_Step | None]:
    """The steps of a block in the order of execution; None for a skip."""
    for op in (each.operation for each in block.operations):
        if op.name == "tile_gpu.skip":
            yield None
        elif op.name in _STEPS:
            channel, has_consumer = op.operands[0], op.name in (_GET, _RELEASE)
            is_waiting = op.name != _PUT or "first_round" not in op.attributes
            if is_waiting:
                yield _Step(op.name, _ring(channel), op.opview.consumer if has_consumer else 0)
        elif op.name in LOOPS:
            steps = list(_steps(body_of(op)))
            for _ in range(_ITERATIONS - iterations_ahead(op)):
                yield from steps
        elif op.name == "scf.if":
            yield from _steps(op.regions[0].blocks[0])


def _ring(channel: ir.Value) -> ir.Value:
    """The first channel of a ring."""
    made = channel.owner.opview
    return _ring(made.shares) if made.continues else channel


@dataclass
class _Channels:
    """What the parties of channels have done, by ring, and by consumer."""

    filled: defaultdict[ir.Value, int] = field(default_factory=lambda: defaultdict(int))
    got: defaultdict[tuple[ir.Value, int], int] = field(default_factory=lambda: defaultdict(int))
    released: defaultdict[tuple[ir.Value, int], int] = field(default_factory=lambda: defaultdict(int))

    def end(self, roles: list[list[_Step]]) -> bool:
        """Executes the steps of all roles until none can go on; returns whether they have ended."""
        following = [0] * len(roles)
        is_going_on = True
        while is_going_on:
            is_going_on = False
            for number, steps in enumerate(roles):
                while following[number] < len(steps) and self._can(steps[following[number]]):
                    self._execute(steps[following[number]])
                    following[number] += 1
                    is_going_on = True
        return all(count == len(steps) for count, steps in zip(following, roles, strict=True))

    def _can(self, step: _Step) -> bool:
        if step.name == _GET:
            return self.filled[step.ring] > self.got[step.ring, step.consumer]
        made = step.ring.owner.opview
        if step.name != _PUT or made.reuse != "ring":
            return True
        consumers = range(len(made.operation.attributes["consumers"]))
        return self.filled[step.ring] - min(self.released[step.ring, each] for each in consumers) < made.stages

    def _execute(self, step: _Step) -> None:
        if step.name == _COMMIT:
            self.filled[step.ring] += 1
        elif step.name == _GET:
            self.got[step.ring, step.consumer] += 1
        elif step.name == _RELEASE:
            self.released[step.ring, step.consumer] += 1
