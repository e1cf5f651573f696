"""16-bit floats computed in f32 and rounded once."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.elements import PtxElement
from tilec.lowering.gpu_to_ptx.elementwise import each, operands_text
from tilec.lowering.gpu_to_ptx.lowering import Lowering


def in_f32(lowering: Lowering, operation: ir.Operation, kind: PtxElement, name: str, mode: str = "rn") -> None:
    """The instruction on f32 (f64 for f64), operands of 16 bits widened and the result rounded in a mode.

    In a directed mode f32 and the narrow type round the same way, which is one rounding.
    """
    text = f"{name} {operands_text(len(operation.operands))};"

    def step(*operands: ir.Value) -> ir.Value:
        wide = [to_f32(lowering, kind, operand) for operand in operands]
        return from_f32(lowering, kind, lowering.compute(text, "f64" if kind.name == "f64" else "f32", *wide), mode)

    each(lowering, operation, step)


def to_f32(lowering: Lowering, kind: PtxElement, register: ir.Value) -> ir.Value:
    """A 16-bit float as f32; wider ones as they are."""
    return lowering.compute(f"cvt.f32.{kind.suffix} $0, $1;", "f32", register) if kind.bits == 16 else register


def from_f32(lowering: Lowering, kind: PtxElement, register: ir.Value, mode: str = "rn") -> ir.Value:
    """An f32 rounded to a 16-bit float; others as they are."""
    if kind.bits != 16:
        return register
    return lowering.compute(f"cvt.{mode}.{kind.suffix}.f32 $0, $1;", kind.register, register)
