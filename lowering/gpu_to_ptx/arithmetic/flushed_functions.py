"""Functions by their forms that flush subnormals, in warps whose arguments have the same results by both forms.

ptxas scales each argument of `ex2.approx.f32` and `rsqrt.approx.f32`, and each result, by a comparison and two
multiplies, because of subnormals (ptxas 13.0). The forms with .ftz are one instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.elementwise import each_distinct, in_pairs, reduced
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.instruction_choice import FLUSHED, LEAST_FLUSHED

Function = Callable[[list[ir.Value]], list[ir.Value]]


@dataclass(frozen=True)
class _Rule:
    """Arguments, or their magnitudes, from `least` on have equal results in both forms.

    With `center` and `radius`, so have all that are further from the center than the radius.
    """

    least: str
    of_magnitudes: bool = False
    center: str = ""
    radius: str = ""


_RULES = {
    # From 2**-126 on results are normal, and below 2**-151 both are zero, whatever the error of the instruction.
    "math.exp2": _Rule("0fC2FC0000", center="0f430A8000", radius="0f41480000"),
    # Normal arguments have normal results.
    "math.rsqrt": _Rule("0f00800000", of_magnitudes=True),
}


def flushes(lowering: Lowering, operation: ir.Operation) -> bool:
    """Whether a thread has enough distinct elements of f32, and no wgmma has its own in flight."""
    (operand,) = operation.operands
    return operation.name in _RULES and len(set(lowering.get(operand))) >= LEAST_FLUSHED and not lowering.in_flight


def by_flushing(lowering: Lowering, operation: ir.Operation) -> None:
    """The function of each element of a tile of f32; all threads of a warp use the same form."""
    form = FLUSHED[operation.name]

    def function(modifier: str) -> Function:
        return lambda arguments: [lowering.compute(f"{form}{modifier}.f32 $0, $1;", "f32", each) for each in arguments]

    each_distinct(
        lowering,
        operation,
        lambda columns: guarded(
            lowering, operation.name, [register for (register,) in columns], function(".ftz"), function("")
        ),
    )


def guarded(
    lowering: Lowering, name: str, arguments: list[ir.Value], flushing: Function, exact: Function
) -> list[ir.Value]:
    """The results of `flushing`, or of `exact` in warps with an argument for which they differ."""
    b, rule = lowering.b, _RULES[name]
    fast, slow, done = (b.block(label="flushed"), b.block(label="not_flushed"), b.block(
        [lowering.type("f32")] * len(arguments), "function_done"
    ))  # fmt: skip
    safe = _all(lowering, "ge", _least(lowering, arguments, rule.of_magnitudes), rule.least)
    if rule.center:
        check = b.block(label="flushed_anyway")
        b.cond_branch(safe, fast, [], check, [], uniform=True)
        lowering.at(check)
        center = lowering.compute(f"mov.b32 $0, {rule.center};", "f32")
        distances = in_pairs(lowering, "add", ["rn"], [(argument, center) for argument in arguments])
        safe = _all(lowering, "gt", _least(lowering, distances, True), rule.radius)
    b.cond_branch(safe, fast, [], slow, [], uniform=True)
    for block, function in ((fast, flushing), (slow, exact)):
        lowering.at(block)
        b.branch(done, *function(arguments))
    lowering.at(done)
    return list(done.arguments)


def _all(lowering: Lowering, comparison: str, register: ir.Value, limit: str) -> ir.Value:
    """Whether a comparison holds in all threads of the warp (PTX ISA 9.7.13.11)."""
    holds = lowering.compute(f"setp.{comparison}.f32 $0, $1, {limit};", "i1", register)
    return lowering.b.execute("vote.sync.all.pred $0, $1, 0xffffffff;", lowering.type("i1"), holds)


def _least(lowering: Lowering, values: Sequence[ir.Value], of_magnitudes: bool) -> ir.Value:
    """The least of values, or of their magnitudes, which are not NaN; NaN if all are."""
    compared = [lowering.compute("abs.f32 $0, $1;", "f32", each) for each in values] if of_magnitudes else values
    return reduced(lowering, "min.f32", "f32", compared, 2 + lowering.target.compares_three)
