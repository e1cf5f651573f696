"""Matrix multiply-accumulate on tensor memory (tcgen05), on registers (wgmma, mma_sync) and on FMA units (dot)."""

from collections.abc import Sequence

from tilec.dialect.attributes import Enumeration, Flag, Int32
from tilec.dialect.fields import Operand, Result, TypeVariable
from tilec.dialect.tile_gpu.interface import Category, Executor, Interface, Memory, Scratch
from tilec.dialect.tile_gpu.matrix_rules import (
    KINDS,
    PACKED_FLOATS,
    SIGNS,
    elements_of_operands,
    matrix_shapes,
    moved_rows,
    pair_shapes,
    part_of_depth,
    places_of_operands,
    promoted_types,
    rows_inside,
    scaled_accumulator,
    shapes_with_metadata,
    signs_of_integers,
    skipped_rows,
    sparse_shapes,
    weight_stationary,
    whole_steps,
)
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.sets import (
    Boolean,
    Buffer,
    Integer32,
    MatrixLhs,
    RegisterTile,
    SharedBuffer,
    TensorBuffer,
)

T = TypeVariable("T", RegisterTile)
Kind = Enumeration(*KINDS)
PackedKind = Enumeration(*PACKED_FLOATS)
AnyKind = Enumeration(*KINDS, *PACKED_FLOATS)
# Of multiplies that read packed buffers.
RHS_KIND_CLAUSE = "{ rhs_kind $rhs_kind}"
OPERANDS = "{$lhs_unsigned }{$rhs_unsigned }$lhs, $rhs"
# Of a multiply that may subtract the product.
PRODUCTS = f"{{$negated }}{OPERANDS}"
# Of a multiply that keeps rows of the accumulator.
SKIPPED_CLAUSE = "{ skip [$skipped]}"
# Of a multiply that reads rows inside of lhs, and of one that moves the rows of lhs.
_RUN_CLAUSE = "{ shifted $shifted}{ every $period by $pitch}"
SHIFTED_CLAUSE = f"{_RUN_CLAUSE}{{ $ashift}}"
# Of a multiply that scales its accumulator.
SCALE_CLAUSE = "{ scale $scale}"
# Of each multiply (README.md, Ids).
ID_CLAUSE = "{ id $id}"


class Tcgen05MmaOp(Operation, name="tcgen05_mma"):
    """accumulator = lhs * rhs + (accumulator * 2**-scale where `accumulate`, else 0); without `scale` it is 0.

    With `negated` the product is subtracted. With `pair` both CTAs of the pair do so at once: each has its rows of lhs
    and of the accumulator, and half of the columns of rhs, CTA 0 the first half. The CTA of rank 0 issues it. 64 rows
    of a pair's accumulator are in halves. With `depth`, only `depth` columns of lhs and rows of rhs count, from `first`
    on. Row i of the accumulator stays as it is where bit i % 32 of word i / 32 of `skipped` is set. With `shifted` row
    i of the product is that of row `shifted` + i of lhs, with `every n by p` of row `shifted` + i / n * p + i % n
    (README.md, "Rows inside of lhs" and "Weight-stationary multiplies"). With `ashift` the rows of lhs, in all steps
    along K but the last, move up by one after they are read (README.md, "Shifted rows").
    """

    interface = Interface(Category.MULTIPLY, Memory.TENSOR, executor=Executor.MULTIPLY, scratch=Scratch.NONE)
    accumulator: Operand[TensorBuffer]
    lhs: Operand[Buffer]
    rhs: Operand[SharedBuffer]
    accumulate: Operand[Boolean]
    skipped: Sequence[Operand[Integer32]]
    kind: AnyKind
    rhs_kind: PackedKind | None
    lhs_unsigned: Flag
    rhs_unsigned: Flag
    negated: Flag
    pair: Flag
    first: Int32 | None
    depth: Int32 | None
    shifted: Int32 | None
    period: Int32 | None
    pitch: Int32 | None
    ashift: Flag
    scale: Int32 | None
    id: Int32 | None
    assembly = (
        f"$kind{RHS_KIND_CLAUSE} {{$pair }}{PRODUCTS}{{ from $first depth $depth}} into $accumulator"
        f" accumulate $accumulate{SCALE_CLAUSE}"
        f"{SKIPPED_CLAUSE}{SHIFTED_CLAUSE}{ID_CLAUSE} attr-dict : type($lhs), type($rhs) -> type($accumulator)"
    )
    rules = [
        weight_stationary,
        rows_inside,
        pair_shapes,
        elements_of_operands,
        *SIGNS,
        places_of_operands,
        whole_steps,
        part_of_depth,
        skipped_rows,
        moved_rows,
        scaled_accumulator,
    ]


class Tcgen05MmaSparseOp(Operation, name="tcgen05_mma_sparse"):
    """accumulator = dense(lhs, metadata) * rhs + (accumulator where `accumulate`, else 0).

    lhs has two of each four elements along K, of tf32 one of each two, and the metadata says which (dialect/tilex).
    """

    interface = Interface(Category.MULTIPLY, Memory.TENSOR, executor=Executor.MULTIPLY, scratch=Scratch.NONE)
    accumulator: Operand[TensorBuffer]
    lhs: Operand[SharedBuffer]
    rhs: Operand[SharedBuffer]
    metadata: Operand[TensorBuffer]
    accumulate: Operand[Boolean]
    kind: Kind
    lhs_unsigned: Flag
    rhs_unsigned: Flag
    id: Int32 | None
    assembly = (
        f"$kind {OPERANDS} sparse $metadata into $accumulator accumulate $accumulate{ID_CLAUSE} attr-dict"
        " : type($lhs), type($rhs), type($metadata) -> type($accumulator)"
    )
    rules = [sparse_shapes, signs_of_integers]


class WgmmaOp(Operation, name="wgmma"):
    """result = lhs * rhs + accumulator, in flight until `wgmma_wait`. With `metadata` lhs is sparse (dialect/tilex).

    An lhs in registers has the layout `wgmma_operand` (lowering/layout/wgmma.py), metadata `wgmma_metadata`. With
    `promote` the sums of 128 products are formed apart and added to the accumulator in f32, and the result is complete.
    With `factors` these are whole sums, multiplied by one tile after the other, and added as the last one multiplies.
    With `negated` the product is subtracted. With `shifted` the rows of lhs are those of `tcgen05_mma`.
    """

    interface = Interface(Category.MULTIPLY, scratch=Scratch.NONE)
    result: Result[T]
    accumulator: Operand[T]
    lhs: Operand[MatrixLhs]
    rhs: Operand[SharedBuffer]
    metadata: Operand[RegisterTile] | None
    factors: Sequence[Operand[T]]
    kind: Kind
    lhs_unsigned: Flag
    rhs_unsigned: Flag
    negated: Flag
    promote: Flag
    shifted: Int32 | None
    period: Int32 | None
    pitch: Int32 | None
    id: Int32 | None
    assembly = (
        f"$kind {{$promote }}{PRODUCTS}{{ sparse $metadata : type($metadata)}}, $accumulator{{ times [$factors]}}"
        f"{_RUN_CLAUSE}{ID_CLAUSE} attr-dict"
        " : type($lhs), type($rhs) -> type($result)"
    )
    rules = [shapes_with_metadata, rows_inside, elements_of_operands, *SIGNS, promoted_types]


class WgmmaWaitOp(Operation, name="wgmma_wait"):
    """Waits until at most `pending` multiplies are in flight; the result is complete if `pending` is zero.

    Otherwise it is in flight as before, and only `wgmma` and `wgmma_wait` read it.
    """

    interface = Interface(Category.SYNCHRONIZATION, scratch=Scratch.NONE)
    result: Result[T]
    accumulator: Operand[T]
    pending: Int32
    assembly = "$accumulator pending $pending attr-dict : type($result)"


class MmaSyncOp(Operation, name="mma_sync"):
    """result = lhs * rhs + accumulator by the warps, each of which computes its fragments of the accumulator.

    With `metadata` lhs is sparse (dialect/tilex); it has the layout `sparse_metadata` (lowering/layout/mma_sync.py).
    """

    interface = Interface(Category.MULTIPLY)
    result: Result[T]
    accumulator: Operand[T]
    lhs: Operand[SharedBuffer]
    rhs: Operand[SharedBuffer]
    metadata: Operand[RegisterTile] | None
    lhs_unsigned: Flag
    rhs_unsigned: Flag
    id: Int32 | None
    assembly = (
        f"{OPERANDS}{{ sparse $metadata : type($metadata)}}, $accumulator{ID_CLAUSE} attr-dict"
        " : type($lhs), type($rhs) -> type($result)"
    )
    rules = [shapes_with_metadata, elements_of_operands, signs_of_integers]


class DotOp(Operation, name="dot"):
    """result = lhs * rhs + accumulator by multiply-adds, k ascending.

    Sums of floats of at most 32 bits are in f32, rounded to the accumulator's type at the end. Sums of i8 wrap in i32.
    """

    interface = Interface(Category.MULTIPLY)
    result: Result[T]
    accumulator: Operand[T]
    lhs: Operand[SharedBuffer]
    rhs: Operand[SharedBuffer]
    lhs_unsigned: Flag
    rhs_unsigned: Flag
    id: Int32 | None
    assembly = f"{OPERANDS}, $accumulator{ID_CLAUSE} attr-dict : type($lhs), type($rhs) -> type($result)"
    rules = [matrix_shapes, elements_of_operands, signs_of_integers]
