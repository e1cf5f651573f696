"""Matrix multiply-accumulate on tensor memory (tcgen05), on registers (wgmma) and on FMA units (dot)."""

from tilec.dialect.attributes import Enumeration, Int32
from tilec.dialect.fields import Operand, Result, TypeVariable
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.sets import Boolean, RegisterTile, SharedBuffer, TensorBuffer
from tilec.element_types import ELEMENT_TYPES

# The kinds of tcgen05.mma that tile_gpu has operations for.
_MMA_KINDS = ("f16", "tf32")
KINDS = tuple(row.name for row in ELEMENT_TYPES.values() if row.mma_kind in _MMA_KINDS)
T = TypeVariable("T", RegisterTile)
Kind = Enumeration(*KINDS)


def _matrix_shapes(op: ir.OpView) -> str | None:
    accumulator = tuple(op.operands[0].type.shape)
    lhs, rhs = op.lhs.type.shape, op.rhs.type.shape
    if len(lhs) != 2 or len(rhs) != 2 or lhs[1] != rhs[0] or accumulator != (lhs[0], rhs[1]):
        return f"expected MxK, KxN and MxN, but got {lhs}, {rhs} and {accumulator}"
    return None


class Tcgen05MmaOp(Operation, name="tcgen05_mma"):
    """accumulator = lhs * rhs + (accumulator where `accumulate`, else 0)."""

    accumulator: Operand[TensorBuffer]
    lhs: Operand[SharedBuffer]
    rhs: Operand[SharedBuffer]
    accumulate: Operand[Boolean]
    kind: Kind
    assembly = (
        "$kind $lhs, $rhs into $accumulator accumulate $accumulate attr-dict : type($lhs), type($rhs)"
        " -> type($accumulator)"
    )
    rules = [_matrix_shapes]


class WgmmaOp(Operation, name="wgmma"):
    """result = lhs * rhs + accumulator, in flight until `wgmma_wait`."""

    result: Result[T]
    accumulator: Operand[T]
    lhs: Operand[SharedBuffer]
    rhs: Operand[SharedBuffer]
    kind: Kind
    assembly = "$kind $lhs, $rhs, $accumulator attr-dict : type($lhs), type($rhs) -> type($result)"
    rules = [_matrix_shapes]


class WgmmaWaitOp(Operation, name="wgmma_wait"):
    """The accumulator once at most `pending` newer groups are in flight."""

    result: Result[T]
    accumulator: Operand[T]
    pending: Int32
    assembly = "$accumulator pending $pending attr-dict : type($result)"


class DotOp(Operation, name="dot"):
    """result = lhs * rhs + accumulator by fused multiply-adds in the accumulator's type, k ascending."""

    result: Result[T]
    accumulator: Operand[T]
    lhs: Operand[SharedBuffer]
    rhs: Operand[SharedBuffer]
    assembly = "$lhs, $rhs, $accumulator attr-dict : type($lhs), type($rhs) -> type($result)"
    rules = [_matrix_shapes]
