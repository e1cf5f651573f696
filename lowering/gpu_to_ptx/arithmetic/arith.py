"""arith on scalars and register tiles: each operation rounds once; explicit .rn prevents contraction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tilec.dialect.mlir import ir
from tilec.dialect.upstream_predicates import predicate_of
from tilec.lowering.emitter import number_of_all
from tilec.lowering.gpu_to_ptx.arithmetic.bit_fields import record_bits
from tilec.lowering.gpu_to_ptx.arithmetic.byte_masks import compare_bytes, select_words
from tilec.lowering.gpu_to_ptx.arithmetic.floats_of_bits import difference_of_bits
from tilec.lowering.gpu_to_ptx.arithmetic.position_masks import by_words, combine_masks, compare_positions, test_again
from tilec.lowering.gpu_to_ptx.arithmetic.words_of_bytes import bits_by_words
from tilec.lowering.gpu_to_ptx.arithmetic.words_of_halves import halves_by_words
from tilec.lowering.gpu_to_ptx.memory.access import Access, load, widest
from tilec.lowering.gpu_to_ptx.memory.shared_access import row_major
from tilec.lowering.gpu_to_ptx.registers.declarations import constant_address
from tilec.lowering.gpu_to_ptx.registers.elements import ELEMENTS, PtxElement, element, layout_of
from tilec.lowering.gpu_to_ptx.registers.elementwise import Column, Step, each, elementwise_pairs, instruction, packs
from tilec.lowering.gpu_to_ptx.registers.linear_index import image_bits, linear_index, split_constant
from tilec.lowering.gpu_to_ptx.registers.literals import element_codes
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.gpu_to_ptx.registers.packed_registers import extended, lowest_bit
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.vectors import register_vector, vector_groups

_FLOAT_BINARY = {
    "arith.addf": "add.rn",
    "arith.subf": "sub.rn",
    "arith.mulf": "mul.rn",
    "arith.maximumf": "max.NaN",
    "arith.minimumf": "min.NaN",
    "arith.maxnumf": "max",
    "arith.minnumf": "min",
}
# The setp comparisons of the predicates of arith.cmpf; "false" and "true" compare nothing.
_FLOAT_COMPARISONS = {
    "oeq": "eq",
    "ogt": "gt",
    "oge": "ge",
    "olt": "lt",
    "ole": "le",
    "one": "ne",
    "ord": "num",
    "ueq": "equ",
    "ugt": "gtu",
    "uge": "geu",
    "ult": "ltu",
    "ule": "leu",
    "une": "neu",
    "uno": "nan",
}
# The setp comparisons of the predicates of arith.cmpi, and whether the operands are signed.
_INTEGER_COMPARISONS = {
    "eq": ("eq", True),
    "ne": ("ne", True),
    "slt": ("lt", True),
    "sle": ("le", True),
    "sgt": ("gt", True),
    "sge": ("ge", True),
    "ult": ("lt", False),
    "ule": ("le", False),
    "ugt": ("gt", False),
    "uge": ("ge", False),
}
_BITWISE = {"arith.andi": "and", "arith.ori": "or", "arith.xori": "xor"}
# Instructions, and whether their operands are signed; 8 bits are extended first.
_EXTREMES = {
    "arith.maxsi": ("max", True),
    "arith.minsi": ("min", True),
    "arith.maxui": ("max", False),
    "arith.minui": ("min", False),
}


@lowers("arith.constant")
def constant(lowering: Lowering, operation: ir.Operation) -> None:
    result, value = operation.results[0], operation.attributes["value"]
    if isinstance(result.type, ir.RankedTensorType):
        dense = ir.DenseElementsAttr(value)
        if not dense.is_splat:
            lowering.set(result, _dense_constant(lowering, dense, element(result), layout_of(result.type)))
            return
        value = dense.get_splat_value()
    lowering.set(result, [lowering.constant(element(result), value.value)] * layout_of(result.type).register_count)


def _dense_constant(
    lowering: Lowering, elements: ir.DenseElementsAttr, kind: PtxElement, layout: LinearLayout
) -> list[ir.Value]:
    """The registers of a constant tile of different elements.

    They are immediates if all threads hold the same ones, else loads of an array.
    """
    codes = element_codes(elements, kind)
    held = _held_by_all(codes, layout)
    if held is not None:
        return [lowering.constant_of_bits(kind, code) for code in held]
    return _loaded(lowering, codes.tobytes(), kind, layout)


def _held_by_all(codes: np.ndarray, layout: LinearLayout) -> list[int] | None:
    """The bits in each register if they are the same in every thread, else None."""
    thread = layout.thread_matrix(np.arange(1 << len(layout.lane + layout.warp)))
    held = []
    for image in layout.register_images:
        found = codes[thread ^ image]
        if (found != found[0]).any():
            return None
        held.append(int(found[0]))
    return held


def _loaded(lowering: Lowering, content: bytes, kind: PtxElement, layout: LinearLayout) -> list[ir.Value]:
    """Loads successive elements together; registers that hold the same element share a load."""
    offsets = row_major(layout.size, kind)
    registers, threads = offsets @ layout.register_matrix, offsets @ layout.thread_matrix
    limit = widest(kind)
    bits = register_vector(registers.columns, threads.columns, kind.bytes, limit)
    base = constant_address(lowering, "constant", content, min(16, kind.bytes * limit))
    of_thread = linear_index(lowering, threads, lowering.thread)
    found: dict[int, ir.Value] = {}
    for group in vector_groups(layout.register_count, bits):
        if layout.representatives[group[0]] == group[0]:
            changed, added = split_constant(registers(group[0]), image_bits(threads))
            one = Access("global.nc", _address(lowering, base, of_thread, changed), added)
            loaded = load(lowering, one, kind, len(group))
            found.update(zip(group, loaded, strict=True))
    return [found[register] for register in layout.representatives]


def _address(lowering: Lowering, base: ir.Value, of_thread: ir.Value | None, changed: int) -> ir.Value:
    """base + (the thread's part ^ changed)."""
    if of_thread is None:
        return base
    offset = lowering.compute(f"xor.b32 $0, $1, {changed};", "i32", of_thread) if changed else of_thread
    offset = lowering.compute("cvt.u64.u32 $0, $1;", "i64", offset)
    return lowering.compute("add.s64 $0, $1, $2;", "i64", base, offset)


@lowers(*_FLOAT_BINARY)
def float_binary(lowering: Lowering, operation: ir.Operation) -> None:
    kind, name = element(operation.results[0]), _FLOAT_BINARY[operation.name]
    function, *modifiers = name.split(".")
    if kind.name == "f64" and name.endswith(".NaN"):
        each(lowering, operation, lambda a, b: _extremum_f64(lowering, function, a, b))
    elif packs(lowering, kind, function, modifiers):
        known = partial(difference_of_bits, lowering, kind) if function == "sub" and kind.bits == 16 else None
        elementwise_pairs(lowering, operation, kind, function, modifiers, known)
    else:
        each(lowering, operation, instruction(lowering, f"{name}.{kind.suffix} $0, $1, $2;", kind))


def _extremum_f64(lowering: Lowering, name: str, a: ir.Value, b: ir.Value) -> ir.Value:
    """PTX ISA 9.7.3.12: max.NaN and min.NaN have no f64 form; a + b carries the NaN."""
    ordered = lowering.compute("setp.num.f64 $0, $1, $2;", "i1", a, b)
    found = lowering.compute(f"{name}.f64 $0, $1, $2;", "f64", a, b)
    nan = lowering.compute("add.rn.f64 $0, $1, $2;", "f64", a, b)
    return lowering.compute("selp.f64 $0, $1, $2, $3;", "f64", found, nan, ordered)


@lowers("arith.negf")
def negf(lowering: Lowering, operation: ir.Operation) -> None:
    kind = element(operation.results[0])
    each(lowering, operation, instruction(lowering, f"neg.{kind.suffix} $0, $1;", kind))


@lowers("arith.addi", "arith.subi", "arith.muli")
def integer_binary(lowering: Lowering, operation: ir.Operation) -> None:
    kind, name = element(operation.results[0]), operation.name[6:9]
    if kind.is_predicate:
        text = f"{'and' if name == 'mul' else 'xor'}.pred $0, $1, $2;"
    else:
        text = f"{'mul.lo' if name == 'mul' else name}.{kind.suffix} $0, $1, $2;"
    plain = instruction(lowering, text, kind)
    is_wide = name == "mul" and kind.name == "i64"
    step = (lambda a, b: _wide_product(lowering, a, b) or plain(a, b)) if is_wide else plain
    each(lowering, operation, _of_bits(lowering, operation, kind, step))


def _wide_product(lowering: Lowering, a: ir.Value, b: ir.Value) -> ir.Value | None:
    """The product of 64 bits of factors that are extended from 32 bits, which is one instruction; None for others.

    A multiplication of 64 bits takes three, also by a power of two, which ptxas does not replace by a shift.
    """
    for sign in "su":
        factors = [_before_extension(lowering, factor, sign) for factor in (a, b)]
        known = [factor for factor in factors if factor is not None]
        if len(known) == len(factors) and any(isinstance(factor, ir.Value) for factor in known):
            return lowering.compute(f"mul.wide.{sign}32 $0, $1, $2;", "i64", *known)
    number = lowering.number(b)
    if number is None or number <= 0 or number & (number - 1):
        return None
    return lowering.compute(f"shl.b64 $0, $1, {number.bit_length() - 1};", "i64", a)


def _before_extension(lowering: Lowering, register: ir.Value, sign: str) -> ir.Value | int | None:
    """The register of 32 bits that a register of 64 bits extends, or its number if that has 32 bits; else None."""
    number = lowering.number(register)
    if number is not None:
        low, high = (-(1 << 31), 1 << 31) if sign == "s" else (0, 1 << 32)
        return number if low <= number < high else None
    owner = register.owner
    if isinstance(owner, ir.Block) or not owner.attributes["text"].value.startswith(f"cvt.{sign}64.{sign}32 $0, $1;"):
        return None
    return owner.operands[0]


def _of_bits(lowering: Lowering, operation: ir.Operation, kind: PtxElement, step: Step) -> Step:
    """The step, which records the bits of a word that its results are if the second operand is a constant.

    A product of two constants is a constant: the amount of a shift may be the number of an element times its bits.
    """
    name, number = operation.name.removeprefix("arith."), number_of_all(operation.operands[1])

    def recorded(a: ir.Value, b: ir.Value) -> ir.Value:
        known = lowering.number(b) if number is None else number
        if kind.name == "i32" and name == "muli" and known is not None and (factor := lowering.number(a)) is not None:
            return lowering.constant(kind, factor * known)
        return record_bits(lowering, kind, name, a, known, step(a, b))

    return recorded


@lowers("arith.mului_extended")
def product_halves(lowering: Lowering, operation: ir.Operation) -> None:
    """The low and the high half of the unsigned product."""
    kind = element(operation.results[0])
    columns = list(zip(*(lowering.get(operand) for operand in operation.operands), strict=True))
    for result, half in zip(operation.results, (_low_half, _high_half), strict=True):
        lowering.set(result, [half(lowering, kind, a, b) for a, b in columns])


def _low_half(lowering: Lowering, kind: PtxElement, a: ir.Value, b: ir.Value) -> ir.Value:
    if kind.is_predicate:
        return lowering.compute("and.pred $0, $1, $2;", "i1", a, b)
    return lowering.compute(f"mul.lo.u{kind.register_bits} $0, $1, $2;", kind.register, a, b)


def _high_half(lowering: Lowering, kind: PtxElement, a: ir.Value, b: ir.Value) -> ir.Value:
    if kind.is_predicate:
        return lowering.constant(kind, 0)
    if kind.bits > 8:
        return lowering.compute(f"mul.hi.u{kind.bits} $0, $1, $2;", kind.register, a, b)
    product = _low_half(lowering, kind, *(extended(lowering, kind, False, x) for x in (a, b)))
    return lowering.compute("shr.u16 $0, $1, 8;", "i16", product)


@lowers(*_BITWISE)
def bitwise(lowering: Lowering, operation: ir.Operation) -> None:
    kind = element(operation.results[0])
    name = _BITWISE[operation.name]
    if kind.name == "i8" and bits_by_words(lowering, operation, name):
        return
    text = f"{name}.{kind.register_suffix} $0, $1, $2;"
    plain = _of_bits(lowering, operation, kind, instruction(lowering, text, kind))
    if kind.name == "i16":
        halves_by_words(lowering, operation, name, plain)
    else:
        each(lowering, operation, lambda a, b: combine_masks(lowering, name, a, b) or plain(a, b))


def each_integer(lowering: Lowering, operation: ir.Operation, signed: bool, rule: Callable[..., ir.Value]) -> None:
    """result = rule(kind, a, b) on operands extended to their registers; i1 computes in 32 bits."""
    kind = element(operation.results[0])
    wide = ELEMENTS["i32"] if kind.is_predicate else kind

    def step(*operands: ir.Value) -> ir.Value:
        result = rule(wide, *(extended(lowering, kind, signed, operand) for operand in operands))
        return result if wide == kind else lowest_bit(lowering, wide, result)

    each(lowering, operation, step)


@lowers(*_EXTREMES)
def extreme(lowering: Lowering, operation: ir.Operation) -> None:
    name, signed = _EXTREMES[operation.name]

    def step(kind: PtxElement, a: ir.Value, b: ir.Value) -> ir.Value:
        text = f"{name}.{'s' if signed else 'u'}{kind.register_bits} $0, $1, $2;"
        return one_of(lowering, a, b, lowering.compute(text, kind.register, a, b))

    each_integer(lowering, operation, signed, step)


@lowers("arith.shli", "arith.shrsi", "arith.shrui")
def shift(lowering: Lowering, operation: ir.Operation) -> None:
    """PTX ISA 9.7.8.7: the shift amount has 32 bits for every operand type."""
    kind, name = element(operation.results[0]), operation.name
    signed = name == "arith.shrsi"
    if kind.name == "i8" and bits_by_words(lowering, operation, name.removeprefix("arith.")):
        return
    wide = ELEMENTS["i32"] if kind.is_predicate else kind
    text = f"{'shl.b' if name == 'arith.shli' else 'shr.s' if signed else 'shr.u'}{wide.register_bits} $0, $1, $2;"

    def step(a: ir.Value, amount: ir.Value) -> ir.Value:
        value, amount = extended(lowering, kind, signed, a), extended(lowering, kind, False, amount)
        result = lowering.compute(text, wide.register, value, _amount(lowering, wide, amount))
        return result if wide == kind else lowest_bit(lowering, wide, result)

    recorded = _of_bits(lowering, operation, kind, step)
    if kind.name == "i16":
        halves_by_words(lowering, operation, name.removeprefix("arith."), recorded)
    else:
        each(lowering, operation, recorded)


def _amount(lowering: Lowering, kind: PtxElement, amount: ir.Value) -> ir.Value | int:
    known = lowering.number(amount)
    if known is not None:
        return known
    return amount if kind.name == "i32" else lowering.compute(f"cvt.u32.u{kind.register_bits} $0, $1;", "i32", amount)


@lowers("arith.cmpi")
def cmpi(lowering: Lowering, operation: ir.Operation) -> None:
    kind = element(operation.operands[0])
    if compare_positions(lowering, operation) or kind.name == "i8" and compare_bytes(lowering, operation):
        return
    name, signed = _INTEGER_COMPARISONS[predicate_of(operation)]
    text = f"setp.{name}.{'s' if signed else 'u'}{max(16, kind.register_bits) if kind.bits > 1 else 32} $0, $1, $2;"

    def step(a: ir.Value, b: ir.Value) -> ir.Value:
        return lowering.compute(text, "i1", *(extended(lowering, kind, signed, x) for x in (a, b)))

    each(lowering, operation, step)


@lowers("arith.cmpf")
def cmpf(lowering: Lowering, operation: ir.Operation) -> None:
    kind = element(operation.operands[0])
    predicate = predicate_of(operation)
    if predicate in _FLOAT_COMPARISONS:
        text = f"setp.{_FLOAT_COMPARISONS[predicate]}.{kind.suffix} $0, $1, $2;"
        each(lowering, operation, lambda a, b: lowering.compute(text, "i1", a, b))
    else:
        false_or_true = lowering.constant(ELEMENTS["i1"], int(predicate == "true"))
        each(lowering, operation, lambda a, b: false_or_true)


@lowers("arith.select")
def select(lowering: Lowering, operation: ir.Operation) -> None:
    """Selects per element, or between whole tiles if the condition is a scalar."""
    kind = element(operation.results[0])
    conditions, *values = (lowering.get(operand) for operand in operation.operands)
    conditions = conditions * len(values[0]) if len(conditions) == 1 else conditions
    columns = list(zip(conditions, *values, strict=True))
    chosen = _chosen_words(lowering, kind, columns)
    for at in by_words(lowering, conditions):
        if at in chosen:
            continue
        condition, a, b = columns[at]
        chosen[at] = choose(lowering, kind, test_again(lowering, condition), a, b)
    lowering.set(operation.results[0], [chosen[at] for at in range(len(columns))])


def _chosen_words(lowering: Lowering, kind: PtxElement, columns: Sequence[Column]) -> dict[int, ir.Value]:
    """The results, by number, of columns (condition, a, b) that the sign bits of bytes select in words."""
    size, chosen = 0 if kind.is_predicate or kind.bits < 8 else 4 // kind.bytes, dict[int, ir.Value]()
    for first in range(0, len(columns) - size + 1, size) if size > 1 else ():
        conditions, *values = zip(*columns[first : first + size], strict=True)
        found = select_words(lowering, kind, conditions, values)
        chosen |= {} if found is None else dict(enumerate(found, first))
    return chosen


def choose(lowering: Lowering, kind: PtxElement, condition: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
    """a if the condition is true, else b."""
    if kind.is_predicate:
        integers = [lowering.compute("selp.b32 $0, 1, 0, $1;", "i32", x) for x in (a, b)]
        chosen = lowering.compute("selp.b32 $0, $1, $2, $3;", "i32", *integers, condition)
        return lowering.compute("setp.ne.b32 $0, $1, 0;", "i1", chosen)
    text = f"selp.{kind.register_suffix} $0, $1, $2, $3;"
    return one_of(lowering, a, b, lowering.compute(text, kind.register, a, b, condition))


def one_of(lowering: Lowering, a: ir.Value, b: ir.Value, chosen: ir.Value) -> ir.Value:
    """A register that holds a or b, which is extended as they are if both are extended alike."""
    extension = lowering.extensions.get(a)
    if extension is not None and extension == lowering.extensions.get(b):
        lowering.extensions[chosen] = extension
    return chosen
