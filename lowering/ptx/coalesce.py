"""Which values share a register: a tied result with its operand, a block argument with what branches pass to it.

Sharing is what makes an accumulator of a loop cost no move. Values share where their live ranges do not meet
(Budimlic et al., "Fast Copy Coalescing and Live-Range Identification", 2002); what cannot share gets a move.
"""

from __future__ import annotations

from collections.abc import Iterable

from tilec.lowering.ptx.flow import Flow
from tilec.lowering.ptx.liveness import Liveness
from tilec.lowering.ptx.program import Program

# Two values that want to share a register.
Wish = tuple[int, int]


def coalesce(program: Program, flow: Flow, live: Liveness) -> list[int]:
    """For each value the number of its register, a value among those that share it."""
    sharing = _Sharing(program, flow, live)
    for wishes in _wishes(program, flow, live):
        for connected in _connected(wishes, sharing.leader):
            # Most often all that is connected can share, which is one look at it; a chain of ties is long.
            if not sharing.join({value for wish in connected for value in wish}):
                for wish in connected:
                    sharing.join(wish)
    return sharing.leader


def _wishes(program: Program, flow: Flow, live: Liveness) -> list[list[Wish]]:
    """By loop depth, the deepest first since moves cost most there; in each, ties before branches."""
    ties: dict[int, list[Wish]] = {}
    branches: dict[int, list[Wish]] = {}
    for number in flow.order:
        block, depth = program.blocks[number], flow.depth[number]
        for instruction in block.instructions:
            if instruction.tied:
                pairs = zip(instruction.results, instruction.tied, strict=True)
                ties.setdefault(depth, []).extend(
                    (result, instruction.operands[tie]) for result, tie in pairs if tie >= 0
                )
        for target, passed in zip(block.end.targets, block.end.arguments, strict=True):
            pairs = zip(program.blocks[target].arguments, passed, strict=True)
            branches.setdefault(depth, []).extend(pair for pair in pairs if pair[0] in live.used)
    return [ties.get(depth, []) + branches.get(depth, []) for depth in sorted({*ties, *branches}, reverse=True)]


def _connected(wishes: list[Wish], leader: list[int]) -> list[list[Wish]]:
    """The wishes in groups that concern different registers, in their order."""
    neighbours: dict[int, list[int]] = {}
    for first, second in wishes:
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
    found: dict[int, list[Wish]] = {}
    for wish in wishes:
        found.setdefault(group[leader[wish[0]]], []).append(wish)
    return list(found.values())


class _Sharing:
    def __init__(self, program: Program, flow: Flow, live: Liveness) -> None:
        self.flow, self.live = flow, live
        self.leader = list(range(len(program.classes)))
        # What else lives in the register of a leader.
        self.members: dict[int, list[int]] = {}

    def join(self, values: Iterable[int]) -> bool:
        """Give the registers of these values to one leader; false and nothing done where live ranges meet."""
        leaders = {self.leader[value] for value in values}
        together = [value for leader in leaders for value in self.members.get(leader, [leader])]
        together.sort(key=self._order)
        if len(leaders) > 1 and self._meet(together):
            return False
        leader = together[0]
        self.members[leader] = together
        for value in together:
            self.leader[value] = leader
        return True

    def _order(self, value: int) -> tuple[int, int]:
        return self.flow.enter[self.live.block[value]], self.live.position[value]

    def _meet(self, together: list[int]) -> bool:
        """Whether two live ranges meet. Only the nearest dominating value can be the first to meet another one."""
        above: list[int] = []
        for value in together:
            while above and not self._dominates(above[-1], value):
                above.pop()
            if above and self._lives_at_definition(above[-1], value):
                return True
            above.append(value)
        return False

    def _dominates(self, first: int, second: int) -> bool:
        return self.flow.dominates(self.live.block[first], self.live.block[second])

    def _lives_at_definition(self, value: int, defined: int) -> bool:
        """Whether `value`, defined before, is still wanted once `defined` is written."""
        live = self.live
        block, position = live.block[defined], live.position[defined]
        if live.block[value] == block and live.position[value] == position:
            return True
        if value in live.live_out[block]:
            return True
        last = live.last_use[block].get(value, -2)
        if last != position:
            return last > position
        # A tied result may be written by a move in front of its instruction, so before other operands are read.
        return live.tied_to.get(defined, value) != value
