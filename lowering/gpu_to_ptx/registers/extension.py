"""Sign and zero extension: the bits of a register above 8 or 4 bits are undefined, and i1 is a predicate."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering


def extended(lowering: Lowering, kind: PtxElement, signed: bool, register: ir.Value) -> ir.Value:
    """Extends 8 and 4 bits to 16 and i1 to 32; other types fill their registers."""
    if kind.is_predicate:
        return lowering.compute(f"selp.b32 $0, {-1 if signed else 1}, 0, $1;", "i32", register)
    if kind.bits > 8:
        return register
    if not signed:
        return lowering.compute(f"and.b16 $0, $1, {(1 << kind.bits) - 1:#x};", "i16", register)
    if kind.bits == 8:
        return lowering.compute("cvt.s16.s8 $0, $1;", "i16", register)
    raised = lowering.compute(f"shl.b16 $0, $1, {16 - kind.bits};", "i16", register)
    return lowering.compute(f"shr.s16 $0, $1, {16 - kind.bits};", "i16", raised)


def widened(lowering: Lowering, kind: PtxElement, signed: bool, register: ir.Value, bits: int) -> ir.Value:
    """Sign- or zero-extends an integer to 16, 32 or 64 bits."""
    register = extended(lowering, kind, signed, register)
    known = 32 if kind.is_predicate else kind.register_bits
    if known == bits:
        return register
    sign = "s" if signed else "u"
    return lowering.compute(f"cvt.{sign}{bits}.{sign}{known} $0, $1;", f"i{bits}", register)


def lowest_bit(lowering: Lowering, kind: PtxElement, register: ir.Value) -> ir.Value:
    """The lowest bit of an integer as a predicate."""
    bit = lowering.compute(f"and.b{kind.register_bits} $0, $1, 1;", kind.register, register)
    return lowering.compute(f"setp.ne.s{kind.register_bits} $0, $1, 0;", "i1", bit)
