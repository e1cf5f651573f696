"""The control flow of a program, and the liveness of its values.

Control flow is the block order, the dominator tree and loop depths; liveness is the definition, the last use in each
block, and liveness at block ends of each value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tilec.lowering.ptx.program import Program

# Block arguments are all defined before the first instruction.
_AT_START = -1


@dataclass
class Flow:
    """Facts about reachable blocks.

    `order` is that of the text: the target of a taken branch precedes the other target, a loop precedes its exit.
    `enter` and `leave` number the dominator tree: a dominates b when enter[a] <= enter[b] and leave[b] <= leave[a].
    """

    order: list[int]
    predecessors: list[list[int]]
    enter: list[int]
    leave: list[int]
    heads: set[int]
    depth: list[int]

    def dominates(self, first: int, second: int) -> bool:
        return self.enter[first] <= self.enter[second] and self.leave[second] <= self.leave[first]


def control_flow(program: Program) -> Flow:
    """Dominators after Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001)."""
    count = len(program.blocks)
    order = _reverse_postorder(program, [0] * count)
    predecessors: list[list[int]] = [[] for _ in range(count)]
    for block in order:
        for target in dict.fromkeys(program.blocks[block].end.targets):
            predecessors[target].append(block)
    parents = _dominators(order, predecessors, count)
    enter, leave = _numbering(order, parents, count)
    flow = Flow(order, predecessors, enter, leave, set(), [0] * count)
    _find_loops(program, flow)
    flow.order = _reverse_postorder(program, flow.depth)
    return flow


def _reverse_postorder(program: Program, depth: list[int]) -> list[int]:
    def targets_of(block: int) -> Iterator[int]:
        # Reverse postorder puts the block visited first last: the loop exit, or the second of two equal targets.
        targets = program.blocks[block].end.targets[::-1]
        targets.sort(key=depth.__getitem__)
        return iter(targets)

    seen, postorder = {0}, []
    stack = [(0, targets_of(0))]
    while stack:
        block, targets = stack[-1]
        following = next((target for target in targets if target not in seen), None)
        if following is None:
            postorder.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, targets_of(following)))
    return postorder[::-1]


def _dominators(order: list[int], predecessors: list[list[int]], count: int) -> list[int]:
    position = {block: index for index, block in enumerate(order)}
    parents = [-1] * count
    parents[0] = 0
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            found = -1
            for predecessor in predecessors[block]:
                if parents[predecessor] == -1:
                    continue
                found = predecessor if found == -1 else _common_dominator(found, predecessor, parents, position)
            if parents[block] != found:
                parents[block], changed = found, True
    return parents


def _common_dominator(first: int, second: int, parents: list[int], position: dict[int, int]) -> int:
    while first != second:
        if position[first] > position[second]:
            first = parents[first]
        else:
            second = parents[second]
    return first


def _numbering(order: list[int], parents: list[int], count: int) -> tuple[list[int], list[int]]:
    children: list[list[int]] = [[] for _ in range(count)]
    for block in order[1:]:
        children[parents[block]].append(block)
    enter, leave, clock = [-1] * count, [-1] * count, 0
    stack = [(0, False)]
    while stack:
        block, done = stack.pop()
        clock += 1
        if done:
            leave[block] = clock
            continue
        enter[block] = clock
        stack.append((block, True))
        stack.extend((child, False) for child in reversed(children[block]))
    return enter, leave


def _find_loops(program: Program, flow: Flow) -> None:
    """Natural loops: the blocks that reach a back edge without passing the loop head."""
    bodies: dict[int, set[int]] = {}
    for block in flow.order:
        for target in program.blocks[block].end.targets:
            if flow.dominates(target, block):
                bodies.setdefault(target, {target}).update(_loop_body(target, block, flow.predecessors))
    for body in bodies.values():
        for block in body:
            flow.depth[block] += 1
    flow.heads.update(bodies)


def _loop_body(head: int, tail: int, predecessors: list[list[int]]) -> set[int]:
    body, stack = {head}, [tail]
    while stack:
        block = stack.pop()
        if block not in body:
            body.add(block)
            stack.extend(predecessors[block])
    return body


@dataclass
class Liveness:
    """Positions count the instructions of a block from zero; the branch and its arguments have the next position."""

    block: list[int]
    position: list[int]
    last_use: list[dict[int, int]]
    live_out: list[set[int]]
    tied_to: dict[int, int] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)


def liveness(program: Program, flow: Flow) -> Liveness:
    """Liveness of a program in SSA form; values passed by a branch are used at the end of its block."""
    count, blocks = len(program.classes), program.blocks
    found = Liveness([-1] * count, [_AT_START] * count, [{} for _ in blocks], [set() for _ in blocks])
    for number in flow.order:
        _read_block(program, number, found)
    _propagate(flow, found)
    return found


def _read_block(program: Program, number: int, found: Liveness) -> None:
    block, last = program.blocks[number], found.last_use[number]
    blocks, positions = found.block, found.position
    for argument in block.arguments:
        found.block[argument] = number
    for position, instruction in enumerate(block.instructions):
        last.update(dict.fromkeys(instruction.operands, position))
        for result in instruction.results:
            blocks[result], positions[result] = number, position
        if instruction.tied:
            for result, operand in zip(instruction.results, instruction.tied, strict=False):
                if operand >= 0:
                    found.tied_to[result] = instruction.operands[operand]
    end = len(block.instructions)
    for passed in block.end.arguments:
        last.update(dict.fromkeys(passed, end))
    if block.end.condition is not None:
        last[block.end.condition] = end
    found.used.update(last)


def _propagate(flow: Flow, found: Liveness) -> None:
    """Walks from each use back to the definition; the time is linear in the size of the result."""
    blocks, live_out, predecessors = found.block, found.live_out, flow.predecessors
    for number in flow.order:
        for value in found.last_use[number]:
            defined = blocks[value]
            stack = [number] if defined != number else []
            while stack:
                for predecessor in predecessors[stack.pop()]:
                    live = live_out[predecessor]
                    if value not in live:
                        live.add(value)
                        if predecessor != defined:
                            stack.append(predecessor)
