"""The work of an operation on the elements of tiles: of float units, of MUFU, and of integer units."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.shape import FLUSHING_EXP2, POLYNOMIAL_PARTS, MathOp
from tilec.lowering.gpu.cost.bit_work import bit_work
from tilec.lowering.gpu.cost.computed_elements import (
    VisitedTiles,
    computed_elements,
    distinct_elements,
    executed_elements,
)
from tilec.lowering.gpu.ir.tile_size import element_bits, thread_elements
from tilec.lowering.instruction_choice import (
    ALU_OPERATIONS,
    FLUSHED,
    FMA_OPERATIONS,
    LEAST_BOUNDED_ELEMENTS,
    LEAST_FLUSHED,
    LEAST_QUOTIENTS,
    is_position,
    polynomial_elements,
    position_comparisons,
    rounded_to,
)
from tilec.lowering.model.constants import Device
from tilec.lowering.model.step import Step

# Operations of one element, by the unit that executes them; precise functions take several (CUDA math library).
_FMA = {
    **dict.fromkeys(("arith.addf", "arith.subf", "arith.mulf", "arith.negf", "math.fma"), 1.0),
    **dict.fromkeys(("add", "sub", "mul", "fma"), 1.0),
    **dict.fromkeys(("arith.divf", "math.sqrt", "math.exp", "math.log", "math.log2", "math.tanh"), 8.0),
    **dict.fromkeys(("div", "math.exp2", "math.rsqrt"), 2.0),
    **dict.fromkeys(("math.sin", "math.cos", "math.tan", "math.powf", "math.erf"), 24.0),
}
_EXPONENTIALS = {
    **dict.fromkeys(("arith.divf", "math.sqrt", "math.exp", "math.exp2", "math.log", "math.log2"), 1.0),
    **dict.fromkeys(("math.rsqrt", "math.tanh", "math.powf"), 1.0),
    **dict.fromkeys(("div", "sqrt", "rsqrt", "rcp", "exp2", "log2", "tanh", "sin", "cos"), 1.0),
}
# Operations that an instruction does on several elements of f32, on some devices.
_PACKED = ("arith.addf", "arith.subf", "arith.mulf", "math.fma", "add", "sub", "mul", "fma")
# The instructions of a precise function of f32 that are among these (lowering/math/functions.py).
_PACKED_STEPS = {"math.exp": 4.0, "math.tanh": 6.0}
# Conversions of two elements by one instruction.
_PAIRED = ("arith.truncf", "arith.extf")
# The operations of rcp.rn.f32 and of the checks of a divisor (ptxas 13.0).
_DIVISOR_FMA, _DIVISOR_ALU = 8, 8
# The operations of two halves of a reciprocal, and of their check.
_HALVES_FMA, _HALVES_ALU = 5, 9
# A word of 32 results of comparisons takes a sum with a maximum, and a shift; a bound its limits, a difference and a
# negation. Seven of eight tests of bits are one instruction, and the eighth is another (ptxas 13.0).
_WORD_BITS, _HALF_BITS = 32, 16
_WORD_ALU, _BOUND_ALU, _BIT_TEST_ALU = 2, 5, 8 / 32


def elementwise_work(op: ir.OpView, device: Device, known: VisitedTiles) -> Step:
    """The work of an operation on elements; `known` has those of its operands, if they were visited before."""
    result = op.operation.results[0]
    if "polynomials" in op.operation.attributes:
        per_thread, elements = exponential_elements(op.operation, known)
        work = exponential_work(per_thread, elements, op.polynomials, device)
        return work if op.function == FLUSHING_EXP2 else work + _flush_test(elements, device)
    elements = computed_elements(result, known)
    mask = _position_mask(op, elements, known)
    if mask is not None:
        return mask
    divisors = _shared_divisors(op, known)
    if divisors is not None:
        return _shared_division(elements, divisors, rounded_to(op.operation), device)
    if _is_flushed(op):
        return Step(exponentials=elements) + _flush_test(elements, device)
    if op.operation.name == "arith.cmpf" and element_bits(op.lhs.type.element_type) == _HALF_BITS:
        # ptxas 13.0 compares both halves of a word by one HSETP2.
        return Step(alu=elements / 2)
    bits = bit_work(op, elements, device)
    return work_of_function(function_of(op), elements, result.type.element_type, device) if bits is None else bits


def function_of(op: ir.OpView) -> str:
    """The name of an elementwise operation; of tile_gpu.math that of its function, without modifiers."""
    if op.operation.name != MathOp.OPERATION_NAME:
        return op.operation.name
    return str(op.function).split(".", 1)[0]


def work_of_function(name: str, elements: float, element: ir.Type, device: Device) -> Step:
    """The work of a function of some elements, by its name."""
    is_f32 = isinstance(element, ir.F32Type)
    if name in _PACKED and isinstance(element, ir.F16Type | ir.BF16Type):
        return Step(fma=elements / 2)
    if name in _FMA or name in _EXPONENTIALS:
        packed = elements * (1.0 if name in _PACKED else _PACKED_STEPS.get(name, 0.0)) if is_f32 else 0.0
        exponentials = _EXPONENTIALS.get(name, 0.0) * elements
        joined = packed - packed / device.floats_per_instruction
        return Step(fma=_FMA.get(name, 0.0) * elements, exponentials=exponentials, joined=joined)
    return Step(alu=elements / 2 if name in _PAIRED else elements)


def exponential_elements(op: ir.Operation, known: VisitedTiles) -> tuple[int, float]:
    """The elements of an exponential that a thread has, and those of all threads."""
    (result,) = op.results
    return thread_elements(result.type), computed_elements(result, known)


def exponential_work(per_thread: int, elements: float, share: int, device: Device) -> Step:
    """The work of an exponential of which polynomials compute `share` of POLYNOMIAL_PARTS."""
    polynomials = polynomial_elements(per_thread, share, POLYNOMIAL_PARTS) / per_thread * elements
    fma = FMA_OPERATIONS * polynomials
    return Step(
        exponentials=elements - polynomials,
        fma=fma,
        alu=ALU_OPERATIONS * polynomials,
        joined=fma - fma / device.floats_per_instruction,
    )


def _is_flushed(op: ir.OpView) -> bool:
    """Whether a function has the instruction that flushes subnormals, after a test of all arguments."""
    if op.operation.name not in FLUSHED:
        return False
    type = op.operation.results[0].type
    return isinstance(type.element_type, ir.F32Type) and thread_elements(type) >= LEAST_FLUSHED


def _flush_test(elements: float, device: Device) -> Step:
    """The comparisons of the arguments of a function that flushes if all results of a warp are normal."""
    return Step(alu=elements / device.comparisons_per_instruction)


def _position_mask(op: ir.OpView, elements: float, known: VisitedTiles) -> Step | None:
    """The work on a mask that is made of bits of words; None for another operation."""
    is_select = op.operation.name == "arith.select"
    mask = op.operation.operands[0] if is_select else op.operation.results[0]
    comparisons = position_comparisons(mask)
    bounds = [_bounds(each, known) for each in comparisons]
    if not bounds or elements < LEAST_BOUNDED_ELEMENTS * max(bounds):
        return None
    if is_select:
        return Step(alu=(1 + _BIT_TEST_ALU) * elements)
    if op.operation.name != "arith.cmpi":
        return Step(alu=elements / _WORD_BITS)
    return Step(alu=_WORD_ALU * elements / _WORD_BITS + _BOUND_ALU * bounds[0])


def _bounds(comparison: ir.Operation, known: VisitedTiles) -> float:
    """The bounds that threads compare numbers of elements with."""
    numbers, bound = comparison.operands
    return distinct_elements(bound if is_position(numbers) else numbers, known)


def _shared_divisors(op: ir.OpView, known: VisitedTiles) -> float | None:
    """The divisors of a division by reciprocals, of all threads; None for another operation."""
    if op.operation.name != "arith.divf" or not isinstance(op.lhs.type.element_type, ir.F32Type):
        return None
    divisors = distinct_elements(op.rhs, known)
    return divisors if executed_elements(op.lhs.type) >= LEAST_QUOTIENTS * divisors else None


def _shared_division(elements: float, divisors: float, rounded: str | None, device: Device) -> Step:
    """The float operations of an element are packed; those that test the dividends are in threes."""
    # By two halves of the reciprocal, or a quotient, its correction and half of an operation that tests it.
    fma = (2.0 if rounded else 3.5) * elements
    checks = 0.0 if rounded == "f16" else (1 + 1 / device.comparisons_per_instruction) * elements
    divisor_alu = _DIVISOR_ALU + (_HALVES_ALU if rounded else 0)
    divisor_fma = _DIVISOR_FMA + (_HALVES_FMA if rounded else 0)
    per_divisor = Step(fma=divisor_fma * divisors, alu=divisor_alu * divisors, exponentials=divisors)
    return Step(fma=fma, alu=checks, joined=fma - fma / device.floats_per_instruction) + per_divisor
