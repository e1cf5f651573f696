"""The body region of a reduction or scan, applied to registers."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.elementwise import pair_of, reduced
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, named_location
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
_EXTREMA = ("arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf")
Reduce = Callable[[Sequence[ir.Value]], ir.Value]


class ReductionBody:
    """A body whose arguments are (element, accumulator) per operand and which yields the new accumulators."""

    def __init__(self, lowering: Lowering, operation: ir.Operation) -> None:
        self._lowering = lowering
        self._block = operation.regions[0].blocks[0]
        # The name of the operation of a body that has one, else empty.
        self._name = self._block.operations[0].operation.name if len(self._block.operations) == 2 else ""
        self._location = lowering.b.location

    def combine(self, elements: list[ir.Value], accumulators: list[ir.Value]) -> list[ir.Value]:
        """Lowers the body once and returns the new accumulators."""
        pairs = [register for pair in zip(elements, accumulators, strict=True) for register in pair]
        for argument, register in zip(self._block.arguments, pairs, strict=True):
            self._lowering.set(argument, [register])
        values = self._lowering.lower_block(self._block)
        self._lowering.b.location = self._location
        return [self._lowering.scalar(value) for value in values]

    def of_warp(self, kind: PtxElement, plan: ReductionPlan) -> Callable[[ir.Value], ir.Value] | None:
        """The reduction of a register over all lanes, in any order, by one instruction; None if there is none."""
        form, target = self._form(kind), self._lowering.target
        if form is None or not _joins_all_lanes(plan) or kind.is_float and not target.reduces_floats_of_warp:
            return None
        text = f"redux.sync.{form} $0, $1, 0xffffffff;"
        return lambda register: self._lowering.b.execute(text, register.type, register)

    def of_many(self, kind: PtxElement) -> Reduce | None:
        """The reduction of many registers of a thread in any order by fewer instructions; None if there is none."""
        form, target = self._form(kind), self._lowering.target
        if self._name in _EXTREMA and form is not None and target.compares_three:
            return lambda registers: self._located(_extremum, form, registers)
        if self._name == "arith.addf" and kind.name == "f32" and target.packs_floats:
            return lambda registers: self._located(_sum, "add", registers)
        return None

    def _form(self, kind: PtxElement) -> str | None:
        return _FORMS.get((self._name, kind.name))

    def _located(
        self, reduce: Callable[[Lowering, str, Sequence[ir.Value]], ir.Value], name: str, registers: Sequence[ir.Value]
    ) -> ir.Value:
        self._lowering.b.location = named_location(self._block.operations[0].operation)
        value = reduce(self._lowering, name, registers)
        self._lowering.b.location = self._location
        return value


def _extremum(lowering: Lowering, form: str, registers: Sequence[ir.Value]) -> ir.Value:
    return reduced(lowering, form, "f32", registers, 3)


def _sum(lowering: Lowering, name: str, registers: Sequence[ir.Value]) -> ir.Value:
    """Pairs of neighbours are added as a tree of pairs, and the halves of the last pair last."""
    if len(registers) == 1:
        return registers[0]
    level = list(zip(registers[0::2], registers[1::2], strict=True))
    while len(level) > 1:
        level = [pair_of(lowering, name, ["rn"], *both) for both in zip(level[0::2], level[1::2], strict=True)]
    low, high = level[0]
    return lowering.compute(f"{name}.rn.f32 $0, $1, $2;", "f32", high, low)


def _joins_all_lanes(plan: ReductionPlan) -> bool:
    """Whether the steps across lanes join the same register of all lanes."""
    lanes = functools.reduce(operator.or_, (lane for lane, _ in plan.lane_steps), 0)
    return lanes == LANES - 1 and len(plan.lane_steps) == lanes.bit_length() and not any(r for _, r in plan.lane_steps)
