"""Conversions between element types."""

from __future__ import annotations

from functools import partial

from tilec.dialect.mlir import ir
from tilec.element_types import element_type
from tilec.lowering.gpu_to_ptx.arithmetic.bit_fields import record_resized
from tilec.lowering.gpu_to_ptx.arithmetic.float_conversion import converted_float, converted_floats, rounded_to_odd
from tilec.lowering.gpu_to_ptx.arithmetic.floats_of_bits import floats_of_bits, record_bounds
from tilec.lowering.gpu_to_ptx.arithmetic.words_of_halves import extended_bytes
from tilec.lowering.gpu_to_ptx.registers.elements import ELEMENTS, PtxElement, element
from tilec.lowering.gpu_to_ptx.registers.elementwise import Column, each, each_distinct, in_halves, instruction
from tilec.lowering.gpu_to_ptx.registers.literals import literal
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.gpu_to_ptx.registers.packed_registers import extended, halves_of, lowest_bit, widened

# cvt to pairs of 16-bit floats, the first source in the upper half (PTX ISA 9.7.9.22).
_PAIRED = {"f16": "cvt.rn.f16x2.f32", "bf16": "cvt.rn.bf16x2.f32"}
# Floats that cvt converts to and from integers.
_READABLE = ("f16", "f32", "f64")
# The bits of the widest integers whose values a float has, and cvt reads.
_EXACT_BITS = {"f16": 8, "f32": 16}


def _types(operation: ir.Operation) -> tuple[PtxElement, PtxElement]:
    return element(operation.operands[0]), element(operation.results[0])


@lowers("arith.extf")
def extf(lowering: Lowering, operation: ir.Operation) -> None:
    _convert_floats(lowering, operation, "rn")


@lowers("arith.truncf")
def truncf(lowering: Lowering, operation: ir.Operation) -> None:
    """Converts f32 to f16 and bf16 in pairs of neighbouring registers."""
    source, target = _types(operation)
    registers = lowering.get(operation.operands[0])
    if source.register == "f32" and target.name in _PAIRED and len(registers) > 1:
        lowering.set(operation.results[0], _narrow_pairs(lowering, _PAIRED[target.name], registers))
    else:
        _convert_floats(lowering, operation, "rn")


def _convert_floats(lowering: Lowering, operation: ir.Operation, mode: str) -> None:
    source, target = _types(operation)
    each_distinct(
        lowering,
        operation,
        lambda columns: converted_floats(lowering, source, target, mode, [register for (register,) in columns]),
    )


def _narrow_pairs(lowering: Lowering, name: str, registers: list[ir.Value]) -> list[ir.Value]:
    """Converts pairs of f32 and records the packed registers for users of both halves."""
    done: dict[tuple[ir.Value, ir.Value], tuple[ir.Value, ...]] = {}
    narrowed: list[ir.Value] = []
    for low, high in zip(registers[0::2], registers[1::2], strict=True):
        if (low, high) not in done:
            packed = lowering.compute(f"{name} $0, $1, $2;", "i32", high, low)
            done[low, high] = halves_of(lowering, packed)
        narrowed.extend(done[low, high])
    return narrowed


@lowers("arith.sitofp", "arith.uitofp")
def integer_to_float(lowering: Lowering, operation: ir.Operation) -> None:
    """An i1 that is true converts to 1 (unsigned) or -1 (signed)."""
    source, target = _types(operation)
    signed = operation.name == "arith.sitofp"
    if source.is_predicate:
        one = -1.0 if signed else 1.0
        values = [lowering.constant(target, value) for value in (_at_least_zero(target, one), 0.0)]
        text = f"selp.{target.register_suffix} $0, $1, $2, $3;"
        each(lowering, operation, lambda a: lowering.compute(text, target.register, *values, a))
        return
    registers = lowering.get(operation.operands[0])
    found = floats_of_bits(lowering, source, target, signed, registers)
    if found is not None:
        lowering.set(operation.results[0], found)
    elif target.name not in _READABLE and source.bits <= _EXACT_BITS["f32"]:
        each_distinct(lowering, operation, lambda columns: _rounded_once(lowering, source, target, signed, columns))
    else:
        each(lowering, operation, lambda a: _converted_integer(lowering, source, target, signed, a))
    record_bounds(lowering, source, signed, registers, lowering.get(operation.results[0]))


def _rounded_once(
    lowering: Lowering, source: PtxElement, target: PtxElement, signed: bool, columns: list[Column]
) -> list[ir.Value]:
    """Converts integers through a float that has all of them: f16 on the way to 8 bits, if it does, else f32."""
    registers = [register for (register,) in columns]
    has_all = source.bits <= _EXACT_BITS["f16"] and target.bits < ELEMENTS["f16"].bits
    between = ELEMENTS["f16" if has_all else "f32"]
    exact = floats_of_bits(lowering, source, between, signed, registers)
    if exact is None:
        exact = [_converted_integer(lowering, source, between, signed, register) for register in registers]
    if target.name in _PAIRED and len(exact) % 2 == 0:
        return _narrow_pairs(lowering, _PAIRED[target.name], exact)
    return converted_floats(lowering, between, target, "rn", exact)


def _at_least_zero(target: PtxElement, value: float) -> float:
    """A negative value is zero in a type without sign."""
    form = element_type(target.name).float_format
    return value if form is None or form.has_sign else max(value, 0.0)


def _converted_integer(
    lowering: Lowering, source: PtxElement, target: PtxElement, signed: bool, a: ir.Value
) -> ir.Value:
    """Converts through f64 if cvt has no such target type; 64-bit integers are rounded to odd first."""
    sign = "s" if signed else "u"
    a = extended(lowering, source, signed, a)
    if target.name in _READABLE:
        return lowering.compute(f"cvt.rn.{target.suffix}.{sign}{source.register_bits} $0, $1;", target.register, a)
    if source.bits == 64:
        made = rounded_to_odd(lowering, f"f64.{sign}64", f"cvt.rzi.{sign}64.f64", "s64", a)
    else:
        made = lowering.compute(f"cvt.rn.f64.{sign}{source.register_bits} $0, $1;", "f64", a)
    return converted_float(lowering, ELEMENTS["f64"], target, "rn", made)


@lowers("arith.fptosi", "arith.fptoui")
def float_to_integer(lowering: Lowering, operation: ir.Operation) -> None:
    """Rounds toward zero; PTX clamps values out of range. Conversion to i1 compares with zero."""
    source, target = _types(operation)
    signed = operation.name == "arith.fptosi"
    if target.is_predicate:
        each(lowering, operation, lambda a: _is_not_zero(lowering, source, a))
    else:
        each(lowering, operation, lambda a: _truncated(lowering, source, target, signed, a)[0])


def _truncated(
    lowering: Lowering, source: PtxElement, target: PtxElement, signed: bool, a: ir.Value
) -> tuple[ir.Value, PtxElement, ir.Value]:
    """The integer, and the float type and register that cvt reads; bf16 and narrower floats convert through f32."""
    readable = source if source.name in _READABLE else ELEMENTS["f32"]
    a = converted_float(lowering, source, readable, "rn", a)
    text = f"cvt.rzi.{'s' if signed else 'u'}{target.bits}.{readable.suffix} $0, $1;"
    return lowering.compute(text, target.register, a), readable, a


def _is_not_zero(lowering: Lowering, source: PtxElement, a: ir.Value) -> ir.Value:
    """Whether a float is not zero; NaN is true."""
    readable = ELEMENTS["f64" if source.name == "f64" else "f32"]
    a = converted_float(lowering, source, readable, "rn", a)
    return lowering.compute(f"setp.neu.{readable.suffix} $0, $1, {literal(readable, 0.0)};", "i1", a)


def _saturating(lowering: Lowering, operation: ir.Operation, modifiers: list[str]) -> None:
    """Clamps, and converts NaN to zero; cvt on f64 or to 64-bit integers converts NaN to the smallest integer."""
    source, target = _types(operation)

    def step(a: ir.Value) -> ir.Value:
        if target.is_predicate:
            return _is_not_zero(lowering, source, a)
        integer, kind, read = _truncated(lowering, source, target, modifiers[0] == "signed", a)
        if kind.name != "f64" and target.bits < 64:
            return integer
        number = lowering.compute(f"setp.num.{kind.suffix} $0, $1, $2;", "i1", read, read)
        return lowering.compute(f"selp.b{target.register_bits} $0, $1, 0, $2;", target.register, integer, number)

    each(lowering, operation, step)


def _code(lowering: Lowering, operation: ir.Operation, _modifiers: list[str]) -> None:
    """The low bits of a register, for a float of fewer bits or as a byte."""
    bits = min(element_type(each.name).value_bits for each in _types(operation))
    each(lowering, operation, instruction(lowering, f"and.b16 $0, $1, {(1 << bits) - 1};", _types(operation)[1]))


def _scale(lowering: Lowering, operation: ir.Operation, modifiers: list[str]) -> None:
    """The product of a float of 8 bits or less, converted to 16 bits, and a factor of 16 bits."""
    source, target = _types(operation)

    def steps(columns: list[Column]) -> list[ir.Value]:
        narrow, factors = zip(*columns, strict=True)
        wide = converted_floats(lowering, source, target, "rn", narrow)
        return in_halves(lowering, target, "mul", modifiers, list(zip(wide, factors, strict=True)))

    each_distinct(lowering, operation, steps)


# Functions of tile_gpu.math that are conversions.
CONVERSIONS = {
    "code": _code,
    "ftof": lambda lowering, operation, modifiers: _convert_floats(lowering, operation, modifiers[0]),
    "ftoi": _saturating,
    "scale": _scale,
}


@lowers("arith.extsi", "arith.extui")
def extend(lowering: Lowering, operation: ir.Operation) -> None:
    source, target = _types(operation)
    signed = operation.name == "arith.extsi"
    if source.is_predicate:
        text = f"selp.b{target.register_bits} $0, {-1 if signed else 1}, 0, $1;"
        each(lowering, operation, instruction(lowering, text, target))
        return
    step = partial(_extended, lowering, source, target, signed)
    if (source.name, target.name) == ("i8", "i16"):
        extended_bytes(lowering, operation, signed, step)
    else:
        each(lowering, operation, step)


def _extended(lowering: Lowering, source: PtxElement, target: PtxElement, signed: bool, a: ir.Value) -> ir.Value:
    known = lowering.number(a)
    if known is not None:
        return lowering.constant(target, known if signed else known % (1 << source.bits))
    made = widened(lowering, source, signed, a, target.register_bits)
    return record_resized(lowering, source, target, signed, a, made)


@lowers("arith.trunci")
def trunci(lowering: Lowering, operation: ir.Operation) -> None:
    source, target = _types(operation)
    if target.is_predicate:
        each(lowering, operation, lambda a: lowest_bit(lowering, source, a))
    elif source.register_bits == target.register_bits:
        each(lowering, operation, lambda a: a)
    else:
        step = instruction(lowering, f"cvt.u{target.register_bits}.u{source.register_bits} $0, $1;", target)
        each(lowering, operation, lambda a: record_resized(lowering, source, target, False, a, step(a)))


@lowers("arith.bitcast")
def bitcast(lowering: Lowering, operation: ir.Operation) -> None:
    source, target = _types(operation)
    if source.register == target.register:
        each(lowering, operation, lambda a: a)
    else:
        each(lowering, operation, instruction(lowering, f"mov.b{target.register_bits} $0, $1;", target))
