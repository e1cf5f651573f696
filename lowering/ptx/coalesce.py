"""Values that share a register: a tied result and its operand, a block argument and the values of its branches.

Sharing removes the moves of a loop's accumulator. Values share if their live ranges do not intersect
(Budimlic et al., "Fast Copy Coalescing and Live-Range Identification", 2002); other pairs get a move.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tilec.lowering.ptx.flow import Flow, Liveness
from tilec.lowering.ptx.program import Program

# Instructions whose tied operands may be registers that a multiply still writes (PTX ISA 9.7.15.7).
_IN_FLIGHT = ("wgmma.mma_async", "wgmma.wait_group")
# Two values with an affinity: sharing a register saves a move.
Affinity = tuple[int, int]


def coalesce(program: Program, flow: Flow, live: Liveness) -> list[int]:
    """For each value the number of its register, a value among those that share it."""
    sharing = _Sharing(program, flow, live)
    in_flight, *others = _affinities(program, flow, live)
    repeated = _repeated(program, live, in_flight)
    accumulators = {value for pair in in_flight for value in pair}
    if repeated:
        others = [[pair for pair in affinities if pair not in repeated] for affinities in others]
    for affinities in (in_flight, *others):
        for connected in _connected(affinities, sharing.leader):
            # Usually the whole connected group can share, and one test decides it; a chain of ties is long.
            if not sharing.join({value for pair in connected for value in pair}):
                for pair in connected:
                    sharing.join(pair)
    for pair in repeated:
        # One register of two accumulators whose other registers differ makes ptxas serialize both (C7511).
        if any(accumulators.isdisjoint(sharing.of(value)) for value in pair):
            sharing.join(pair)
    return sharing.leader


def _affinities(program: Program, flow: Flow, live: Liveness) -> list[list[Affinity]]:
    """Affinities by loop depth, deepest first because moves cost most there; at each depth ties before branches.

    Affinities of registers that a multiply in flight writes precede all others: a move between would read too early.
    """
    in_flight: list[Affinity] = []
    ties: dict[int, list[Affinity]] = {}
    branches: dict[int, list[Affinity]] = {}
    for number in flow.order:
        block, depth = program.blocks[number], flow.depth[number]
        for instruction in block.instructions:
            if instruction.tied:
                pairs = zip(instruction.results, instruction.tied, strict=True)
                found = in_flight if instruction.template.startswith(_IN_FLIGHT) else ties.setdefault(depth, [])
                found.extend((result, instruction.operands[tie]) for result, tie in pairs if tie >= 0)
        for target, passed in zip(block.end.targets, block.end.arguments, strict=True):
            pairs = zip(program.blocks[target].arguments, passed, strict=True)
            branches.setdefault(depth, []).extend(pair for pair in pairs if pair[0] in live.used)
    depths = sorted({*ties, *branches}, reverse=True)
    return [in_flight, *(ties.get(depth, []) + branches.get(depth, []) for depth in depths)]


def _repeated(program: Program, live: Liveness, in_flight: list[Affinity]) -> dict[Affinity, None]:
    """The affinities of values that a branch passes to several arguments, as zero to all registers of accumulators.

    Only those of the classes of accumulators of warpgroups count.
    """
    classes = {program.classes[result] for result, _ in in_flight}
    found: dict[Affinity, None] = {}
    for block in program.blocks if in_flight else ():
        for target, passed in zip(block.end.targets, block.end.arguments, strict=True):
            times = Counter(passed)
            pairs = zip(program.blocks[target].arguments, passed, strict=True)
            several = [pair for pair in pairs if times[pair[1]] > 1 and pair[0] in live.used]
            found.update((pair, None) for pair in several if program.classes[pair[1]] in classes)
    return found


def _connected(affinities: list[Affinity], leader: list[int]) -> list[list[Affinity]]:
    """The affinities in groups that have no register in common, in their order."""
    neighbours: dict[int, list[int]] = {}
    for first, second in affinities:
        neighbours.setdefault(leader[first], []).append(leader[second])
        neighbours.setdefault(leader[second], []).append(leader[first])
    group: dict[int, int] = {}
    for start in neighbours:
        stack = [start] if start not in group else []
        while stack:
            register = stack.pop()
            if register not in group:
                group[register] = start
                stack += neighbours[register]
    found: dict[int, list[Affinity]] = {}
    for pair in affinities:
        found.setdefault(group[leader[pair[0]]], []).append(pair)
    return list(found.values())


class _Sharing:
    def __init__(self, program: Program, flow: Flow, live: Liveness) -> None:
        self.flow, self.live = flow, live
        self.leader = list(range(len(program.classes)))
        # The values in the register of a leader.
        self.members: dict[int, list[int]] = {}
        # The order of the definitions of values: of blocks in the dominator tree, then of instructions.
        stride, enter = max(live.position, default=0) + 2, flow.enter
        self.order = [enter[block] * stride + at for block, at in zip(live.block, live.position, strict=True)]

    def of(self, value: int) -> list[int]:
        """The values that share the register of a value."""
        leader = self.leader[value]
        return self.members.get(leader, [leader])

    def join(self, values: Iterable[int]) -> bool:
        """Merges the registers of these values; returns False and changes nothing if live ranges intersect."""
        leaders = {self.leader[value] for value in values}
        if len(leaders) == 1:
            return True
        together = [value for leader in leaders for value in self.of(leader)]
        together.sort(key=self.order.__getitem__)
        if self._intersect(together):
            return False
        leader = together[0]
        self.members[leader] = together
        for value in together:
            self.leader[value] = leader
        return True

    def _intersect(self, together: list[int]) -> bool:
        """Whether two live ranges intersect. A value first intersects the range of its nearest dominator."""
        dominates, block = self.flow.dominates, self.live.block
        above: list[int] = []
        for value in together:
            while above and not dominates(block[above[-1]], block[value]):
                above.pop()
            if above and self._lives_at_definition(above[-1], value):
                return True
            above.append(value)
        return False

    def _lives_at_definition(self, value: int, defined: int) -> bool:
        """Whether `value`, defined earlier, is live when `defined` is written."""
        if self.order[value] == self.order[defined]:
            return True
        live = self.live
        block, position = live.block[defined], live.position[defined]
        if value in live.live_out[block]:
            return True
        last = live.last_use[block].get(value, -2)
        if last != position:
            return last > position
        # A move before the instruction may write a tied result, which is before the other operands are read.
        return live.tied_to.get(defined, value) != value
