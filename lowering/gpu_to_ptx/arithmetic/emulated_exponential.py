"""2**x of some elements of each thread by polynomials (lowering/exponential_polynomial.py), so that MUFU has fewer.

The elements of one kind alternate with those of the other, so that both units have work.
"""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.shape import POLYNOMIAL_PARTS
from tilec.lowering.exponential_polynomial import (
    COEFFICIENTS,
    FRACTION_BITS,
    GREATEST,
    LEAST,
    SHIFTER,
    is_polynomial,
)
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.packed_floats import Pair, pair_of, scalar_of


def emulated_exponential(lowering: Lowering, operation: ir.Operation, kind: PtxElement) -> None:
    """result register i = 2**(operand register i), for two distinct registers at a time."""
    registers = lowering.get(operation.operands[0])
    share = ir.IntegerAttr(operation.attributes["polynomials"]).value
    distinct = list(dict.fromkeys(registers))
    done: dict[ir.Value, ir.Value] = {}
    for number, (low, high) in enumerate(zip(distinct[0::2], distinct[1::2], strict=False)):
        if is_polynomial(number, share, POLYNOMIAL_PARTS):
            done[low], done[high] = _Polynomial(lowering, kind).of((low, high))
    for register in distinct:
        if register not in done:
            done[register] = lowering.compute("ex2.approx.ftz.f32 $0, $1;", "f32", register)
    lowering.set(operation.results[0], [done[register] for register in registers])


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
        """2**n, of which the low bits are the exponent."""
        return self.lowering.compute(f"shl.b32 $0, $1, {FRACTION_BITS};", "f32", shifted)

    def _apply(self, name: str, rounding: str, *operands: Pair) -> Pair:
        if self.lowering.target.packs_floats:
            return pair_of(self.lowering, name, [rounding], *operands)
        low, high = (scalar_of(self.lowering, name, [rounding], each) for each in zip(*operands, strict=True))
        return low, high

    def _constants(self, value: float) -> Pair:
        return self._constant(value), self._constant(value)

    def _constant(self, value: float) -> ir.Value:
        return self.lowering.constant(self.kind, value)
