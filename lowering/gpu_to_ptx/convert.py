"""Conversions between element types."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.elements import Element
from tilec.lowering.gpu_to_ptx.elementwise import each, instruction
from tilec.lowering.gpu_to_ptx.extension import extended, widened
from tilec.lowering.gpu_to_ptx.lowers import Lowering, element
from tilec.lowering.gpu_to_ptx.registry import lowers

# Narrow floats that cvt makes two at a time, the first source in the upper half (PTX ISA 9.7.9.22).
_PAIRED = {"f16": "cvt.rn.f16x2.f32", "bf16": "cvt.rn.bf16x2.f32"}
_PAIRED_8 = {"f8E4M3FN": "cvt.rn.satfinite.e4m3x2.f32", "f8E5M2": "cvt.rn.satfinite.e5m2x2.f32"}
_ROUNDINGS = {0: "rn", 1: "rm", 2: "rp", 3: "rz"}


@lowers("arith.extf")
def extf(lowering: Lowering, operation: ir.Operation) -> None:
    source, target = element(operation.operands[0]), element(operation.results[0])
    each(lowering, operation, lambda a: _widen_float(lowering, source, target, a))


def _widen_float(lowering: Lowering, source: Element, target: Element, a: ir.Value) -> ir.Value:
    """To f32 in one step (8-bit floats by way of f16), then on."""
    if source.name == "tf32":
        return a if target.name == "f32" else lowering.compute("cvt.f64.f32 $0, $1;", "f64", a)
    if source.bits == 8:
        wide = lowering.compute(f"cvt.rn.f16x2.{source.suffix}x2 $0, $1;", "i32", a)
        a = lowering.compute_all("mov.b32 {$0, $1}, $2;", ["i16", "i16"], wide)[0]
        source_suffix = "f16"
    else:
        source_suffix = source.suffix
    if target.name == source_suffix:
        return a
    if source_suffix == "bf16" or target.bits == 16:
        a = lowering.compute(f"cvt.f32.{source_suffix} $0, $1;", "f32", a)
        source_suffix = "f32"
    if target.name in (source_suffix, "tf32"):
        return a
    rounding = "" if target.bits > 16 else "rn."
    return lowering.compute(f"cvt.{rounding}{target.suffix}.{source_suffix} $0, $1;", target.register, a)


@lowers("arith.truncf")
def truncf(lowering: Lowering, operation: ir.Operation) -> None:
    """To f16 and bf16 two neighbouring registers at once; each element is rounded once, to nearest even by default."""
    source, target = element(operation.operands[0]), element(operation.results[0])
    rounding = _rounding(operation)
    registers = lowering.get(operation.operands[0])
    if source.name in ("f32", "tf32") and target.name in _PAIRED and rounding == "rn" and len(registers) > 1:
        lowering.set(operation.results[0], _narrow_pairs(lowering, _PAIRED[target.name], registers))
    elif target.bits == 8:
        each(lowering, operation, lambda a: _narrow_to_8(lowering, source, target, a))
    elif target.name == "tf32":
        each(lowering, operation, lambda a: _to_tf32(lowering, source, a))
    elif source.name == "f64" and target.name == "bf16":
        each(lowering, operation, lambda a: _f64_to_bf16(lowering, a))
    else:
        suffix = "f32" if source.name == "tf32" else source.suffix
        each(lowering, operation, instruction(lowering, f"cvt.{rounding}.{target.suffix}.{suffix} $0, $1;", target))


def _rounding(operation: ir.Operation) -> str:
    if "roundingmode" not in operation.attributes:
        return "rn"
    return _ROUNDINGS[operation.attributes["roundingmode"].value]


def _narrow_pairs(lowering: Lowering, name: str, registers: list[ir.Value]) -> list[ir.Value]:
    done: dict[tuple[ir.Value, ir.Value], tuple[ir.Value, ...]] = {}
    narrowed: list[ir.Value] = []
    for pair in zip(registers[0::2], registers[1::2], strict=True):
        if pair not in done:
            done[pair] = narrowed_pair(lowering, name, *pair)
        narrowed.extend(done[pair])
    return narrowed


def narrowed_pair(lowering: Lowering, name: str, low: ir.Value, high: ir.Value) -> tuple[ir.Value, ...]:
    """Two f32 as 16-bit floats; the packed register is remembered for whoever needs both."""
    word = lowering.compute(f"{name} $0, $1, $2;", "i32", high, low)
    halves = lowering.compute_all("mov.b32 {$0, $1}, $2;", ["i16", "i16"], word)
    lowering.packed[halves] = word
    return halves


def _narrow_to_8(lowering: Lowering, source: Element, target: Element, a: ir.Value) -> ir.Value:
    if source.name == "f64":
        raise ValueError("f64 does not convert to an 8-bit float with one rounding")
    if source.bits == 16:
        a = lowering.compute(f"cvt.f32.{source.suffix} $0, $1;", "f32", a)
    return lowering.compute(f"{_PAIRED_8[target.name]} $0, 0f00000000, $1;", "i16", a)


def _to_tf32(lowering: Lowering, source: Element, a: ir.Value) -> ir.Value:
    """PTX ISA 9.7.9.22: tf32 rounds to nearest, ties to even, by .rn on sm_90 and later."""
    if source.bits == 16:
        return lowering.compute(f"cvt.f32.{source.suffix} $0, $1;", "f32", a)
    if source.name == "f64":
        a = lowering.compute("cvt.rn.f32.f64 $0, $1;", "f32", a)
    word = lowering.compute("cvt.rn.tf32.f32 $0, $1;", "i32", a)
    return lowering.compute("mov.b32 $0, $1;", "f32", word)


def _f64_to_bf16(lowering: Lowering, a: ir.Value) -> ir.Value:
    """By way of f32 rounded to odd: toward zero, with the last bit set where that was not exact."""
    toward_zero = lowering.compute("cvt.rz.f32.f64 $0, $1;", "f32", a)
    back = lowering.compute("cvt.f64.f32 $0, $1;", "f64", toward_zero)
    inexact = lowering.compute("setp.ne.f64 $0, $1, $2;", "i1", back, a)
    bits = lowering.compute("mov.b32 $0, $1;", "i32", toward_zero)
    sticky = lowering.compute("or.b32 $0, $1, 1;", "i32", bits)
    odd = lowering.compute("selp.b32 $0, $1, $2, $3;", "i32", sticky, bits, inexact)
    return lowering.compute("cvt.rn.bf16.f32 $0, $1;", "i16", lowering.compute("mov.b32 $0, $1;", "f32", odd))


@lowers("arith.sitofp", "arith.uitofp")
def integer_to_float(lowering: Lowering, operation: ir.Operation) -> None:
    source, target = element(operation.operands[0]), element(operation.results[0])
    signed = operation.name == "arith.sitofp"
    if source.kind == "predicate":
        one = {True: -1.0, False: 1.0}[signed]
        values = [lowering.constant(target, value) for value in (one, 0.0)]
        suffix = target.register if target.register[0] == "f" else "b16"
        text = f"selp.{suffix} $0, $1, $2, $3;"
        each(lowering, operation, lambda a: lowering.compute(text, target.register, *values, a))
        return
    text = f"cvt.rn.{'f32' if target.name == 'tf32' else target.suffix}.{'s' if signed else 'u'}{source.register_bits} $0, $1;"
    each(
        lowering,
        operation,
        lambda a: lowering.compute(text, target.register, extended(lowering, source, signed, a)),
    )


@lowers("arith.fptosi", "arith.fptoui")
def float_to_integer(lowering: Lowering, operation: ir.Operation) -> None:
    """Toward zero; PTX clamps what is out of range. bf16 goes by way of f32, 8-bit results by way of 16 bits."""
    source, target = element(operation.operands[0]), element(operation.results[0])
    sign = "s" if operation.name == "arith.fptosi" else "u"

    def step(a: ir.Value) -> ir.Value:
        suffix = source.suffix
        if source.bits == 8 or suffix == "bf16":
            a, suffix = _to_f32(lowering, source, a), "f32"
        suffix = "f32" if suffix == "tf32" else suffix
        if target.kind == "predicate":
            word = lowering.compute(f"cvt.rzi.s32.{suffix} $0, $1;", "i32", a)
            return lowering.compute("setp.ne.s32 $0, $1, 0;", "i1", word)
        return lowering.compute(f"cvt.rzi.{sign}{target.register_bits}.{suffix} $0, $1;", target.register, a)

    each(lowering, operation, step)


def _to_f32(lowering: Lowering, source: Element, a: ir.Value) -> ir.Value:
    from_8 = source.bits == 8
    if from_8:
        wide = lowering.compute(f"cvt.rn.f16x2.{source.suffix}x2 $0, $1;", "i32", a)
        a = lowering.compute_all("mov.b32 {$0, $1}, $2;", ["i16", "i16"], wide)[0]
    return lowering.compute(f"cvt.f32.{'f16' if from_8 else source.suffix} $0, $1;", "f32", a)


@lowers("arith.extsi", "arith.extui")
def extend(lowering: Lowering, operation: ir.Operation) -> None:
    source, target = element(operation.operands[0]), element(operation.results[0])
    signed = operation.name == "arith.extsi"
    if source.kind == "predicate":
        text = f"selp.b{target.register_bits} $0, {-1 if signed else 1}, 0, $1;"
        each(lowering, operation, instruction(lowering, text, target))
        return
    each(lowering, operation, lambda a: _extend_known(lowering, source, target, signed, a))


def _extend_known(lowering: Lowering, source: Element, target: Element, signed: bool, a: ir.Value) -> ir.Value:
    known = lowering.number(a)
    if known is not None:
        return lowering.constant(target, known if signed else known % (1 << source.bits))
    return widened(lowering, source, signed, a, target.register_bits)


@lowers("arith.trunci")
def trunci(lowering: Lowering, operation: ir.Operation) -> None:
    source, target = element(operation.operands[0]), element(operation.results[0])
    if target.kind == "predicate":
        bits = source.register_bits

        def lowest(a: ir.Value) -> ir.Value:
            bit = lowering.compute(f"and.b{bits} $0, $1, 1;", source.register, a)
            return lowering.compute(f"setp.ne.s{bits} $0, $1, 0;", "i1", bit)

        each(lowering, operation, lowest)
    elif source.register_bits == target.register_bits:
        each(lowering, operation, lambda a: a)
    else:
        text = f"cvt.u{target.register_bits}.u{source.register_bits} $0, $1;"
        each(lowering, operation, instruction(lowering, text, target))


@lowers("arith.bitcast")
def bitcast(lowering: Lowering, operation: ir.Operation) -> None:
    source, target = element(operation.operands[0]), element(operation.results[0])
    if source.register == target.register:
        each(lowering, operation, lambda a: a)
    else:
        each(lowering, operation, instruction(lowering, f"mov.b{target.register_bits} $0, $1;", target))
