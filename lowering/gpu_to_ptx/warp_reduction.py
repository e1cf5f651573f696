"""Reduction over all lanes of a warp by one instruction (PTX ISA 9.7.13.8, redux.sync)."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.elements import PtxElement
from tilec.lowering.gpu_to_ptx.lowering import Lowering
from tilec.lowering.layout.reduction_plan import ReductionPlan
from tilec.lowering.target import LANES

# The instruction of a body of one operation, by its name and the element.
_FORMS = {
    ("arith.addi", "i32"): "add.s32",
    ("arith.maxsi", "i32"): "max.s32",
    ("arith.minsi", "i32"): "min.s32",
    ("arith.maxui", "i32"): "max.u32",
    ("arith.minui", "i32"): "min.u32",
    ("arith.andi", "i32"): "and.b32",
    ("arith.ori", "i32"): "or.b32",
    ("arith.xori", "i32"): "xor.b32",
    ("arith.maximumf", "f32"): "max.NaN.f32",
    ("arith.minimumf", "f32"): "min.NaN.f32",
    ("arith.maxnumf", "f32"): "max.f32",
    ("arith.minnumf", "f32"): "min.f32",
}


def reduction_of_warp(
    lowering: Lowering, kind: PtxElement, body: ir.Block, plan: ReductionPlan
) -> Callable[[ir.Value], ir.Value] | None:
    """The reduction of a register over all lanes, in any order; None if the plan or the target has no such step."""
    form = _FORMS.get((body.operations[0].operation.name, kind.name)) if len(body.operations) == 2 else None
    if form is None or not _joins_all_lanes(plan) or kind.is_float and not lowering.target.reduces_floats_of_warp:
        return None
    text = f"redux.sync.{form} $0, $1, 0xffffffff;"
    return lambda register: lowering.b.execute(text, register.type, register)


def _joins_all_lanes(plan: ReductionPlan) -> bool:
    """Whether the steps across lanes join the same register of all lanes."""
    lanes = functools.reduce(operator.or_, (lane for lane, _ in plan.lane_steps), 0)
    return lanes == LANES - 1 and len(plan.lane_steps) == lanes.bit_length() and not any(r for _, r in plan.lane_steps)
