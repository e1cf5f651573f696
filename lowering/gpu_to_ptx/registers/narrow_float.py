"""Arithmetic on 16-bit floats in f32, rounded once."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.elementwise import each, operands_text
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering


def in_f32(lowering: Lowering, operation: ir.Operation, kind: PtxElement, name: str, mode: str = "rn") -> None:
    """Applies an f32 (or f64) instruction to widened operands and rounds the result.

    In a directed mode f32 and the narrow type round in the same direction, which equals one rounding.
    """
    text = f"{name} {operands_text(len(operation.operands))};"

    def step(*operands: ir.Value) -> ir.Value:
        wide = [to_f32(lowering, kind, operand) for operand in operands]
        return from_f32(lowering, kind, lowering.compute(text, "f64" if kind.name == "f64" else "f32", *wide), mode)

    each(lowering, operation, step)


def to_f32(lowering: Lowering, kind: PtxElement, register: ir.Value) -> ir.Value:
    """Widens a 16-bit float to f32; other types are unchanged."""
    return lowering.compute(f"cvt.f32.{kind.suffix} $0, $1;", "f32", register) if kind.bits == 16 else register


def from_f32(lowering: Lowering, kind: PtxElement, register: ir.Value, mode: str = "rn") -> ir.Value:
    """Rounds f32 to a 16-bit float; other types are unchanged."""
    if kind.bits != 16:
        return register
    return lowering.compute(f"cvt.{mode}.{kind.suffix}.f32 $0, $1;", kind.register, register)
