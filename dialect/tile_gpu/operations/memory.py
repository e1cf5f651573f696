"""Shared and tensor memory, barriers and fences."""

from tilec.dialect.attributes import Flag, Int32
from tilec.dialect.fields import Operand, Result
from tilec.dialect.mlir import ext, ir
from tilec.dialect.tile_gpu.interface import Category, Executor, Interface, Memory, Scratch
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.sets import Integer32, RegisterTile, SharedBuffer, TensorBuffer
from tilec.dialect.verify import types_only


class SharedOp(Operation, name="shared"):
    """A buffer of the compute role alone, in memory of its own or in that of the buffer that it `shares`."""

    interface = Interface(Category.DECLARATION, executor=Executor.NONE, scratch=Scratch.NONE)
    buffer: Result[SharedBuffer]
    shares: Operand[SharedBuffer] | None
    assembly = "{shares $shares }attr-dict : type($buffer)"

    def check(self) -> str | None:
        owner = None if self.shares is None else self.shares.owner
        if owner is None or isinstance(owner, SharedOp) and owner.shares is None:
            return None
        return "a buffer must share memory that another tile_gpu.shared has of its own"


@types_only
def _same_shape(op: ir.OpView) -> str | None:
    tile = (op.results[0] if len(op.results) else op.operands[0]).type
    buffer = op.operands[-1].type
    if tuple(tile.shape) != buffer.shape or tile.element_type != buffer.element:
        return f"tile and buffer must agree, but got {tile} and {buffer.spelled()}"
    return None


def _same_columns(op: ir.OpView) -> str | None:
    """The tile has the shape of the buffer, or some of its columns."""
    if op.first_column is None:
        return _same_shape(op)
    tile = (op.results[0] if len(op.results) else op.operands[0]).type
    buffer, first = op.buffer.type, op.first_column
    rows, columns = tile.shape
    if (rows, tile.element_type) != (buffer.shape[0], buffer.element):
        return f"tile and buffer must agree in rows and elements, but got {tile} and {buffer.spelled()}"
    if not 0 <= first <= buffer.shape[1] - columns or first % columns:
        last = buffer.shape[1] - columns
        return f"expected a first column that is a multiple of {columns} from 0 to {last}, but got {first}"
    return None


class LoadSharedOp(Operation, name="load_shared"):
    """The tile in a shared buffer."""

    interface = Interface(Category.LOAD, Memory.SHARED, scratch=Scratch.NONE)
    result: Result[RegisterTile]
    buffer: Operand[SharedBuffer]
    assembly = "$buffer attr-dict : type($buffer) -> type($result)"
    rules = [_same_shape]


@types_only
def _rows_of_matrix(op: ir.OpView) -> str | None:
    tile, buffer, rows = op.result.type, op.buffer.type, op.rows.type
    if len(buffer.shape) != 2 or len(tile.shape) != 2 or tile.element_type != buffer.element:
        return f"expected a tile and a buffer of matrices of one element, but got {tile} and {buffer.spelled()}"
    if tile.shape[1] != buffer.shape[1]:
        return f"expected rows of {buffer.shape[1]} elements, as the buffer has, but got {tile}"
    if not buffer.layout.startswith("contiguous=1 "):
        return f"expected a buffer whose rows are contiguous, but got {buffer.spelled()}"
    if list(rows.shape) != list(tile.shape)[:1] or str(rows.element_type) != "i32":
        return f"expected {tile.shape[0]} numbers of rows of i32, but got {rows}"
    return None


def _row_in_buffer(op: ir.OpView) -> str | None:
    rows = op.buffer.type.shape[0]
    return None if 0 <= op.first < rows else f"expected a first row from 0 to {rows - 1}, but got {op.first}"


ROW_RULES = [_rows_of_matrix, _row_in_buffer]


class LoadSharedRowsOp(Operation, name="load_shared_rows"):
    """result[i] = buffer[rows[i] + first]: rows of a matrix in a shared buffer; undefined where it has no such row.

    The layout of `rows` is that of the result with its first dimension alone.
    """

    interface = Interface(Category.LOAD, Memory.SHARED, scratch=Scratch.NONE)
    result: Result[RegisterTile]
    buffer: Operand[SharedBuffer]
    rows: Operand[RegisterTile]
    first: Int32
    assembly = "$buffer rows $rows from $first attr-dict : type($buffer), type($rows) -> type($result)"
    rules = ROW_RULES


class StoreSharedOp(Operation, name="store_shared"):
    """Writes a tile into a shared buffer."""

    interface = Interface(Category.STORE, Memory.SHARED, scratch=Scratch.NONE)
    value: Operand[RegisterTile]
    buffer: Operand[SharedBuffer]
    assembly = "$value, $buffer attr-dict : type($value) -> type($buffer)"
    rules = [_same_shape]


class LoadTensorMemoryOp(Operation, name="load_tensor_memory"):
    """The tile in a tensor memory buffer, or in its columns from `first_column` on.

    It is complete when its registers are used.
    """

    interface = Interface(Category.LOAD, Memory.TENSOR, scratch=Scratch.NONE)
    result: Result[RegisterTile]
    buffer: Operand[TensorBuffer]
    first_column: Int32 | None
    assembly = "$buffer{ from $first_column} attr-dict : type($buffer) -> type($result)"

    rules = [_same_columns]


class StoreTensorMemoryOp(Operation, name="store_tensor_memory"):
    """Writes a tile into a tensor memory buffer, or into its columns from `first_column` on.

    The store is complete after the operation, or with `pending` after the next store without `pending`.
    """

    interface = Interface(Category.STORE, Memory.TENSOR, scratch=Scratch.NONE)
    value: Operand[RegisterTile]
    buffer: Operand[TensorBuffer]
    first_column: Int32 | None
    pending: Flag
    assembly = "$value, $buffer{ from $first_column}{ $pending} attr-dict : type($value) -> type($buffer)"
    rules = [_same_columns]


class StoreWaitOp(Operation, name="store_wait"):
    """The thread that issued `tma_store`s waits until they are visible, or until they have `read` their buffers."""

    interface = Interface(Category.SYNCHRONIZATION, scratch=Scratch.NONE)
    read: Flag
    assembly = "{$read }attr-dict"


class FenceAsyncOp(Operation, name="fence_async"):
    """Orders this thread's accesses of shared memory before those of TMA and tensor cores (PTX fence.proxy.async).

    With `global_memory` also its accesses of global memory.
    """

    interface = Interface(Category.SYNCHRONIZATION, scratch=Scratch.NONE)
    global_memory: Flag
    assembly = "{$global_memory }attr-dict"


class FenceAliasOp(Operation, name="fence_alias"):
    """Orders this thread's accesses across different addresses of the same memory (PTX fence.proxy.alias)."""

    interface = Interface(Category.SYNCHRONIZATION)


class AcquiredOp(Operation, name="acquired"):
    """Zero, once the accesses of this thread with order `acquire` or `acq_rel` that precede it are complete."""

    interface = Interface(Category.SYNCHRONIZATION, scratch=Scratch.NONE)
    result: Result[Integer32]
    assembly = "attr-dict"


class FenceAcquiredOp(Operation, name="fence_acquired"):
    """Orders the accesses that `acquired` waits for before later loads of TMA (PTX fence.proxy.async.global)."""

    interface = Interface(Category.SYNCHRONIZATION, executor=Executor.LOAD, scratch=Scratch.NONE)
    acquired: Operand[Integer32]
    assembly = "$acquired attr-dict"


class ScheduleBarrierOp(Operation, name="schedule_barrier"):
    """The assembler moves no instruction over it; the threads do not wait."""

    interface = Interface(Category.SYNCHRONIZATION, scratch=Scratch.NONE)


class BarrierOp(Operation, name="barrier"):
    """A barrier of all threads of the role; with `tensor` it orders their accesses of tensor memory, too."""

    interface = Interface(Category.SYNCHRONIZATION, scratch=Scratch.NONE)
    tensor: Flag
    assembly = "{$tensor }attr-dict"


class OrderWaitOp(Operation, name="order_wait"):
    """A warpgroup waits for the `order_signal` of the one before it in the role; the first waits for the last one.

    With `last`, after all loops of the role, the first warpgroup alone waits, for the signal that is left.
    """

    interface = Interface(Category.SYNCHRONIZATION, scratch=Scratch.NONE)
    last: Flag
    assembly = "{$last }attr-dict"


class OrderSignalOp(Operation, name="order_signal"):
    """A warpgroup signals to the one after it in the role, for its next `order_wait`; the last signals to the first.

    With `first`, before all loops of the role, the last warpgroup alone signals, so that the first one starts.
    """

    interface = Interface(Category.SYNCHRONIZATION, scratch=Scratch.NONE)
    first: Flag
    assembly = "{$first }attr-dict"


class ViewBufferOp(Operation, name="view_buffer", traits=[ext.Pure]):
    """The same bytes as a buffer of permuted dimensions, with dimensions of one element added or removed.

    Dimensions of rows that follow each other in memory may be one dimension of the result. A buffer of i8 may be viewed
    as one of the elements that share its bytes.
    """

    interface = Interface(Category.SCALAR, executor=Executor.ANY, scratch=Scratch.NONE, is_pure=True)
    result: Result[SharedBuffer]
    source: Operand[SharedBuffer]
    assembly = "$source attr-dict : type($source) -> type($result)"
