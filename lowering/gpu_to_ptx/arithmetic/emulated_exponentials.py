"""Exponentials of tiles: polynomials compute some elements, on other units than MUFU."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.shape import POLYNOMIAL_PARTS
from tilec.lowering.gpu_to_ptx.arithmetic.flushed_functions import guarded
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.elementwise import Column, Pair, in_pairs
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.instruction_choice import COEFFICIENTS, FRACTION_BITS, GREATEST, LEAST, SHIFTER, is_polynomial

# The argument of 2**-126, the least normal number.
_LEAST_NORMAL = "0fC2FC0000"


def flushing_exponentials(lowering: Lowering, kind: PtxElement, share: int, columns: list[Column]) -> list[ir.Value]:
    """2**x of each register; subnormal results are flushed to zero."""
    return _exponentials(lowering, kind, share, [register for (register,) in columns], ".ftz")


def exact_exponentials(lowering: Lowering, kind: PtxElement, share: int, columns: list[Column]) -> list[ir.Value]:
    """2**x of each register, with subnormal results.

    MUFU computes the subnormal results also in the elements of polynomials, so that no result depends on the other
    arguments of its warp. MUFU computes all elements while wgmma is in flight, because no code branches then.
    """
    registers = [register for (register,) in columns]
    if lowering.in_flight:
        return [_instruction(lowering, "", register) for register in registers]

    def flushing(arguments: list[ir.Value]) -> list[ir.Value]:
        return _exponentials(lowering, kind, share, arguments, ".ftz")

    def exact(arguments: list[ir.Value]) -> list[ir.Value]:
        return _exponentials(lowering, kind, share, arguments, "")

    return guarded(lowering, "math.exp2", registers, flushing, exact)


def _exponentials(
    lowering: Lowering, kind: PtxElement, share: int, registers: list[ir.Value], modifier: str
) -> list[ir.Value]:
    """2**x of each register; polynomials compute some pairs of registers.

    Pairs of polynomials and pairs of MUFU alternate, so that both units have work.
    """
    done: dict[ir.Value, ir.Value] = {}
    for number, (low, high) in enumerate(zip(registers[0::2], registers[1::2], strict=False)):
        if is_polynomial(number, share, POLYNOMIAL_PARTS):
            done[low], done[high] = _Polynomial(lowering, kind).of((low, high))
            if not modifier:
                done.update({each: _with_subnormal(lowering, each, done[each]) for each in (low, high)})
    for register in registers:
        if register not in done:
            done[register] = _instruction(lowering, modifier, register)
    return [done[register] for register in registers]


def _instruction(lowering: Lowering, modifier: str, argument: ir.Value) -> ir.Value:
    return lowering.compute(f"ex2.approx{modifier}.f32 $0, $1;", "f32", argument)


def _with_subnormal(lowering: Lowering, argument: ir.Value, polynomial: ir.Value) -> ir.Value:
    """The result of a polynomial, or of the instruction if it is less than all normal numbers."""
    is_less = lowering.compute(f"setp.lt.f32 $0, $1, {_LEAST_NORMAL};", "i1", argument)
    exact = _instruction(lowering, "", argument)
    return lowering.compute("selp.f32 $0, $1, $2, $3;", "f32", exact, polynomial, is_less)


class _Polynomial:
    """The polynomials of two elements, by packed instructions where the target has them."""

    def __init__(self, lowering: Lowering, kind: PtxElement) -> None:
        self.lowering, self.kind = lowering, kind

    def of(self, arguments: Pair) -> Pair:
        """2**x of both."""
        low, high = map(self._clamped, arguments)
        # PTX ISA 9.7.3.3: .rm rounds to the integer below.
        shifted = self._apply("add", "rm", (low, high), self._constants(SHIFTER))
        whole = self._apply("add", "rn", shifted, self._constants(-SHIFTER))
        fraction = self._apply("sub", "rn", (low, high), whole)
        value = self._constants(COEFFICIENTS[-1])
        for coefficient in (*reversed(COEFFICIENTS[:-1]), 1.0):
            value = self._apply("fma", "rn", value, fraction, self._constants(coefficient))
        scales = self._power(shifted[0]), self._power(shifted[1])
        result = self._apply("mul", "rn", value, scales)
        # A product with a power of two is exact, and so is its contraction with a sum.
        self.lowering.sums.update(result)
        return result

    def _clamped(self, argument: ir.Value) -> ir.Value:
        """The argument within the exponents of f32; NaN remains NaN."""
        least, greatest = self._constant(LEAST), self._constant(GREATEST)
        above = self.lowering.compute("max.NaN.f32 $0, $1, $2;", "f32", argument, least)
        return self.lowering.compute("min.NaN.f32 $0, $1, $2;", "f32", above, greatest)

    def _power(self, shifted: ir.Value) -> ir.Value:
        """2**n; the low bits of `shifted` are n."""
        return self.lowering.compute(f"shl.b32 $0, $1, {FRACTION_BITS};", "f32", shifted)

    def _apply(self, name: str, rounding: str, *pairs: Pair) -> Pair:
        low, high = in_pairs(self.lowering, name, [rounding], list(zip(*pairs, strict=True)))
        return low, high

    def _constants(self, value: float) -> Pair:
        return self._constant(value), self._constant(value)

    def _constant(self, value: float) -> ir.Value:
        return self.lowering.constant(self.kind, value)
