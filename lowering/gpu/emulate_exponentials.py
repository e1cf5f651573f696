"""Some elements of exponentials are computed by polynomials, where MUFU bounds a loop and other units are idle.

before:   for .. { %p = tile_gpu.math "exp2.approx.ftz" %x }
after:    for .. { %p = tile_gpu.math "exp2.approx.ftz" polynomials 3 %x }

The share is the least with which the units of the SM, over all roles of the loop, take about the fewest cycles together
(lowering/model/): MUFU against the FMA pipe, the ALU and the issue slots. It is as accurate as the instruction.
"""

from __future__ import annotations

from dataclasses import replace

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.tile_gpu.shape import EMULATED, POLYNOMIAL_PARTS
from tilec.dialect.walk import operations_below
from tilec.lowering.gpu.loop_work import LoopWork, busy_cycles, cycles_of, loops_of
from tilec.lowering.gpu.operation_work import VisitedTiles, thread_elements, work_of
from tilec.lowering.model.constants import Device, device_of
from tilec.lowering.model.launch import combined_cycles
from tilec.lowering.model.step import Step
from tilec.lowering.target import Target

_ATTRIBUTE = "polynomials"
# Exponentials of fewer elements per thread, as factors of rows, are not worth the constants.
_LEAST_ELEMENTS = 16
# A share has to save this part of the cycles against a smaller one, for it costs instructions and registers.
_SAVED = 0.005


def emulate_exponentials(kernel: KernelOp, target: Target) -> None:
    """Sets `polynomials` in a tile_gpu.kernel in place; run when roles and their tiles are final."""
    if not any(_is_emulated(op.operation) for op in operations_below(kernel)):
        return
    device = device_of(target.name)
    loops, known = _loops(kernel, device), VisitedTiles()
    shares = [_share(loop, device, known) for loop in loops]
    if not any(shares):
        return
    for loop, share in zip(loops, shares, strict=True):
        _set_share(loop, share)
    for loop, share, emulated in zip(loops, shares, _loops(kernel, device), strict=True):
        if share and cycles_of(emulated, device).cycles > (1 - _SAVED) * cycles_of(loop, device).cycles:
            _set_share(loop, 0)


def _loops(kernel: KernelOp, device: Device) -> list[LoopWork]:
    """The innermost loops."""
    return [loop for loop in loops_of(kernel, device) if loop.depth >= 0 and not loop.has_inner_loops]


def _is_emulated(op: ir.Operation) -> bool:
    """Whether polynomials can compute elements of an operation."""
    if op.name != "tile_gpu.math" or op.opview.function != EMULATED:
        return False
    type = op.results[0].type
    is_f32 = is_register_tile(type) and isinstance(type.element_type, ir.F32Type)
    return is_f32 and thread_elements(type) >= _LEAST_ELEMENTS


def _share(loop: LoopWork, device: Device, known: VisitedTiles) -> int:
    """The share of a loop, in parts of POLYNOMIAL_PARTS."""
    if not any(map(_is_emulated, loop.functions)):
        return 0
    others = loop.step + _exponentials(loop, 0, device, known).times(-1)
    steps = (others + _exponentials(loop, share, device, known) for share in range(POLYNOMIAL_PARTS))
    cycles = [combined_cycles(busy_cycles(replace(loop, step=step), device)) for step in steps]
    return next(share for share, each in enumerate(cycles) if each <= (1 + _SAVED) * min(cycles))


def _exponentials(loop: LoopWork, share: int, device: Device, known: VisitedTiles) -> Step:
    """The work of the exponentials of a loop with this share."""
    _set_share(loop, share)
    # It is that of all elements, however many warps compute them.
    work = sum((work_of(op.opview, 0, device, known) for op in loop.functions if _is_emulated(op)), Step())
    _set_share(loop, 0)
    return work


def _set_share(loop: LoopWork, share: int) -> None:
    for op in loop.functions:
        if share and _is_emulated(op):
            op.attributes[_ATTRIBUTE] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), share)
        elif _ATTRIBUTE in op.attributes:
            del op.attributes[_ATTRIBUTE]
