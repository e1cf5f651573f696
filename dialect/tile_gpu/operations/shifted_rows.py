"""Operand lhs of multiplies in tensor memory, whose rows move up by one for each tap (README.md, "Shifted rows")."""

from collections.abc import Sequence

from tilec.dialect.attributes import Flag, Int32
from tilec.dialect.fields import Operand, Result, TypeVariable
from tilec.dialect.mlir import ext, ir
from tilec.dialect.tile_gpu.interface import Category, Executor, Interface, Memory, Scratch
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.sets import Integer32, SharedBuffer, TensorBuffer
from tilec.dialect.tile_gpu.types import BufferType
from tilec.dialect.verify import types_only
from tilec.dialect.walk import operations_in, users_of

# The rows of lhs, one per lane, and the groups of lanes that move alone (PTX ISA 9.7.16.9.3).
LHS_ROWS, LANE_GROUPS = 128, 4
LHS_LAYOUT = f"lanes={LHS_ROWS} packed"
_SWIZZLES = ("contiguous=1 swizzle=64B", "contiguous=1 swizzle=128B")
T = TypeVariable("T", TensorBuffer)
_ASHIFT = "ashift"
_PLACE_ROWS, _SHIFT_ROWS = "tile_gpu.place_rows", "tile_gpu.shift_rows"


def _run_problem(source: BufferType, rows: BufferType) -> str | None:
    """The problem with the types of a run in shared memory and of its rows in tensor memory, or None."""
    if rows.layout != LHS_LAYOUT or rows.shape[0] != LHS_ROWS:
        return f"expected {LHS_ROWS} rows in the layout '{LHS_LAYOUT}', but got {rows.spelled()}"
    if source.layout not in _SWIZZLES or len(source.shape) != 2 or source.shape[0] < LHS_ROWS:
        expected = f"at least {LHS_ROWS} rows in the layout {' or '.join(_SWIZZLES)}"
        return f"expected a run of {expected}, but got {source.spelled()}"
    if (source.element, source.shape[1]) != (rows.element, rows.shape[1]):
        return f"expected rows of one length and element, but got {source.spelled()} and {rows.spelled()}"
    return None


def _new_rows_problem(op: ir.OpView) -> str | None:
    """The run has the rows of tap `tap`: four for each tap after the first one."""
    most = (op.source.type.shape[0] - LHS_ROWS) // LANE_GROUPS
    return None if 0 < op.tap <= most else f"expected a tap from 1 to {most}, whose rows the run has, but got {op.tap}"


def _last_use_of_tap(op: ir.OpView) -> str | None:
    """Rows are shifted by one tap, in the block of their copy, after all multiplies of the tap before."""
    maker, block = op.rows.owner, op.operation.block
    if isinstance(maker, ir.Block) or maker.operation.name not in (_PLACE_ROWS, _SHIFT_ROWS):
        return f"expected rows of {_PLACE_ROWS} or {_SHIFT_ROWS}"
    before = 0 if maker.operation.name == _PLACE_ROWS else maker.opview.tap
    if op.tap != before + 1 or maker.opview.source != op.source:
        return f"expected tap {before + 1} of the run whose rows are shifted, but got tap {op.tap}"
    users = [use.owner.operation for use in op.rows.uses if use.owner.operation != op.operation]
    if maker.operation.block != block or any(user.block != block or not user.is_before_in_block(op) for user in users):
        return "rows are shifted in the block of their copy, and have no later use"
    if not users:
        return "expected a multiply of the rows before they are shifted again"
    return _moved_alike(users, op)


def _moved_alike(multiplies: Sequence[ir.Operation], op: ir.OpView) -> str | None:
    """The multiply of a tap moves rows if and only if the shift after it says so; it is the only one then."""
    moving = [multiply for multiply in multiplies if _ASHIFT in multiply.attributes]
    if len(moving) == int(op.after_ashift) and (not moving or len(multiplies) == 1):
        return None
    expected = "one multiply of the rows, with ashift," if op.after_ashift else "no multiply with ashift"
    return f"expected {expected} before they are shifted, but got {len(moving)} of {len(multiplies)}"


def _last_multiply(op: ir.OpView) -> str | None:
    """As for shifts of placed rows: the operation before it in the block that uses the rows is its multiply."""
    users = set(users_of(op.rows))
    block = operations_in(op.operation.block)
    before = [each for each in block[: block.index(op.operation)] if each in users]
    return _moved_alike(before[-1:], op)


@types_only
def _placed_run(op: ir.OpView) -> str | None:
    return _run_problem(op.source.type, op.result.type)


@types_only
def _copied_run(op: ir.OpView) -> str | None:
    return _run_problem(op.source.type, op.rows.type)


class PlaceRowsOp(Operation, name="place_rows"):
    """The first 128 rows of a run in tensor memory, from shared memory: lhs at tap 0."""

    interface = Interface(Category.PLACED, Memory.TENSOR)
    result: Result[TensorBuffer]
    source: Operand[SharedBuffer]
    assembly = "$source attr-dict : type($source) -> type($result)"
    rules = [_placed_run]


class ShiftRowsOp(Operation, name="shift_rows"):
    """lhs at tap `tap`, in the place of `rows`, lhs at the tap before, which no later operation uses."""

    interface = Interface(Category.PLACED, Memory.TENSOR)
    result: Result[T]
    rows: Operand[T]
    source: Operand[SharedBuffer]
    tap: Int32
    after_ashift: Flag
    assembly = "$rows from $source tap $tap{ $after_ashift} attr-dict : type($source) -> type($result)"
    rules = [_copied_run, _new_rows_problem, _last_use_of_tap]


class Tcgen05CopyRowsOp(Operation, name="tcgen05_copy_rows"):
    """rows[i] = source[i]: the first 128 rows of a run."""

    interface = Interface(Category.COPY, Memory.TENSOR, executor=Executor.MULTIPLY)
    source: Operand[SharedBuffer]
    rows: Operand[TensorBuffer]
    assembly = "$source -> $rows attr-dict : type($source) -> type($rows)"
    rules = [_copied_run]


class Tcgen05ShiftRowsOp(Operation, name="tcgen05_shift_rows"):
    """rows[i] = rows[i + 1], but the last row of group g of 32 is row 128 + 4 * (tap - 1) + g of the source.

    With `after_ashift` the multiply before has moved the rows of all steps along K but the last.
    """

    interface = Interface(Category.COPY, Memory.TENSOR, executor=Executor.MULTIPLY)
    source: Operand[SharedBuffer]
    rows: Operand[TensorBuffer]
    tap: Int32
    after_ashift: Flag
    assembly = "$source tap $tap{ $after_ashift} -> $rows attr-dict : type($source) -> type($rows)"
    rules = [_copied_run, _new_rows_problem, _last_multiply]


def _interval(op: ir.OpView) -> str | None:
    if 0 <= op.begin < op.end <= op.period:
        return None
    return f"expected an interval inside of a period of {op.period}, but got {op.begin} to {op.end}"


class RowsInIntervalOp(Operation, name="rows_in_interval", traits=[ext.Pure]):
    """Bit i % 32 of word i / 32: whether (start + i) % period is in [begin, end), for the 128 rows i of lhs.

    The start is not negative.
    """

    interface = Interface(Category.SCALAR, executor=Executor.ANY, scratch=Scratch.NONE, is_pure=True)
    first: Result[Integer32]
    second: Result[Integer32]
    third: Result[Integer32]
    fourth: Result[Integer32]
    start: Operand[Integer32]
    period: Int32
    begin: Int32
    end: Int32
    assembly = "$start period $period from $begin to $end attr-dict"
    rules = [_interval]


# The most columns of a span of a zero-column mask (PTX ISA 9.7.16.4.3).
MOST_OF_SPAN = 256


def _spans(op: ir.OpView) -> str | None:
    zeros, groups = op.end - op.begin, LHS_ROWS // op.columns if op.columns in (32, 64, 128) else 0
    if not groups or op.rows % groups:
        return f"expected 32, 64 or 128 columns, and rows for each group of lanes, but got {op.columns}, {op.rows}"
    if not 0 < zeros <= MOST_OF_SPAN or not 0 < op.period - zeros <= MOST_OF_SPAN:
        expected = f"expected 1 to {MOST_OF_SPAN} rows of a period that are zero, and as many others"
        return f"{expected}, but got {zeros} of {op.period}"
    return None


class ZeroRowsOp(Operation, name="zero_rows", traits=[ext.Pure]):
    """The words of a zero-column mask, by which row i of a product is zero if (start + i) % period is in [begin, end).

    The product has `rows` rows and `columns` columns, and a transposed accumulator. The start is not negative.
    """

    interface = Interface(Category.SCALAR, executor=Executor.ANY, scratch=Scratch.NONE, is_pure=True)
    first: Result[Integer32]
    second: Result[Integer32]
    start: Operand[Integer32]
    period: Int32
    begin: Int32
    end: Int32
    rows: Int32
    columns: Int32
    assembly = "$start period $period from $begin to $end of $rows by $columns attr-dict"
    rules = [_interval, _spans]
