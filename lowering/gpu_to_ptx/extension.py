"""Integers made wider: an 8-bit element says nothing in the upper half of its register until it is extended."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.elements import Element
from tilec.lowering.gpu_to_ptx.lowers import Lowering


def extended(lowering: Lowering, kind: Element, signed: bool, register: ir.Value) -> ir.Value:
    """The register with all its bits meant: 8-bit elements sign- or zero-extended to 16, others as they are."""
    if kind.bits != 8:
        return register
    if signed:
        return lowering.compute("cvt.s16.s8 $0, $1;", "i16", register)
    return lowering.compute("and.b16 $0, $1, 0xff;", "i16", register)


def widened(lowering: Lowering, kind: Element, signed: bool, register: ir.Value, bits: int) -> ir.Value:
    """The integer sign- or zero-extended to a register of 16, 32 or 64 bits."""
    register = extended(lowering, kind, signed, register)
    if kind.register_bits == bits:
        return register
    sign = "s" if signed else "u"
    return lowering.compute(f"cvt.{sign}{bits}.{sign}{kind.register_bits} $0, $1;", f"i{bits}", register)
