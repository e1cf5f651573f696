"""The innermost loops of a kernel, each with its parts: the loops of all roles that execute it together.

A loop that is divided among roles has parts at one place that put and get the same channels. Warpgroups of a role that
do not wait for each other are parts of their own.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import MULTIPLIES, STEPS
from tilec.dialect.tile_gpu.operations.channel import GetOp, PutBeginOp, PutCommitOp
from tilec.dialect.tile_gpu.operations.kernel import COMPUTE, KernelOp
from tilec.dialect.tile_gpu.operations.matrix import DotOp, WgmmaWaitOp
from tilec.dialect.tile_gpu.operations.tma import TmaLoadOp
from tilec.dialect.walk import operations_in, operations_inside
from tilec.lowering.gpu.ir.enclosing import LOOPS, path_to
from tilec.lowering.gpu.ir.operation_role import is_rematerializable, unlike_roles
from tilec.lowering.gpu.ir.scratch_use import independent_warpgroups
from tilec.lowering.gpu.loops.loop_attributes import iterations_ahead
from tilec.lowering.gpu.loops.loop_names import loops_of_role
from tilec.lowering.matrix_unit import WARPS_OF_A_GROUP

# The multiplies of matrix units.
UNIT_MULTIPLIES = tuple(name for name in MULTIPLIES if name != DotOp.OPERATION_NAME)
# The operations of a loop of one multiply, without its scalars.
_OF_ONE_MULTIPLY = (
    *UNIT_MULTIPLIES,
    *(*STEPS, TmaLoadOp.OPERATION_NAME),
    *(WgmmaWaitOp.OPERATION_NAME, "scf.if", "scf.yield"),
)
# The steps that tell how many iterations are between a put and its get.
_COUNTED_STEPS = (GetOp.OPERATION_NAME, PutCommitOp.OPERATION_NAME)


@dataclass(frozen=True)
class LoopPart:
    """The loop of one role, for all of its warps or for one of its warpgroups.

    Attributes:
        role: the name of the role, with the number of the warpgroup if it has several.
        warps: the warps of the part.
        loop: the loop.
        groups: the warpgroups among which the work of the loop is divided.
    """

    role: str
    warps: int
    loop: ir.OpView
    groups: int = 1


def divided_loops(kernel: KernelOp) -> list[list[LoopPart]]:
    """The parts of each innermost loop, in program order."""
    return [list(itertools.chain.from_iterable(map(_warpgroups, parts))) for parts in _loops(kernel)]


def _loops(kernel: KernelOp) -> list[list[LoopPart]]:
    """The innermost loops, those of all roles at one place together if they use the same channels."""
    groups: list[tuple[str, set[ir.Value], list[LoopPart]]] = []
    for role, warps, block in role_blocks(kernel):
        for op, name in loops_of_role(block).items():
            if op.name != "scf.for":
                continue
            inside = operations_inside(op)
            if any(inner.name in LOOPS for inner in inside):
                continue
            channels = {inner.operands[0] for inner in inside if is_step(inner)}
            together = [entry for entry in groups if entry[0] == name and entry[1] & channels]
            groups = [entry for entry in groups if entry not in together]
            parts = [part for _, _, entry in together for part in entry]
            of_all = channels.union(*(found for _, found, _ in together))
            groups.append((name, of_all, [*parts, LoopPart(role, warps, op.opview)]))
    return [parts for _, _, parts in groups]


def role_blocks(kernel: KernelOp) -> Iterator[tuple[str, int, ir.Block]]:
    """The name, the warps and the operations of each role; a kernel without roles is one of them."""
    block, roles = kernel.body.blocks[0], kernel.roles
    if roles is None:
        yield COMPUTE, kernel.warps, block
        return
    yield from unlike_roles(roles)


def _warpgroups(part: LoopPart) -> list[LoopPart]:
    """The warpgroups of a role, if they execute the loop without waiting for each other; else the role."""
    groups = independent_warpgroups(part.loop, part.warps)
    if groups == 1:
        return [part]
    return [LoopPart(f"{part.role}[{n}]", WARPS_OF_A_GROUP, part.loop, groups) for n in range(groups)]


def is_step(op: ir.Operation) -> bool:
    """Whether an operation waits for a slot of a channel, which it then accesses."""
    return op.name in (PutBeginOp.OPERATION_NAME, GetOp.OPERATION_NAME)


def steps_in_front(part: LoopPart) -> Counter[tuple[str, ir.Value]]:
    """How many more steps of a name on a channel the role has executed before its loop than in whole iterations.

    Loops before it count for the iterations that they have less than those of other roles.
    """
    found: Counter[tuple[str, ir.Value]] = Counter()
    for outer in path_to(part.loop.operation):
        for op in operations_in(outer.block):
            if op == outer:
                break
            _count_steps(op, 1, found)
    return found


def _count_steps(op: ir.Operation, factor: int, found: Counter[tuple[str, ir.Value]]) -> None:
    """Adds the steps in an operation, `factor` for each."""
    if op.name in _COUNTED_STEPS:
        found[op.name, op.operands[0]] += factor
        return
    if op.name in LOOPS:
        factor *= -iterations_ahead(op)
    if not factor:
        return
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                _count_steps(inner.operation, factor, found)


def has_choices(parts: Sequence[LoopPart]) -> bool:
    """Whether a loop multiplies, and does more than one multiply of tiles that TMA loads.

    `pipeline` knows the slots for one such multiply. Loops without multiplies wait for memory, and several blocks of an
    SM do so at the same time.
    """
    loops = {part.loop.operation: part.loop for part in parts}
    operations = [op for loop in loops.values() for op in operations_inside(loop)]
    multiplies = [op for op in operations if op.name in UNIT_MULTIPLIES]
    is_alone = all(op.name in _OF_ONE_MULTIPLY or is_rematerializable(op) for op in operations)
    return bool(multiplies) and not (is_alone and len(multiplies) == 1)
