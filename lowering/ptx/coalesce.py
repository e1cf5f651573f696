"""Which values share a register: a tied result with its operand, a block argument with what branches pass to it.

Sharing is what makes an accumulator of a loop cost no move. Values share where their live ranges do not meet
(Budimlic et al., "Fast Copy Coalescing and Live-Range Identification", 2002); what cannot share gets a move.
"""

from __future__ import annotations

from tilec.lowering.ptx.flow import Flow
from tilec.lowering.ptx.liveness import Liveness
from tilec.lowering.ptx.program import Program


def coalesce(program: Program, flow: Flow, live: Liveness) -> list[int]:
    """For each value the number of its register, a value among those that share it."""
    sharing = _Sharing(program, flow, live)
    for first, second in _wishes(program, flow, live):
        sharing.join(first, second)
    return sharing.leader


def _wishes(program: Program, flow: Flow, live: Liveness) -> list[tuple[int, int]]:
    """Pairs that want to share, the costliest moves first: by loop depth, and ties before branches."""
    found = []
    for number in flow.order:
        depth = flow.depth[number]
        block = program.blocks[number]
        for instruction in block.instructions:
            if instruction.tied:
                pairs = zip(instruction.results, instruction.tied, strict=True)
                found += [(-depth, 0, result, instruction.operands[tie]) for result, tie in pairs if tie >= 0]
        for target, passed in zip(block.end.targets, block.end.arguments, strict=True):
            pairs = zip(program.blocks[target].arguments, passed, strict=True)
            found += [(-depth, 1, argument, value) for argument, value in pairs if argument in live.used]
    found.sort(key=lambda wish: wish[:2])
    return [(first, second) for _, _, first, second in found]


class _Sharing:
    def __init__(self, program: Program, flow: Flow, live: Liveness) -> None:
        self.classes, self.flow, self.live = program.classes, flow, live
        self.leader = list(range(len(program.classes)))
        # Members of a register in order of dominance.
        self.members: dict[int, list[int]] = {}

    def join(self, first: int, second: int) -> None:
        first, second = self.leader[first], self.leader[second]
        if first == second or self.classes[first] != self.classes[second]:
            return
        together = self.members.get(first, [first]) + self.members.get(second, [second])
        together.sort(key=self._order)
        if self._meet(together):
            return
        if len(self.members.get(first, ())) < len(self.members.get(second, ())):
            first, second = second, first
        for member in self.members.pop(second, [second]):
            self.leader[member] = first
        self.members[first] = together

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
