"""A linear map of bits evaluated in registers: shifts and masks for each diagonal of its matrix."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.layout.bit_matrix import BitMatrix


def linear_index(lowering: Lowering, matrix: BitMatrix, index: ir.Value) -> ir.Value | None:
    """matrix(index) as i32, for an index below 2^columns; None if it is always zero."""
    return lowering.once((matrix, index), lambda: _evaluated(lowering, matrix, index))


def _evaluated(lowering: Lowering, matrix: BitMatrix, index: ir.Value) -> ir.Value | None:
    whole = (1 << len(matrix.columns)) - 1
    total: ir.Value | None = None
    covered = 0
    for shift, mask in sorted(matrix.diagonals().items()):
        term = _diagonal(lowering, index, shift, mask, whole)
        moved = mask << shift if shift >= 0 else mask >> -shift
        if total is None:
            total = term
        else:
            total = lowering.compute(f"{'xor' if covered & moved else 'or'}.b32 $0, $1, $2;", "i32", total, term)
        covered |= moved
    return total


def _diagonal(lowering: Lowering, index: ir.Value, shift: int, mask: int, whole: int) -> ir.Value:
    """(index & mask) << shift, without the mask if the shift drops the same bits."""
    kept = whole >> -shift << -shift if shift < 0 else whole
    if mask != kept:
        index = lowering.compute(f"and.b32 $0, $1, {mask};", "i32", index)
    if shift == 0:
        return index
    return lowering.compute(f"{'shl' if shift > 0 else 'shr'}.b32 $0, $1, {abs(shift)};", "i32", index)


def is_odd(lowering: Lowering, mask: int, index: ir.Value) -> ir.Value:
    """Whether an i32 index has an odd number of the mask's bits, as a predicate."""
    masked = lowering.compute(f"and.b32 $0, $1, {mask};", "i32", index)
    if mask.bit_count() > 1:
        masked = lowering.compute("popc.b32 $0, $1;", "i32", masked)
        masked = lowering.compute("and.b32 $0, $1, 1;", "i32", masked)
    return lowering.compute("setp.ne.s32 $0, $1, 0;", "i1", masked)


def split_constant(constant: int, thread_bits: int) -> tuple[int, int]:
    """Splits a register's constant into the part to XOR into the thread's part and the part to add as an immediate.

    `thread_bits` are the bits that the thread's part can have; XOR of other bits is addition.
    """
    return constant & thread_bits, constant & ~thread_bits


def image_bits(matrix: BitMatrix) -> int:
    """The union of the bits that some input sets."""
    bits = 0
    for column in matrix.columns:
        bits |= column
    return bits
