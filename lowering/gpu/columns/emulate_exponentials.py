"""Some elements of exponentials are computed by polynomials, where MUFU bounds a loop and other units are idle.

before:   for .. { %p = tile_gpu.math "exp2.approx.ftz" %x }
after:    for .. { %p = tile_gpu.math "exp2.approx.ftz" polynomials 3 %x }

before:   for .. { %p = math.exp2 %x }
after:    for .. { %p = tile_gpu.math "exp2.approx" polynomials 3 %x }

The share is the least with which the units of the SM, over all roles of the loop, take about the fewest cycles together
(lowering/model/): MUFU against the FMA pipe, the ALU and the issue slots. It is as accurate as the instruction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.shape import EMULATED, EXP2, POLYNOMIAL_PARTS, MathOp
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.walk import operations_inside
from tilec.lowering import emitter
from tilec.lowering.gpu.cost.computed_elements import VisitedTiles
from tilec.lowering.gpu.cost.elementwise_work import exponential_elements, exponential_work
from tilec.lowering.gpu.cost.loop_cycles import busy_cycles
from tilec.lowering.gpu.cost.loop_work import LoopWork, Run, loops_of
from tilec.lowering.gpu.ir.scratch_use import scratch_bytes
from tilec.lowering.gpu.ir.tile_size import thread_elements
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.memory.occupancy import blocks_together
from tilec.lowering.matrix_unit import accumulates_in_registers
from tilec.lowering.model.constants import Device, device_of
from tilec.lowering.model.launch import combined_cycles
from tilec.lowering.model.step import Step

_EXP2 = "math.exp2"
# Exponentials of fewer elements per thread, as factors of rows, are not worth the constants.
_LEAST_ELEMENTS = 16
# A share has to save this part of the cycles against a smaller one, for it costs instructions and registers.
SAVED = 0.005
# Where `emulate-waiting` chooses it again in the order of a schedule, which the first one also changes.
_SAVED_AT_FIRST = 0.01
# The elements of exponentials, by the number of those that a thread has, and by the present share.
_Elements = Mapping[tuple[int, int], float]


class CountCycles(Protocol):
    """The cycles of an iteration of a loop, for one of the `blocks` blocks of an SM."""

    def __call__(self, loop: LoopWork, device: Device, blocks: int) -> float: ...


def emulate_exponentials(kernel: KernelOp, context: Context) -> None:
    """Sets `polynomials` in a tile_gpu.kernel in place; run when roles and their tiles are final."""
    saved = SAVED if accumulates_in_registers(context.target) else _SAVED_AT_FIRST
    set_shares(kernel, context, _cycles_of_units, saved)


def _cycles_of_units(loop: LoopWork, device: Device, blocks: int) -> float:
    return combined_cycles(busy_cycles(loop, device, blocks))


def set_shares(kernel: KernelOp, context: Context, cycles: CountCycles, saved: float) -> None:
    """Gives the exponentials of each loop the share with which it takes about the fewest cycles, in place.

    `cycles` returns those of a loop on a device whose SMs share a number of blocks. Against a smaller share, one has to
    save the part `saved` of them.
    """
    emulated = [op for op in operations_inside(kernel) if _is_emulated(op)]
    if not emulated:
        return
    device, known, plan = device_of(context.target.name), VisitedTiles(), context.plan(kernel)
    blocks = blocks_together(kernel, context.target, plan.bytes_with(scratch_bytes(kernel)), plan.tensor_columns)
    outside, shares = {op for op in emulated if _present_share(op)}, [POLYNOMIAL_PARTS]
    for loop in loops_of(kernel, device, counts_outside=False):
        exponentials = _exponentials(loop.runs)
        if loop.depth < 0 or loop.has_inner_loops or not exponentials:
            continue
        outside.difference_update(exponentials)
        elements = [_elements(run, known) for run in loop.runs]
        shares.append(_share(loop, elements, device, partial(cycles, blocks=blocks), saved))
        for op in exponentials:
            _set_share(op, shares[-1])
    # Schedules have copies of iterations before and after their loops.
    for op in outside:
        _set_share(op, min(*shares, _present_share(op)))


def _exponentials(runs: Iterable[Run]) -> list[ir.Operation]:
    """The operations of which polynomials can compute elements."""
    return [op for run in runs for op in run.functions if _is_emulated(op)]


def _is_emulated(op: ir.Operation) -> bool:
    """Whether polynomials can compute elements of an operation."""
    if op.name != _EXP2 and (op.name != MathOp.OPERATION_NAME or op.opview.function not in EMULATED):
        return False
    type = op.results[0].type
    is_f32 = is_register_tile(type) and isinstance(type.element_type, ir.F32Type)
    return is_f32 and thread_elements(type) >= _LEAST_ELEMENTS


def _present_share(op: ir.Operation) -> int:
    return op.opview.polynomials or 0 if op.name == MathOp.OPERATION_NAME else 0


def _set_share(op: ir.Operation, share: int) -> None:
    """Polynomials compute `share` of the elements; the upstream operation has no attribute for it."""
    if share == _present_share(op):
        return
    if not share:
        del op.attributes["polynomials"]
        return
    if op.name == MathOp.OPERATION_NAME:
        op.attributes["polynomials"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), share)
        return
    with op.location, ir.InsertionPoint(op):
        emulated = emitter.gpu(MathOp, op.operands, [op.results[0].type], function=EXP2, polynomials=share)
    # The position in a schedule; `fastmath` belongs to the upstream operation.
    for name in (name for name in op.attributes if name != "fastmath"):
        emulated.attributes[name] = op.attributes[name]
    op.results[0].replace_all_uses_with(emulated.results[0])
    op.erase()


def _share(
    loop: LoopWork,
    elements: Sequence[_Elements],
    device: Device,
    cycles: Callable[[LoopWork, Device], float],
    saved: float,
) -> int:
    """The least share, in parts of POLYNOMIAL_PARTS, with which a loop takes about the fewest cycles."""
    share = first = min(present for found in elements for _, present in found)
    known = {first: cycles(_emulated(loop, elements, first, device), device)}

    def is_about_least(share: int) -> bool:
        if share not in known:
            known[share] = cycles(_emulated(loop, elements, share, device), device)
        return known[share] <= (1 + saved) * min(known.values())

    # More polynomials take more of other units: from the least on, the cycles rise to both sides.
    while share + 1 < POLYNOMIAL_PARTS and is_about_least(share + 1):
        share += 1
    share = first
    while share and is_about_least(share) and is_about_least(share - 1):
        share -= 1
    return min(filter(is_about_least, known))


def _emulated(loop: LoopWork, elements: Sequence[_Elements], share: int, device: Device) -> LoopWork:
    step, roles = loop.step, {role: list(actions) for role, actions in loop.roles.items()}
    for run, found in zip(loop.runs, elements, strict=True):
        change = _change(found, share, device)
        step += change
        roles[run.role][run.action] = run.busy(device, run.step + change)
    return replace(loop, step=step, roles=roles)


def _elements(run: Run, known: VisitedTiles) -> _Elements:
    """The elements of the exponentials, by the number of those of an operation that a thread has, and their share."""
    elements = defaultdict[tuple[int, int], float](float)
    for op in _exponentials([run]):
        per_thread, count = exponential_elements(op, known)
        elements[per_thread, _present_share(op)] += count
    return elements


def _change(elements: _Elements, share: int, device: Device) -> Step:
    """The work of exponentials with a share, less their present work."""
    change = Step()
    for (per_thread, present), count in elements.items():
        change += exponential_work(per_thread, count, share, device)
        change += exponential_work(per_thread, count, present, device).times(-1)
    return change
