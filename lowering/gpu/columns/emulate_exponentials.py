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
from collections.abc import Iterable
from dataclasses import replace

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.tile_gpu.shape import EMULATED, EXP2, POLYNOMIAL_PARTS, MathOp
from tilec.dialect.walk import operations_inside
from tilec.lowering import emitter
from tilec.lowering.gpu.cost.computed_elements import VisitedTiles
from tilec.lowering.gpu.cost.elementwise_work import exponential_elements, exponential_work
from tilec.lowering.gpu.cost.loop_work import LoopWork, Run, busy_cycles, cycles_of, loops_of
from tilec.lowering.gpu.ir.tile_size import thread_elements
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.model.constants import Device, device_of
from tilec.lowering.model.launch import combined_cycles
from tilec.lowering.model.step import Step

_EXP2 = "math.exp2"
# Exponentials of fewer elements per thread, as factors of rows, are not worth the constants.
_LEAST_ELEMENTS = 16
# A share has to save this part of the cycles against a smaller one, for it costs instructions and registers.
_SAVED = 0.005


def emulate_exponentials(kernel: KernelOp, context: Context) -> None:
    """Sets `polynomials` in a tile_gpu.kernel in place; run when roles and their tiles are final."""
    if not any(map(_is_emulated, operations_inside(kernel))):
        return
    device, known = device_of(context.target.name), VisitedTiles()
    for loop in loops_of(kernel, device, counts_outside=False):
        if loop.depth >= 0 and not loop.has_inner_loops:
            share = _share(loop, device, known)
            if share and _saves(loop, share, device, known):
                for op in _exponentials(loop.runs):
                    _set_share(op, share)


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


def _set_share(op: ir.Operation, share: int) -> None:
    """Polynomials compute `share` of the elements; the upstream operation has no attribute for it."""
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


def _share(loop: LoopWork, device: Device, known: VisitedTiles) -> int:
    """The share of a loop, in parts of POLYNOMIAL_PARTS."""
    elements = _elements(loop.runs, known)
    if not elements:
        return 0
    steps = (loop.step + _change(elements, share, device) for share in range(POLYNOMIAL_PARTS))
    cycles = [combined_cycles(busy_cycles(replace(loop, step=step), device)) for step in steps]
    return next(share for share, each in enumerate(cycles) if each <= (1 + _SAVED) * min(cycles))


def _saves(loop: LoopWork, share: int, device: Device, known: VisitedTiles) -> bool:
    """Whether a share makes a loop faster, with the time for which its roles wait for each other."""
    step, roles = loop.step, {role: list(actions) for role, actions in loop.roles.items()}
    for run in loop.runs:
        if elements := _elements([run], known):
            change = _change(elements, share, device)
            step += change
            roles[run.role][run.action] = run.busy(device, run.step + change)
    emulated = replace(loop, step=step, roles=roles)
    return cycles_of(emulated, device).cycles <= (1 - _SAVED) * cycles_of(loop, device).cycles


def _elements(runs: Iterable[Run], known: VisitedTiles) -> dict[int, float]:
    """The elements of the exponentials, by the number of those of an operation that a thread has."""
    elements = defaultdict[int, float](float)
    for op in _exponentials(runs):
        per_thread, count = exponential_elements(op, known)
        elements[per_thread] += count
    return elements


def _change(elements: dict[int, float], share: int, device: Device) -> Step:
    """The work of exponentials with a share, less their work without one."""
    before = (exponential_work(*each, 0, device).times(-1) for each in elements.items())
    return sum((exponential_work(*each, share, device) for each in elements.items()), sum(before, Step()))
