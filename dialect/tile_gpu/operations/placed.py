"""Tiles that are values in shared or tensor memory, before channels and buffers (README.md, Placed tiles)."""

import itertools
from collections.abc import Sequence

from tilec.dialect.attributes import Flag, Int32
from tilec.dialect.fields import Operand, Result, TypeVariable
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.interface import Category, Interface, Memory
from tilec.dialect.tile_gpu.matrix_rules import (
    SIGNS,
    elements_of_operands,
    matrix_shapes,
    moved_rows,
    places_of_operands,
    rows_inside,
    scaled_accumulator,
    signs_of_integers,
    skipped_rows,
    sparse_shapes,
    weight_stationary,
    whole_steps,
)
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.operations.matrix import (
    ID_CLAUSE,
    OPERANDS,
    PRODUCTS,
    RHS_KIND_CLAUSE,
    SCALE_CLAUSE,
    SHIFTED_CLAUSE,
    SKIPPED_CLAUSE,
    AnyKind,
    Kind,
    PackedKind,
)
from tilec.dialect.tile_gpu.operations.memory import ROW_RULES
from tilec.dialect.tile_gpu.operations.scaled import scale_shapes, scaled_kind
from tilec.dialect.tile_gpu.operations.tma import (
    BUFFER_RULES,
    STORE_RULES,
    STORED_TO,
    Reduction,
    coordinates_of_map,
    element_of_map,
    halo_of_kind,
    map_of_kernel,
    offsets_of_kind,
    rows_of_map,
    slices_of_kind,
    stores_kind,
    swizzle_of_map,
)
from tilec.dialect.tile_gpu.sets import (
    Boolean,
    Buffer,
    Index,
    Integer16,
    Integer32,
    RegisterTile,
    SharedBuffer,
    TensorBuffer,
    TensorMap,
)
from tilec.dialect.tile_gpu.types import TENSOR
from tilec.dialect.verify import types_only

T = TypeVariable("T", TensorBuffer)
_MULTIPLIES = ("tile_gpu.multiply", "tile_gpu.multiply_scaled", "tile_gpu.multiply_sparse")


class LoadTileOp(Operation, name="load_tile"):
    """The box at `coordinates` of a tensor in shared memory; the operands are those of `tma_load`.

    Tiles of one `group` are in one ring in turn.
    """

    interface = Interface(Category.PLACED, Memory.SHARED)
    buffer: Result[SharedBuffer]
    map: Operand[TensorMap]
    coordinates: Sequence[Operand[Integer32]]
    offsets: Sequence[Operand[Integer16]]
    halo: Int32 | None
    group: Int32 | None
    slices: Int32 | None
    assembly = (
        "$map[$coordinates]{ offsets [$offsets]}{ halo $halo}{ group $group}{ slices $slices} attr-dict : type($buffer)"
    )
    rules = [map_of_kernel, coordinates_of_map, offsets_of_kind, halo_of_kind, slices_of_kind, *BUFFER_RULES]


class GatherTileOp(Operation, name="gather_tile"):
    """Rows of a matrix in shared memory; the operands are those of `tma_gather`."""

    interface = Interface(Category.PLACED, Memory.SHARED)
    buffer: Result[SharedBuffer]
    map: Operand[TensorMap]
    column: Operand[Integer32]
    rows: Operand[SharedBuffer]
    assembly = "$map[$column] rows $rows attr-dict : type($rows) -> type($buffer)"
    rules = [map_of_kernel, rows_of_map, swizzle_of_map, element_of_map]


class StoreTileOp(Operation, name="store_tile"):
    """Copies a tile in shared memory to a tensor, or combines both; the operands are those of `tma_store`.

    Tokens order it after accesses by threads (`after_accesses`), or after stores by TMA that may write the same
    elements (`after_stores`): with `after_itself` only those of the operation itself in earlier iterations.
    """

    interface = Interface(Category.PLACED, Memory.GLOBAL)
    map: Operand[TensorMap]
    coordinates: Sequence[Operand[Integer32]]
    end: Operand[Index] | None
    rows: Operand[SharedBuffer] | None
    buffer: Operand[SharedBuffer]
    reduction: Reduction | None
    after_stores: Flag
    after_itself: Flag
    after_accesses: Flag
    assembly = (
        f"$buffer -> {STORED_TO}{{ reduction $reduction}}{{ $after_stores}}{{ $after_itself}}"
        "{ $after_accesses} attr-dict : type($buffer)"
    )
    rules = [map_of_kernel, coordinates_of_map, stores_kind, *BUFFER_RULES, *STORE_RULES]


@types_only
def _same_tile(op: ir.OpView) -> str | None:
    values = [op.operands[0], op.results[0]]
    (tile,) = (value.type for value in values if isinstance(value.type, ir.RankedTensorType))
    (buffer,) = (value.type for value in values if not isinstance(value.type, ir.RankedTensorType))
    if tuple(tile.shape) != buffer.shape or tile.element_type != buffer.element:
        return f"expected one shape and element, but got {tile} and {buffer.spelled()}"
    return None


def _same_rows(op: ir.OpView) -> str | None:
    """The operand of a multiply in the columns of an accumulator that threads have read (README.md, Placed tiles)."""
    if op.over is None:
        return None
    own, sums = op.buffer.type, op.over.type
    if own.memory != TENSOR or own.shape[0] != sums.shape[0]:
        return f"a tile over an accumulator is in tensor memory and has its rows, but got {own.spelled()}"
    return None


def _last_use(op: ir.OpView) -> str | None:
    """No later operation needs the accumulator under a tile, and no other tile is in its columns."""
    if op.over is None:
        return None
    maker, path = op.over.owner, _path(op.operation)
    if isinstance(maker, ir.Block) or maker.operation.name not in _MULTIPLIES:
        return "a tile is over the result of a multiply"
    inside = itertools.takewhile(lambda each: each.block != maker.operation.block, path)
    if any(each.parent.name in ("scf.for", "scf.while") for each in inside):
        return "a tile is over the result of a multiply of the same iteration"
    users = [use.owner.operation for use in op.over.uses if use.owner.operation != op.operation]
    later = next((user for user in users if user.name == op.operation.name or _follows(user, path)), None)
    return None if later is None else f"a tile over an accumulator is its last use, but '{later.name}' uses it too"


def _path(op: ir.Operation) -> list[ir.Operation]:
    """An operation and those around it in the kernel, from the inside out."""
    found = [op]
    while found[-1].parent is not None and found[-1].parent.name != "tile_gpu.kernel":
        found.append(found[-1].parent.operation)
    return found


def _follows(user: ir.Operation, path: list[ir.Operation]) -> bool:
    """Whether an operation runs after that of a path; those of two branches of an `scf.if` do not."""
    pairs = ((each, other) for each in _path(user) for other in path if each.block == other.block)
    each, other = next(pairs)
    return bool(each != other and not each.is_before_in_block(other))


class PlaceOp(Operation, name="place"):
    """A register tile in shared or tensor memory. Tiles of one `group` are in use one after the other.

    A tile `over` an accumulator is in its columns: no operation needs the accumulator any more. One that is
    `read_before_next` needs no barrier in a loop: by other channels its uses precede the place of the next iteration.
    """

    interface = Interface(Category.PLACED)
    buffer: Result[Buffer]
    value: Operand[RegisterTile]
    over: Operand[TensorBuffer] | None
    group: Int32 | None
    read_before_next: Flag
    assembly = (
        "$value{ over $over : type($over)}{ group $group}{ $read_before_next} attr-dict : type($value) -> type($buffer)"
    )
    rules = [_same_tile, _same_rows, _last_use]


class ReadOp(Operation, name="read"):
    """The registers of a tile in shared or tensor memory."""

    interface = Interface(Category.PLACED)
    result: Result[RegisterTile]
    buffer: Operand[Buffer]
    assembly = "$buffer attr-dict : type($buffer) -> type($result)"
    rules = [_same_tile]


class ReadRowsOp(Operation, name="read_rows"):
    """Rows of a matrix in shared memory, in registers; the operands are those of `load_shared_rows`."""

    interface = Interface(Category.PLACED)
    result: Result[RegisterTile]
    buffer: Operand[SharedBuffer]
    rows: Operand[RegisterTile]
    first: Int32
    assembly = "$buffer rows $rows from $first attr-dict : type($buffer), type($rows) -> type($result)"
    rules = ROW_RULES


class UndefinedOp(Operation, name="undefined"):
    """An accumulator in tensor memory without a value yet."""

    interface = Interface(Category.PLACED, Memory.TENSOR)
    buffer: Result[TensorBuffer]
    assembly = "attr-dict : type($buffer)"


class MultiplyOp(Operation, name="multiply"):
    """result = lhs * rhs + (accumulator where `accumulate`, else 0), in the columns of the accumulator, by tcgen05.

    `negated`, the `scale` and rows that are `skipped` or `shifted` are those of `tcgen05_mma`.
    """

    interface = Interface(Category.PLACED_MULTIPLY, Memory.TENSOR)
    result: Result[T]
    accumulator: Operand[T]
    lhs: Operand[Buffer]
    rhs: Operand[SharedBuffer]
    accumulate: Operand[Boolean]
    skipped: Sequence[Operand[Integer32]]
    kind: AnyKind
    rhs_kind: PackedKind | None
    lhs_unsigned: Flag
    rhs_unsigned: Flag
    negated: Flag
    shifted: Int32 | None
    period: Int32 | None
    pitch: Int32 | None
    ashift: Flag
    scale: Int32 | None
    id: Int32 | None
    assembly = (
        f"$kind{RHS_KIND_CLAUSE} {PRODUCTS}, $accumulator accumulate $accumulate{SCALE_CLAUSE}{SKIPPED_CLAUSE}"
        f"{SHIFTED_CLAUSE}{ID_CLAUSE} attr-dict : type($lhs), type($rhs) -> type($result)"
    )
    rules = [
        matrix_shapes,
        weight_stationary,
        rows_inside,
        elements_of_operands,
        *SIGNS,
        places_of_operands,
        whole_steps,
        skipped_rows,
        moved_rows,
        scaled_accumulator,
    ]


class MultiplySparseOp(Operation, name="multiply_sparse"):
    """result = dense(lhs, metadata) * rhs + (accumulator where `accumulate`, else 0), as `multiply`."""

    interface = Interface(Category.PLACED_MULTIPLY, Memory.TENSOR)
    result: Result[T]
    accumulator: Operand[T]
    lhs: Operand[SharedBuffer]
    rhs: Operand[SharedBuffer]
    metadata: Operand[TensorBuffer]
    accumulate: Operand[Boolean]
    kind: Kind
    lhs_unsigned: Flag
    rhs_unsigned: Flag
    id: Int32 | None
    assembly = (
        f"$kind {OPERANDS} sparse $metadata, $accumulator accumulate $accumulate{ID_CLAUSE} attr-dict"
        " : type($lhs), type($rhs), type($metadata) -> type($result)"
    )
    rules = [sparse_shapes, signs_of_integers]


class PlaceScalesOp(Operation, name="place_scales"):
    """Scale factors, or the metadata of a sparse operand, in tensor memory, from shared memory."""

    interface = Interface(Category.PLACED, Memory.TENSOR)
    result: Result[TensorBuffer]
    source: Operand[SharedBuffer]
    assembly = "$source attr-dict : type($source) -> type($result)"


class MultiplyScaledOp(Operation, name="multiply_scaled"):
    """result = (lhs * lhs_scale) * (rhs * rhs_scale) + (accumulator where `accumulate`, else 0), as `multiply`."""

    interface = Interface(Category.PLACED_MULTIPLY, Memory.TENSOR)
    result: Result[T]
    accumulator: Operand[T]
    lhs: Operand[SharedBuffer]
    rhs: Operand[SharedBuffer]
    lhs_scale: Operand[TensorBuffer]
    rhs_scale: Operand[TensorBuffer]
    accumulate: Operand[Boolean]
    lhs_kind: PackedKind | None
    rhs_kind: PackedKind | None
    id: Int32 | None
    assembly = (
        f"$lhs, $rhs scaled $lhs_scale, $rhs_scale, $accumulator accumulate $accumulate{{ lhs_kind $lhs_kind}}"
        f"{RHS_KIND_CLAUSE}{ID_CLAUSE} attr-dict"
        " : type($lhs), type($rhs), type($lhs_scale), type($rhs_scale) -> type($result)"
    )
    rules = [matrix_shapes, scale_shapes]
    kind = property(scaled_kind)
