"""Conversion between float types with one rounding, by the shortest sequence of cvt (PTX ISA 9.7.9.22)."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.arithmetic.small_float import (
    HALVES,
    SMALL,
    decoded,
    decoded_pair,
    decoded_word,
    encoded,
    encoded_pair,
    format_of,
)
from tilec.lowering.gpu_to_ptx.arithmetic.words_of_bytes import words_of_halves
from tilec.lowering.gpu_to_ptx.registers.elements import ELEMENTS, PtxElement
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.pack import byte_of
from tilec.lowering.gpu_to_ptx.registers.packed_registers import are_adjacent_bytes, halves_of, joined, unpack

# cvt converts these in pairs, the first source in the upper half, from f32 with saturation and to f16.
_PAIRED_8 = ("f8E4M3FN", "f8E5M2")
_BYTES_OF_A_WORD = 4
# These are converted to f16 in pairs first.
_PAIRED = (HALVES, *_PAIRED_8)


def converted_float(
    lowering: Lowering, source: PtxElement, target: PtxElement, mode: str, register: ir.Value
) -> ir.Value:
    """Converts a float to another float type; `mode` (rn, rz, rm, rp, rna) applies if the conversion rounds."""
    if source == target:
        return register
    name, register = _plain(lowering, source, register)
    mode = _effective_mode(source, target, mode)
    if target.name == name:
        return register
    if target.name in SMALL:
        return encoded(lowering, target, mode, _single(lowering, name, "odd" if mode == "rn" else mode, register))
    if target.name in _PAIRED_8:
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


def converted_floats(
    lowering: Lowering, source: PtxElement, target: PtxElement, mode: str, registers: Sequence[ir.Value]
) -> list[ir.Value]:
    """Converts the registers of a tile; floats of 8 and 4 bits in two neighbouring registers at once where cvt can."""
    if source != target and target.name in _PAIRED_8 and source.name not in _PAIRED and len(registers) > 1:
        return _bytes_of_floats(lowering, source, target, registers)
    in_pairs = source.name in _PAIRED or target.name == HALVES and lowering.target.converts_small_floats
    if source == target or not in_pairs:
        return [converted_float(lowering, source, target, mode, register) for register in registers]
    made: list[ir.Value] = []
    if source.name == HALVES and not lowering.target.converts_small_floats and target.name in ("f16", "bf16"):
        words = words_of_halves(lowering, registers)
        if words is not None:
            packed = [pair for word in words for pair in decoded_word(lowering, target, word)]
            return [half for pair in packed for half in halves_of(lowering, pair)]
    for first in range(0, len(registers), 2):
        pair = registers[first : first + 2]
        made += _converted_pair(lowering, source, target, mode, pair)
    return made


def _bytes_of_floats(
    lowering: Lowering, source: PtxElement, target: PtxElement, registers: Sequence[ir.Value]
) -> list[ir.Value]:
    """Converts to floats of 8 bits in pairs; the bytes of each four registers are those of one word."""
    count = len(registers) - len(registers) % 2
    read = list(zip(registers[0:count:2], registers[1:count:2], strict=True))
    pairs = [_byte_pair(lowering, source, target, *pair) for pair in read]
    words = [joined(lowering, *two) for two in zip(pairs[0::2], pairs[1::2], strict=False)]
    made = unpack(lowering, ELEMENTS["i8"], words, _BYTES_OF_A_WORD * len(words))
    if len(pairs) % 2:
        made += [pairs[-1], lowering.compute("shr.u16 $0, $1, 8;", "i16", pairs[-1])]
    return made + [converted_float(lowering, source, target, "rn", register) for register in registers[count:]]


def _byte_pair(lowering: Lowering, source: PtxElement, target: PtxElement, low: ir.Value, high: ir.Value) -> ir.Value:
    form = f"cvt.rn.satfinite.{target.suffix}x2"
    if source.name == "f16":
        return lowering.compute(f"{form}.f16x2 $0, $1;", "i16", joined(lowering, low, high))
    singles = [_odd_single(lowering, source, register) for register in (high, low)]
    return lowering.compute(f"{form}.f32 $0, $1, $2;", "i16", *singles)


def _converted_pair(
    lowering: Lowering, source: PtxElement, target: PtxElement, mode: str, pair: Sequence[ir.Value]
) -> Sequence[ir.Value]:
    """One or two neighbouring registers, of which the source is in _PAIRED, or the target f4E2M1FN."""
    if source.name not in _PAIRED:
        singles = [_odd_single(lowering, source, register) for register in pair]
        return encoded_pair(lowering, singles[0], singles[-1])[: len(pair)]
    mode = _effective_mode(source, target, mode)
    if source.name == HALVES:
        read = decoded_pair(lowering, byte_of(lowering, source, pair))[: len(pair)]
    elif are_adjacent_bytes(lowering, pair):
        read = halves_of(lowering, _halves_of_bytes(lowering, source, pair[0]))
    else:
        read = tuple(_plain(lowering, source, register)[1] for register in pair)
    if target.name == "bf16" and len(pair) > 1:
        low, high = (_single(lowering, "f16", mode, register) for register in read)
        return halves_of(lowering, lowering.compute("cvt.rn.bf16x2.f32 $0, $1, $2;", "i32", high, low))
    return [converted_float(lowering, ELEMENTS["f16"], target, mode, register) for register in read]


def _halves_of_bytes(lowering: Lowering, source: PtxElement, register: ir.Value) -> ir.Value:
    """The f16 of both bytes of a register of 16 bits."""
    return lowering.compute(f"cvt.rn.f16x2.{source.suffix}x2 $0, $1;", "i32", register)


def _plain(lowering: Lowering, source: PtxElement, register: ir.Value) -> tuple[str, ir.Value]:
    """A source type and register that cvt accepts: f16 or f32 for narrower floats, f32 for tf32."""
    if source.name == HALVES:
        return "f16", decoded_pair(lowering, register)[0]
    if source.name in SMALL:
        return "f32", decoded(lowering, source, register)
    if source.name in _PAIRED_8:
        wide = _halves_of_bytes(lowering, source, register)
        return "f16", lowering.compute_all("mov.b32 {$0, $1}, $2;", ["i16", "i16"], wide)[0]
    return ("f32" if source.name == "tf32" else source.name), register


def _odd_single(lowering: Lowering, source: PtxElement, register: ir.Value) -> ir.Value:
    """A float as f32, rounded to odd if it is wider."""
    name, plain = _plain(lowering, source, register)
    return _single(lowering, name, "odd", plain)


def _effective_mode(source: PtxElement, target: PtxElement, mode: str) -> str:
    """Where every value of the source is one of the target, all modes are equal, and cvt has the nearest one."""
    return "rn" if format_of(target).contains(format_of(source)) else mode


def _single(lowering: Lowering, name: str, mode: str, register: ir.Value) -> ir.Value:
    """Converts to f32: exact from narrower floats; f64 is rounded, in mode `odd` so that a second rounding is exact."""
    if name == "f32":
        return register
    if name != "f64":
        return lowering.compute(f"cvt.f32.{name} $0, $1;", "f32", register)
    if mode != "odd":
        return lowering.compute(f"cvt.{mode}.f32.f64 $0, $1;", "f32", register)
    return rounded_to_odd(lowering, "f32.f64", "cvt.f64.f32", "f64", register)


def rounded_to_odd(lowering: Lowering, types: str, back: str, compared: str, register: ir.Value) -> ir.Value:
    """A number of 64 bits as a float, rounded to odd: toward zero, with the last bit set if inexact.

    `types` are those of the float and of the number; `back` converts the float to the type of the number, in which
    numbers are `compared`.
    """
    kind, bits = types[:3], types[1:3]
    toward_zero = lowering.compute(f"cvt.rz.{types} $0, $1;", kind, register)
    again = lowering.compute(f"{back} $0, $1;", str(register.type), toward_zero)
    inexact = lowering.compute(f"setp.ne.{compared} $0, $1, $2;", "i1", again, register)
    code = lowering.compute(f"mov.b{bits} $0, $1;", f"i{bits}", toward_zero)
    sticky = lowering.compute(f"or.b{bits} $0, $1, 1;", f"i{bits}", code)
    odd = lowering.compute(f"selp.b{bits} $0, $1, $2, $3;", f"i{bits}", sticky, code, inexact)
    return lowering.compute(f"mov.b{bits} $0, $1;", kind, odd)


def _tf32(lowering: Lowering, name: str, mode: str, register: ir.Value) -> ir.Value:
    """A tf32 is an f32 whose last 13 bits are zero, which holds for every 16-bit float."""
    single = _single(lowering, name, "odd", register)
    if ELEMENTS[name].bits == 16:
        return single
    bits = lowering.compute(f"cvt.{mode}.tf32.f32 $0, $1;", "i32", single)
    return lowering.compute("mov.b32 $0, $1;", "f32", bits)
