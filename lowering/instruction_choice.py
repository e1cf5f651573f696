"""Which short instruction sequences compute elementwise operations; the cost model and the conversion to PTX share it.

Comparisons of numbers of elements with bounds become bits of words, if the masks that they make choose elements.
Elements are divided by one reciprocal of the divisor that they share. Some exponentials are polynomials, without MUFU:

    n = floor(clamped x), f = clamped x - n, 2**x = 2**n * (1 + f * q(f)), q of degree 5

The error is at most 1.29 units in the last place, and 2**-23.6 of the result: less than the 2 units of
`ex2.approx.ftz.f32` (PTX ISA 9.7.3.21). Powers of two are exact.
"""

from __future__ import annotations

from collections.abc import Collection

from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.operations.shape import BroadcastOp, IotaOp, ReshapeOp, TransposeOp
from tilec.dialect.upstream_predicates import predicate_of
from tilec.dialect.walk import reached, users_of
from tilec.element_types import element_type
from tilec.lowering.emitter import number_of_all

# The reciprocal of a divisor, the checks of its operands and a branch take as long as the division of some elements.
LEAST_QUOTIENTS = 8
# Instructions of functions whose forms with .ftz compute tiles of f32, in warps without arguments that differ. The test
# of the arguments and a branch take as long as scaling some elements.
FLUSHED = {"math.exp2": "ex2.approx", "math.rsqrt": "rsqrt.approx"}
LEAST_FLUSHED = 8
# The words of a bound take as long as the comparisons of some elements.
LEAST_BOUNDED_ELEMENTS = 16
_BITS = 32
_ORDERS = ("slt", "sle", "sgt", "sge")
_COMBINES = ("arith.andi", "arith.ori", "arith.xori")
_RENAMES = (BroadcastOp.OPERATION_NAME, ReshapeOp.OPERATION_NAME, TransposeOp.OPERATION_NAME)
_PARTS_OF_MASKS = (*_COMBINES, *_RENAMES)

# The coefficients of q, the constant first: the least maximum error of 1 + f * q(f) from 2**f in 0 <= f <= 1, rounded
# to f32. At f = 1, to which the fraction of a small negative x is rounded, the result is 2.
COEFFICIENTS = tuple(
    map(
        float.fromhex,
        ("0x1.62e42ap-1", "0x1.ebfda8p-3", "0x1.c68336p-5", "0x1.3d3b88p-7", "0x1.457324p-10", "0x1.c9112ep-13"),
    )
)
# A sum of f32 from 2**23 to 2**24 is an integer. Its low bits are n + 127, the exponent of 2**n.
SHIFTER = 1.5 * 2.0**23 + 127
# The bits of an f32 below its exponent.
FRACTION_BITS = 23
# The exponent of 2**n is 0 below, so that the result is zero, and 255 from here on, so that it is infinity.
LEAST, GREATEST = -127.0, 128.0
# Per element: n twice, as bits and as a float, the fraction, the polynomial and the product; two clamps and a shift.
FMA_OPERATIONS = 3 + len(COEFFICIENTS) + 1
ALU_OPERATIONS = 3


def rounded_to(op: ir.Operation) -> str | None:
    """The type of 16 bits to which the elements of a result are only rounded, to the nearest; None for other uses."""
    readers = [
        use.owner.operation
        for part in reached(op.results[0], _renamed)
        for use in part.uses
        if use.owner.operation.name not in _RENAMES
    ]
    if any(reader.name != "arith.truncf" or "roundingmode" in reader.attributes for reader in readers):
        return None
    types = {str(getattr(reader.results[0].type, "element_type", reader.results[0].type)) for reader in readers}
    return types.pop() if len(types) == 1 and types <= {"f16", "bf16"} else None


def _renamed(value: ir.Value) -> list[ir.Value]:
    """The tiles that have elements of a tile by other names."""
    return [user.results[0] for user in users_of(value) if user.name in _RENAMES]


def is_polynomial(pair: int, share: int, parts: int) -> bool:
    """Whether polynomials compute a pair of elements of a thread: `share` of `parts` pairs, spread evenly."""
    return (pair + 1) * share // parts > pair * share // parts


def polynomial_elements(elements: int, share: int, parts: int) -> int:
    """The number of elements that polynomials compute, of all `elements` of a thread."""
    return 2 * (elements // 2 * share // parts)


def is_mask_comparison(op: ir.Operation) -> bool:
    """Whether an operation compares tiles of i32 by signed order, and its results only choose between elements.

    Accesses by vectors read one element of a mask each, so the comparisons of their masks are few.
    """
    if op.name != "arith.cmpi" or predicate_of(op) not in _ORDERS:
        return False
    type = op.operands[0].type
    element = type.element_type if isinstance(type, ir.RankedTensorType) else None
    has_type = isinstance(element, ir.IntegerType) and element.width == _BITS
    return has_type and only_chooses(op.results[0], "arith.select", _PARTS_OF_MASKS)


def only_chooses(mask: ir.Value, select: str, parts_of_masks: Collection[str]) -> bool:
    """Whether all uses of a mask, also as a part of another one, are conditions of operations named `select`."""
    return all(
        use.owner.operation.name in parts_of_masks or use.owner.operation.name == select and use.operand_number == 0
        for part in reached(
            mask, lambda part: [user.results[0] for user in users_of(part) if user.name in parts_of_masks]
        )
        for use in part.uses
    )


def selects_words(op: ir.Operation) -> bool:
    """Whether an operation selects elements of 8 or 16 bits by bytes that are compared with a constant.

    Words of the results of four bytes select the elements of words (arithmetic/byte_masks.py).
    """
    type = op.results[0].type if op.name == "arith.select" else None
    if not isinstance(type, ir.RankedTensorType) or element_type(spell(type.element_type)).storage_bits not in (8, 16):
        return False
    comparison = _unnamed(op.operands[0]).owner
    return not isinstance(comparison, ir.Block) and compares_bytes(comparison.operation)


def compares_bytes(op: ir.Operation) -> bool:
    """Whether an operation compares the elements of a tile of bytes with one constant."""
    type = op.operands[0].type if op.name == "arith.cmpi" else None
    is_byte = isinstance(type, ir.RankedTensorType) and str(type.element_type) == "i8"
    return is_byte and any(number_of_all(operand) is not None for operand in op.operands)


def position_comparisons(mask: ir.Value) -> list[ir.Operation]:
    """The comparisons of numbers of elements with bounds that a mask consists of; empty if it has other parts."""
    comparisons: list[ir.Operation] = []
    seen, waiting = {mask}, [mask]
    while waiting:
        op = _unnamed(waiting.pop()).owner
        if isinstance(op, ir.Block):
            return []
        if op.operation.name in _COMBINES:
            parts = [operand for operand in op.operation.operands if operand not in seen]
            seen.update(parts)
            waiting += dict.fromkeys(parts)
        elif is_mask_comparison(op.operation) and any(is_position(operand) for operand in op.operation.operands):
            if op.operation not in comparisons:
                comparisons.append(op.operation)
        else:
            return []
    return comparisons


def is_position(value: ir.Value) -> bool:
    """Whether a tile has the number of each element along a dimension."""
    op = _unnamed(value).owner
    return not isinstance(op, ir.Block) and op.operation.name == IotaOp.OPERATION_NAME


def _unnamed(value: ir.Value) -> ir.Value:
    """The tile of which a tile repeats or renames elements."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name in _RENAMES:
        value = value.owner.operation.operands[0]
    return value
