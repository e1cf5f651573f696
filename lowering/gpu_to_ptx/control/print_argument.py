"""Numbers as arguments of vprintf, and the directives that print them."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.print_format import Directive
from tilec.lowering.gpu_to_ptx.arithmetic.float_conversion import converted_float
from tilec.lowering.gpu_to_ptx.registers.elements import ELEMENTS, PtxElement
from tilec.lowering.gpu_to_ptx.registers.extension import widened
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering

_NAN = "0d7FF8000000000000"


def device_directive(directive: Directive, kind: PtxElement) -> str:
    """The directive of vprintf that prints an argument of print_argument(); addresses are hexadecimal after `0x`.

    CUDA C++ programming guide, "Format Specifiers": vprintf has no length `hh`, so the argument is truncated instead.
    """
    length = "ll" if _is_long(directive, kind) and directive.conversion not in "aAeEfFgGc" else ""
    if directive.conversion == "p":
        return f"0x%{length}x"
    conversion = "d" if directive.conversion == "s" else directive.conversion
    return f"%{directive.flags}{directive.width}{directive.precision}{length}{conversion}"


def print_argument(lowering: Lowering, directive: Directive, kind: PtxElement, register: ir.Value) -> ir.Value:
    """An i32, i64 or f64 register with the number that the directive prints."""
    if kind.is_float:
        return _without_sign_of_nan(lowering, converted_float(lowering, kind, ELEMENTS["f64"], "rn", register))
    # C promotes narrower integers to int with their sign; i1 is unsigned.
    signed = not kind.is_predicate
    number = widened(lowering, kind, signed, register, max(32, kind.register_bits))
    if directive.short_bits is not None:
        number = _shortened(lowering, number, directive)
    if directive.conversion in "aAeEfFgG":
        return lowering.compute(f"cvt.rn.f64.s{number.type.width} $0, $1;", "f64", number)
    return _low_half(lowering, number) if directive.conversion == "c" else number


def _is_long(directive: Directive, kind: PtxElement) -> bool:
    return kind.bits == 64 and directive.short_bits is None


def _shortened(lowering: Lowering, number: ir.Value, directive: Directive) -> ir.Value:
    """The low bits of an i32 or i64 as an i32, with their sign if the directive prints one."""
    sign = "s" if directive.conversion in "di" else "u"
    text = f"cvt.{sign}32.{sign}{directive.short_bits} $0, $1;"
    return lowering.compute(text, "i32", _low_half(lowering, number))


def _low_half(lowering: Lowering, number: ir.Value) -> ir.Value:
    return lowering.compute("cvt.u32.u64 $0, $1;", "i32", number) if number.type.width == 64 else number


def _without_sign_of_nan(lowering: Lowering, number: ir.Value) -> ir.Value:
    """A NaN without sign, as in the interpreter."""
    is_nan = lowering.compute("testp.notanumber.f64 $0, $1;", "i1", number)
    return lowering.compute(f"selp.f64 $0, {_NAN}, $1, $2;", "f64", number, is_nan)
