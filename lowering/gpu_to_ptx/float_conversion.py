"""Conversion between float types with one rounding, by the shortest sequence of cvt (PTX ISA 9.7.9.22)."""

from __future__ import annotations

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.errors import UnsupportedError
from tilec.lowering.gpu_to_ptx.elements import ELEMENTS, PtxElement
from tilec.lowering.gpu_to_ptx.lowering import Lowering

# cvt converts these in pairs, the first source in the upper half, from f32 with saturation and to f16.
_PAIRED_8 = ("f8E4M3FN", "f8E5M2")

# Types whose values no instruction of both targets converts.
_UNCONVERTED = ("f4E2M1FN", "fnv8E5M3FNU")


def converted_float(
    lowering: Lowering, source: PtxElement, target: PtxElement, mode: str, register: ir.Value
) -> ir.Value:
    """Converts a float to another float type; `mode` (rn, rz, rm, rp, rna) applies if the conversion rounds."""
    if {source.name, target.name} & set(_UNCONVERTED):
        message = f"conversion from {source.name} to {target.name} has no lowering to PTX"
        raise UnsupportedError(message, source_location(lowering.b.location))
    name, register = _plain(lowering, source, register)
    # Values of these types are exact in all wider types, so every mode is equivalent where cvt requires one.
    mode = "rn" if source.name in _PAIRED_8 else mode
    if target.name == name:
        return register
    if target.bits == 8:
        single = _single(lowering, name, "odd", register)
        return lowering.compute(f"cvt.rn.satfinite.{target.suffix}x2.f32 $0, 0f00000000, $1;", "i16", single)
    if target.name == "tf32":
        return _tf32(lowering, name, mode, register)
    if target.name == "bf16" and name == "f64":
        name, register = "f32", _single(lowering, name, "odd" if mode == "rn" else mode, register)
    if "bf16" in (name, target.name) and "f32" not in (name, target.name) or ELEMENTS[name].bits == target.bits:
        name, register = "f32", _single(lowering, name, mode, register)
    rounding = f"{mode}." if ELEMENTS[name].bits > target.bits else ""
    return lowering.compute(f"cvt.{rounding}{target.suffix}.{name} $0, $1;", target.register, register)


def _plain(lowering: Lowering, source: PtxElement, register: ir.Value) -> tuple[str, ir.Value]:
    """A source type and register that cvt accepts: f16 for 8-bit floats, f32 for f8E8M0FNU and tf32."""
    if source.name == "f8E8M0FNU":
        return "f32", _power_of_two(lowering, register)
    if source.bits == 8:
        wide = lowering.compute(f"cvt.rn.f16x2.{source.suffix}x2 $0, $1;", "i32", register)
        return "f16", lowering.compute_all("mov.b32 {$0, $1}, $2;", ["i16", "i16"], wide)[0]
    return ("f32" if source.name == "tf32" else source.name), register


def _power_of_two(lowering: Lowering, register: ir.Value) -> ir.Value:
    """f8E8M0FNU is the exponent field of an f32; 0 is 2**-127, a subnormal f32, and 255 is NaN."""
    code = lowering.compute("cvt.u32.u8 $0, $1;", "i32", register)
    bits = lowering.compute("shl.b32 $0, $1, 23;", "i32", code)
    least = lowering.compute("setp.eq.s32 $0, $1, 0;", "i1", code)
    bits = lowering.compute(f"selp.b32 $0, {1 << 22}, $1, $2;", "i32", bits, least)
    not_a_number = lowering.compute("setp.eq.s32 $0, $1, 255;", "i1", code)
    bits = lowering.compute(f"selp.b32 $0, {0x7FFFFFFF}, $1, $2;", "i32", bits, not_a_number)
    return lowering.compute("mov.b32 $0, $1;", "f32", bits)


def _single(lowering: Lowering, name: str, mode: str, register: ir.Value) -> ir.Value:
    """Converts to f32: exact from narrower floats; f64 is rounded, in mode `odd` so that a second rounding is exact."""
    if name == "f32":
        return register
    if name != "f64":
        return lowering.compute(f"cvt.f32.{name} $0, $1;", "f32", register)
    if mode != "odd":
        return lowering.compute(f"cvt.{mode}.f32.f64 $0, $1;", "f32", register)
    return _rounded_to_odd(lowering, register)


def _rounded_to_odd(lowering: Lowering, register: ir.Value) -> ir.Value:
    """f64 to f32, rounded to odd: toward zero, with the last bit set if inexact."""
    toward_zero = lowering.compute("cvt.rz.f32.f64 $0, $1;", "f32", register)
    back = lowering.compute("cvt.f64.f32 $0, $1;", "f64", toward_zero)
    inexact = lowering.compute("setp.ne.f64 $0, $1, $2;", "i1", back, register)
    bits = lowering.compute("mov.b32 $0, $1;", "i32", toward_zero)
    sticky = lowering.compute("or.b32 $0, $1, 1;", "i32", bits)
    odd = lowering.compute("selp.b32 $0, $1, $2, $3;", "i32", sticky, bits, inexact)
    return lowering.compute("mov.b32 $0, $1;", "f32", odd)


def _tf32(lowering: Lowering, name: str, mode: str, register: ir.Value) -> ir.Value:
    """A tf32 is an f32 whose last 13 bits are zero, which holds for every 16-bit float."""
    single = _single(lowering, name, "odd", register)
    if ELEMENTS[name].bits == 16:
        return single
    bits = lowering.compute(f"cvt.{mode}.tf32.f32 $0, $1;", "i32", single)
    return lowering.compute("mov.b32 $0, $1;", "f32", bits)
