"""Floats of at most 8 bits that not every target converts in hardware: to and from f32, in f32 and integers."""

from __future__ import annotations

import math

from tilec.dialect.mlir import ir
from tilec.element_types import EXTENSION_FLOATS, FloatFormat, element_type
from tilec.lowering.gpu_to_ptx.registers.elements import ELEMENTS, PtxElement
from tilec.lowering.gpu_to_ptx.registers.literals import literal
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.packed_registers import halves_of

POWERS = "f8E8M0FNU"
HALVES = "f4E2M1FN"
# Types that no cvt of a target converts, or only that of some targets.
SMALL = (POWERS, HALVES, "fnv8E5M3FNU", *EXTENSION_FLOATS)
_F32_FRACTION_BITS, _F32_BIAS = 23, 127
# The bytes of the floats 0, 0.5, 1, 1.5, 2, 3, 4 and 6, which the codes of f4E2M1FN without sign are: the upper ones of
# each type, in two words, and the lower ones unless all are zero.
_UPPER_BYTES = {"f16": (0x3E3C3800, 0x46444240), "bf16": (0x3F3F3F00, 0x40404040)}
_LOWER_BYTES = {"bf16": (0xC0800000, 0xC0804000)}
_SIGNS_OF_BYTES = 0x80808080
# PTX ISA, lop3: the table of (a & b) | c.
_AND_OR = 0xEA
_NAN = 0xFF


def decoded(lowering: Lowering, source: PtxElement, register: ir.Value) -> ir.Value:
    """The value of a float of 8 bits without sign, or of 6 bits, as f32, exactly."""
    if source.name == POWERS:
        return _power_of_two(lowering, register)
    form = format_of(source)
    up = _F32_FRACTION_BITS - _fraction_bits(form)
    code = lowering.compute("cvt.u32.u8 $0, $1;", "i32", register)
    sign = _sign_bit(source)
    magnitude = lowering.compute(f"and.b32 $0, $1, {sign - 1};", "i32", code) if sign else code
    bits = lowering.compute(f"shl.b32 $0, $1, {up};", "i32", magnitude)
    if sign:
        top = lowering.compute(f"and.b32 $0, $1, {sign};", "i32", code)
        top = lowering.compute(f"shl.b32 $0, $1, {32 - sign.bit_length()};", "i32", top)
        bits = lowering.compute("or.b32 $0, $1, $2;", "i32", bits, top)
    number = lowering.compute("mov.b32 $0, $1;", "f32", bits)
    # The exponent has the bias of the small format, and subnormal numbers are subnormal in f32: the product is exact.
    scale = literal(ELEMENTS["f32"], math.ldexp(1.0, _F32_BIAS - 1 + form.min_exponent))
    value = lowering.compute(f"mul.rn.f32 $0, $1, {scale};", "f32", number)
    if not form.has_nan:
        return value
    is_nan = lowering.compute(f"setp.eq.s32 $0, $1, {_NAN};", "i1", code)
    return lowering.compute("selp.f32 $0, 0f7FFFFFFF, $1, $2;", "f32", value, is_nan)


def encoded(lowering: Lowering, target: PtxElement, mode: str, single: ir.Value) -> ir.Value:
    """The code of an f32 rounded to a small float: `rz` or `rp` to f8E8M0FNU, to the nearest even number else.

    Values beyond the largest become the largest, values below the least the least. NaN becomes NaN, or the largest
    value of a type without NaN.
    """
    if target.name == POWERS:
        return _exponent(lowering, mode, single)
    if target.name == HALVES and lowering.target.converts_small_floats:
        return _byte_of_pair(lowering, "0f00000000", single)
    return _rounded_code(lowering, target, single)


def encoded_pair(lowering: Lowering, low: ir.Value, high: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Two f32 as f4E2M1FN, the halves of a byte, by the conversion of a target with pairs."""
    byte = _byte_of_pair(lowering, "$2", low, high)
    halves = byte, lowering.compute("shr.u16 $0, $1, 4;", "i16", byte)
    lowering.packed_bytes[halves] = byte
    return halves


def decoded_pair(lowering: Lowering, byte: ir.Value) -> tuple[ir.Value, ...]:
    """The values of two f4E2M1FN in a byte as f16."""
    if lowering.target.converts_small_floats:
        text = "{ .reg .b8 %byte; cvt.u8.u16 %byte, $1; cvt.rn.f16x2.e2m1x2 $0, %byte; }"
        both = lowering.compute(text, "i32", byte)
    else:
        both = _moved_pair(lowering, byte)
    return halves_of(lowering, both)


def decoded_word(lowering: Lowering, target: PtxElement, word: ir.Value) -> list[ir.Value]:
    """The values of the eight f4E2M1FN of a word as f16 or bf16, of which four registers have two each.

    PTX ISA, prmt: each digit of the selector is the number of a byte of two words, here the code of an element.
    """
    codes = lowering.compute("and.b32 $0, $1, 0x77777777;", "i32", word)
    halves = codes, lowering.compute("shr.u32 $0, $1, 16;", "i32", codes)
    raised = lowering.compute("shl.b32 $0, $1, 4;", "i32", word)
    made = list[ir.Value]()
    for four, signs in zip(halves, (0x5140, 0x7362), strict=True):
        upper = _looked_up(lowering, _UPPER_BYTES[target.name], four)
        sign = lowering.compute(f"prmt.b32 $0, $1, $2, {signs:#x};", "i32", raised, word)
        upper = lowering.compute(f"lop3.b32 $0, $1, {_SIGNS_OF_BYTES:#x}, $2, {_AND_OR:#x};", "i32", sign, upper)
        if target.name in _LOWER_BYTES:
            words, selectors = (_looked_up(lowering, _LOWER_BYTES[target.name], four), upper), (0x5140, 0x7362)
            made += [lowering.compute(f"prmt.b32 $0, $1, $2, {each:#x};", "i32", *words) for each in selectors]
        else:
            made += [lowering.compute(f"prmt.b32 $0, $1, 0, {each:#x};", "i32", upper) for each in (0x1404, 0x3424)]
    return made


def _looked_up(lowering: Lowering, table: tuple[int, int], codes: ir.Value) -> ir.Value:
    """The bytes of a table of eight with the numbers in the four lowest digits of a register."""
    low, high = table
    return lowering.compute(f"prmt.b32 $0, {low:#x}, {high:#x}, $1;", "i32", codes)


def _moved_pair(lowering: Lowering, byte: ir.Value) -> ir.Value:
    """Signs, exponents and fractions at their bits in two f16, times 2**14, as the bias of an exponent is 1, not 15.

    Subnormal numbers are subnormal in f16, so the product is exact.
    """
    code = lowering.compute("cvt.u32.u16 $0, $1;", "i32", byte)
    second = lowering.compute("shl.b32 $0, $1, 12;", "i32", code)
    both = lowering.compute("or.b32 $0, $1, $2;", "i32", code, second)
    magnitudes = lowering.compute("shl.b32 $0, $1, 9;", "i32", both)
    magnitudes = lowering.compute("and.b32 $0, $1, 0x0E000E00;", "i32", magnitudes)
    signs = lowering.compute("shl.b32 $0, $1, 12;", "i32", both)
    signs = lowering.compute("and.b32 $0, $1, 0x80008000;", "i32", signs)
    numbers = lowering.compute("or.b32 $0, $1, $2;", "i32", magnitudes, signs)
    scale = lowering.b.compute("mov.b32 $0, 0x74007400;", lowering.b.i32)
    return lowering.b.compute("mul.rn.f16x2 $0, $1, $2;", lowering.b.i32, numbers, scale)


def _byte_of_pair(lowering: Lowering, high: str, *singles: ir.Value) -> ir.Value:
    text = f"cvt.rn.satfinite.e2m1x2.f32 %byte, {high}, $1;"
    return lowering.compute(f"{{ .reg .b8 %byte; {text} cvt.u16.u8 $0, %byte; }}", "i16", *singles)


def _power_of_two(lowering: Lowering, register: ir.Value) -> ir.Value:
    """f8E8M0FNU is the exponent field of an f32; 0 is 2**-127, a subnormal f32, and 255 is NaN."""
    code = lowering.compute("cvt.u32.u8 $0, $1;", "i32", register)
    bits = lowering.compute("shl.b32 $0, $1, 23;", "i32", code)
    least = lowering.compute("setp.eq.s32 $0, $1, 0;", "i1", code)
    bits = lowering.compute(f"selp.b32 $0, {1 << 22}, $1, $2;", "i32", bits, least)
    not_a_number = lowering.compute(f"setp.eq.s32 $0, $1, {_NAN};", "i1", code)
    bits = lowering.compute(f"selp.b32 $0, {0x7FFFFFFF}, $1, $2;", "i32", bits, not_a_number)
    return lowering.compute("mov.b32 $0, $1;", "f32", bits)


def _exponent(lowering: Lowering, mode: str, single: ir.Value) -> ir.Value:
    """The exponent of an f32 of at least 2**-127, which a smaller one is replaced by."""
    number = lowering.compute("max.NaN.f32 $0, $1, 0f00400000;", "f32", single)
    if lowering.target.converts_small_floats:
        return lowering.compute(f"cvt.{mode}.satfinite.ue8m0x2.f32 $0, 0f00000000, $1;", "i16", number)
    # Twice the number has the exponent that is the code plus one, and is infinity from the largest code on.
    twice = lowering.compute("add.rn.f32 $0, $1, $2;", "f32", number, number)
    bits = lowering.compute("mov.b32 $0, $1;", "i32", twice)
    if mode == "rp":
        bits = lowering.compute(f"add.s32 $0, $1, {(1 << _F32_FRACTION_BITS) - 1};", "i32", bits)
    field = lowering.compute(f"shr.u32 $0, $1, {_F32_FRACTION_BITS};", "i32", bits)
    code = lowering.compute("add.s32 $0, $1, -1;", "i32", field)
    is_nan = lowering.compute("setp.nan.f32 $0, $1, $2;", "i1", single, single)
    code = lowering.compute(f"selp.b32 $0, {_NAN}, $1, $2;", "i32", code, is_nan)
    return lowering.compute("cvt.u16.u32 $0, $1;", "i16", code)


def _rounded_code(lowering: Lowering, target: PtxElement, single: ir.Value) -> ir.Value:
    """Clamps, and rounds the magnitude as a normal and as a subnormal number; min and max replace NaN by a limit."""
    form, sign = format_of(target), _sign_bit(target)
    largest = literal(ELEMENTS["f32"], form.largest)
    least = literal(ELEMENTS["f32"], -form.largest if sign else 0.0)
    number = lowering.compute(f"min.f32 $0, $1, {largest};", "f32", single)
    number = lowering.compute(f"max.f32 $0, $1, {least};", "f32", number)
    magnitude = lowering.compute("abs.f32 $0, $1;", "f32", number) if sign else number
    is_small = f"setp.lt.f32 $0, $1, {literal(ELEMENTS['f32'], form.smallest_normal)};"
    code = lowering.compute(
        "selp.b32 $0, $1, $2, $3;",
        "i32",
        _subnormal_code(lowering, form, magnitude),
        _normal_code(lowering, form, magnitude),
        lowering.compute(is_small, "i1", magnitude),
    )
    if sign:
        bits = lowering.compute("mov.b32 $0, $1;", "i32", number)
        top = lowering.compute(f"shr.u32 $0, $1, {32 - sign.bit_length()};", "i32", bits)
        top = lowering.compute(f"and.b32 $0, $1, {sign};", "i32", top)
        code = lowering.compute("or.b32 $0, $1, $2;", "i32", code, top)
    if form.has_nan:
        is_nan = lowering.compute("setp.nan.f32 $0, $1, $2;", "i1", single, single)
        code = lowering.compute(f"selp.b32 $0, {_NAN}, $1, $2;", "i32", code, is_nan)
    return lowering.compute("cvt.u16.u32 $0, $1;", "i16", code)


def _subnormal_code(lowering: Lowering, form: FloatFormat, magnitude: ir.Value) -> ir.Value:
    """A sum with the f32 whose last bit is the least subnormal number: its rounding is that to the format."""
    base = math.ldexp(1.0, _F32_FRACTION_BITS + form.min_exponent - _fraction_bits(form))
    total = lowering.compute(f"add.rn.f32 $0, $1, {literal(ELEMENTS['f32'], base)};", "f32", magnitude)
    bits = lowering.compute("mov.b32 $0, $1;", "i32", total)
    return lowering.compute(f"and.b32 $0, $1, {(2 << _fraction_bits(form)) - 1};", "i32", bits)


def _normal_code(lowering: Lowering, form: FloatFormat, magnitude: ir.Value) -> ir.Value:
    """Exponent and fraction with another bias, after adding just less than half a unit, or half to an odd number."""
    dropped = _F32_FRACTION_BITS - _fraction_bits(form)
    bits = lowering.compute("mov.b32 $0, $1;", "i32", magnitude)
    unit = lowering.compute(f"shr.u32 $0, $1, {dropped};", "i32", bits)
    odd = lowering.compute("and.b32 $0, $1, 1;", "i32", unit)
    raised = lowering.compute(f"add.s32 $0, $1, {(1 << dropped - 1) - 1};", "i32", bits)
    raised = lowering.compute("add.s32 $0, $1, $2;", "i32", raised, odd)
    shortened = lowering.compute(f"shr.u32 $0, $1, {dropped};", "i32", raised)
    bias = _F32_BIAS - 1 + form.min_exponent << _fraction_bits(form)
    return lowering.compute(f"sub.s32 $0, $1, {bias};", "i32", shortened)


def format_of(element: PtxElement) -> FloatFormat:
    """The format of a float type."""
    form = element_type(element.name).float_format
    assert form is not None
    return form


def _fraction_bits(form: FloatFormat) -> int:
    return form.precision - 1


def _sign_bit(element: PtxElement) -> int:
    """The sign bit of a code; 0 for a type without sign."""
    return 1 << element_type(element.name).value_bits - 1 if format_of(element).has_sign else 0
