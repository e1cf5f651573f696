"""Block-scaled matrix multiply-accumulate on tensor memory (PTX ISA 9.7.16.10.7)."""

from dataclasses import dataclass

from tilec.dialect.attributes import Flag, Int32
from tilec.dialect.fields import Operand
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.interface import Category, Executor, Interface, Memory, Scratch
from tilec.dialect.tile_gpu.matrix_rules import packed_problem, pair_shapes
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.operations.matrix import ID_CLAUSE, RHS_KIND_CLAUSE, PackedKind
from tilec.dialect.tile_gpu.sets import Boolean, SharedBuffer, TensorBuffer
from tilec.dialect.tile_gpu.types import BufferType
from tilec.dialect.verify import types_only


@dataclass(frozen=True)
class ScaledKind:
    """A kind of tcgen05.mma, and the number of scale factors along K of one instruction."""

    name: str
    factors: int


# By the elements of operands and factors, and the number of elements along K that share a factor.
SCALED_KINDS = {
    ("f8E4M3FN", "f8E8M0FNU", 32): ScaledKind("mxf8f6f4", 1),
    ("f8E5M2", "f8E8M0FNU", 32): ScaledKind("mxf8f6f4", 1),
    ("f4E2M1FN", "f8E8M0FNU", 32): ScaledKind("mxf4", 2),
    ("f4E2M1FN", "f8E8M0FNU", 16): ScaledKind("mxf4nvf4", 4),
    ("f4E2M1FN", "f8E4M3FN", 16): ScaledKind("mxf4nvf4", 4),
}


# The rows of an instruction whose factors are in all lanes (PTX ISA 9.7.16.10.7).
_ROWS = 128


def _pair_shapes(op: ir.OpView) -> str | None:
    """Each CTA of a pair has whole blocks of 128 rows: the factors of 64 would be in some lanes."""
    return pair_shapes(op, _ROWS)


@types_only
def _equal_buffers(op: ir.OpView) -> str | None:
    source, destination = op.source.type, op.destination.type
    if (source.shape, source.element, source.layout) != (destination.shape, destination.element, destination.layout):
        return f"source and destination must agree, but got {source.spelled()} and {destination.spelled()}"
    return None


def scale_shapes(op: ir.OpView) -> str | None:
    """The problem with the types of operands, of kinds and types, and of their factors, or None."""
    lhs, rhs = op.lhs.type, op.rhs.type
    left, right = op.lhs_scale.type, op.rhs_scale.type
    problem = packed_problem(op.lhs, op.lhs_kind) or packed_problem(op.rhs, op.rhs_kind)
    if problem is not None:
        return problem
    shared, rest = divmod(lhs.shape[1], left.shape[1])
    kind = SCALED_KINDS.get((_element(lhs, op.lhs_kind), spell(left.element), shared))
    other = SCALED_KINDS.get((_element(rhs, op.rhs_kind), spell(right.element), shared))
    if rest or kind is None or other != kind or right.element != left.element:
        return f"no kind multiplies {lhs.spelled()} and {rhs.spelled()} with {left.spelled()} and {right.spelled()}"
    # Both CTAs of a pair have the factors of all columns.
    if left.shape[0] != lhs.shape[0] or tuple(right.shape) != (left.shape[1], op.operands[0].type.shape[1]):
        return f"expected scale factors MxS and SxN, but got {left.shape} and {right.shape}"
    return None


def scaled_kind(op: ir.OpView) -> ScaledKind:
    """The kind of tcgen05.mma that multiplies the types of an operation."""
    lhs, scale = op.lhs.type, op.lhs_scale.type
    return SCALED_KINDS[_element(lhs, op.lhs_kind), spell(scale.element), lhs.shape[1] // scale.shape[1]]


def _element(operand: BufferType, kind: str | None) -> str:
    """The element of an operand; packed ones have the kinds of f8E4M3FN."""
    return spell(operand.element) if kind is None else "f8E4M3FN"


class Tcgen05CopyScalesOp(Operation, name="tcgen05_copy_scales"):
    """Copies scale factors or metadata from shared to tensor memory; a later multiply of the thread reads them.

    With `pair` each CTA of the pair has copied those of its own shared memory. The CTA of rank 0 issues the copies.
    """

    interface = Interface(Category.COPY, Memory.TENSOR, executor=Executor.MULTIPLY, scratch=Scratch.NONE)
    source: Operand[SharedBuffer]
    destination: Operand[TensorBuffer]
    pair: Flag
    assembly = "{$pair }$source -> $destination attr-dict : type($source) -> type($destination)"
    rules = [_equal_buffers]


class Tcgen05MmaScaledOp(Operation, name="tcgen05_mma_scaled"):
    """accumulator = (lhs * lhs_scale) * (rhs * rhs_scale) + (accumulator where `accumulate`, else 0).

    With `pair` both CTAs of the pair do so at once, as in `tcgen05_mma`: each has its rows of lhs, of `lhs_scale` and
    of the accumulator, half of the columns of rhs, and `rhs_scale` of all columns.
    """

    interface = Interface(Category.MULTIPLY, Memory.TENSOR, executor=Executor.MULTIPLY, scratch=Scratch.NONE)
    accumulator: Operand[TensorBuffer]
    lhs: Operand[SharedBuffer]
    rhs: Operand[SharedBuffer]
    lhs_scale: Operand[TensorBuffer]
    rhs_scale: Operand[TensorBuffer]
    accumulate: Operand[Boolean]
    lhs_kind: PackedKind | None
    rhs_kind: PackedKind | None
    pair: Flag
    id: Int32 | None
    assembly = (
        "{$pair }$lhs, $rhs scaled $lhs_scale, $rhs_scale into $accumulator accumulate $accumulate"
        f"{{ lhs_kind $lhs_kind}}{RHS_KIND_CLAUSE}{ID_CLAUSE} attr-dict"
        " : type($lhs), type($rhs), type($lhs_scale), type($rhs_scale) -> type($accumulator)"
    )
    rules = [_pair_shapes, scale_shapes]
    kind = property(scaled_kind)
