"""Divides a tile block among the CTAs of a cluster: by the hint num_ctas or by the choice of the model.

    mmaf : 256x64, 64x128 -> 256x128 in a loop, with both operands by TMA   ->   2 CTAs, if pairs are faster
    reduce : 1x65536 -> 1   ->   as many CTAs as have the registers for the rows

The conditions for pairs are those of `share-loads`, so that the CTAs multiply in pairs (dialect/tile_gpu/README.md).
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from tilec.compile_options import CompileOptions
from tilec.dialect.build import build
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.kernel import CLUSTERS
from tilec.dialect.tilex.im2col_rules import TILE_PIXELS
from tilec.dialect.tilex.im2col_type import WEIGHTS
from tilec.dialect.walk import operations_below, operations_inside, operations_named
from tilec.lowering.kernel_hints import CLUSTER_CHOICE
from tilec.lowering.model.constants import device_of
from tilec.lowering.model.matmul import PairTimes, pair_times
from tilec.lowering.plan.chain_room import ChainRoom, chain_room, copied_entry, divide_chain
from tilec.lowering.plan.choice import Choice
from tilec.lowering.plan.cluster_shape import LEAST_COLUMNS, ClusterShape, cluster_shapes
from tilec.lowering.plan.matrix.matrix_plan import matrix_plan
from tilec.lowering.plan.matrix.pairs import (
    COLUMN_STEP,
    MOST_COLUMNS,
    NARROW_ROWS,
    PAIR,
    fit_tensor_memory,
    has_columns_of_pair,
    is_done_by_pairs,
    is_in_narrow_pair,
    mark_narrow_pairs,
    narrow_multiplies,
    narrow_pair_refusal,
)
from tilec.lowering.plan.matrix.stationary_tiles import is_weight_stationary
from tilec.lowering.plan.warp_choice import WARP_COUNTS, registers_available, registers_needed
from tilec.lowering.target import LANES, TENSOR_LANES, Target
from tilec.lowering.tile.analysis.constants import integer_splat
from tilec.lowering.tile.analysis.tile_operations import (
    DIVISIBLE_MULTIPLIES,
    LOADS,
    MULTIPLIES,
    PLAIN_MULTIPLIES,
    SCALED_MULTIPLIES,
    in_loop,
)
from tilec.lowering.tile.divide.divide_rows import check_divisible, divide_columns, divide_rows, remove_argument
from tilec.lowering.tile.divide.divide_stores import SLICE_BYTES, divide_stores
from tilec.lowering.tile.divide.divided_dimensions import (
    COLUMNS,
    ROWS,
    STORES,
    Divided,
    NotDivisibleError,
    divided_tile,
)
from tilec.lowering.tile.simplify.remove_dead import remove_dead
from tilec.lowering.tile_to_gpu.access.alignment import element_bits
from tilec.lowering.tile_to_gpu.access.memory_order import MemoryOrder
from tilec.remarks import Remark

_ROWS = PAIR * TENSOR_LANES
_REDUCE = "cuda_tile.reduce"
# Rows with at most this number of elements per thread fit registers: a quarter of the elements that a thread can have.
_MANY = 64
# Operations that the program executes once, and that each CTA would execute.
_ONCE = ("cuda_tile.assert", "cuda_tile.alloca")


def divide_among_ctas(entry: ir.OpView, target: Target, options: CompileOptions, remarks: list[Remark]) -> Choice:
    """The number of CTAs per tile block, 1 if the entry stays whole; `remarks` gets the reason if a hint asks for more.

    Without a hint it is the choice of choose_cluster. A divided entry has the number of the CTA as its last argument.
    """
    ctas = options.num_ctas
    room = room_of(entry, target, options)
    shape = room.shape
    if shape.ctas > 1:
        _divide_by(entry, shape, lambda: divide_chain(entry, shape, check_order), room.slice_bytes)
        reason = "the memory or the registers of one CTA do not hold the tiles of a chain of multiplies"
        if ctas is None:
            entry.operation.attributes[CLUSTER_CHOICE] = ir.StringAttr.get(reason)
        return Choice(shape.ctas, reason)
    if ctas is None:
        return _divide_among_chosen(entry, target, options)
    hint = f"hint num_ctas={ctas}"
    if ctas == 1:
        return Choice(1, hint)
    reason, location = f"clusters have {', '.join(map(str, CLUSTERS[1:]))} blocks", source_location(entry.location)
    count = 1
    if ctas in CLUSTERS:
        try:
            _divide(entry, ctas, target, options)
            return Choice(ctas, hint)
        except NotDivisibleError as error:
            reason, location = str(error), error.location or location
        count = _fewer_ctas(entry, ctas, target, options)
    blocks = "one block" if count == 1 else f"{count} blocks"
    message = f"num_ctas={ctas} is not followed: {reason}; each tile block runs as {blocks}"
    remarks.append(Remark("hint", message, location))
    return Choice(count, f"{hint} is not followed: {reason}")


def _fewer_ctas(entry: ir.OpView, ctas: int, target: Target, options: CompileOptions) -> int:
    """The most CTAs below `ctas` that divide an entry with block scaling, for which one CTA may lack tensor memory."""
    if not any(op.name in SCALED_MULTIPLIES for op in operations_inside(entry)):
        return 1
    for count in reversed(CLUSTERS[1 : CLUSTERS.index(ctas)]):
        try:
            _divide(entry, count, target, options)
            return count
        except NotDivisibleError:
            continue
    return 1


def _divide_among_chosen(entry: ir.OpView, target: Target, options: CompileOptions) -> Choice:
    choice = choose_cluster(entry, target, options)
    if choice.value == 1:
        return choice
    try:
        _divide(entry, choice.value, target, options)
    except NotDivisibleError as error:
        return Choice(1, f"{choice.value} CTAs cannot divide it: {error}")
    # For the report of the cost.
    entry.operation.attributes[CLUSTER_CHOICE] = ir.StringAttr.get(choice.reason)
    return choice


def _divide(entry: ir.OpView, ctas: int, target: Target, options: CompileOptions) -> None:
    """Divides an entry in place; raises NotDivisibleError for the last shape of the cluster if none is possible."""
    if not any(op.name in DIVISIBLE_MULTIPLIES for op in operations_inside(entry)):
        divide_columns(entry, ctas, check_order)
        return
    shape = divisible_shape(entry, ctas, target)

    def divide(whole: ir.OpView) -> None:
        if shape.columns > 1:
            divide_rows(whole, shape.columns, LEAST_COLUMNS, check_order, COLUMNS)
        if shape.rows > 1:
            _divide_rows(whole, shape.rows, target, options)

    if shape.rows > 1 and shape.columns > 1:
        # Whether blocks multiply in pairs is known when the columns are divided.
        _module, copy = copied_entry(entry)
        divide(copy)
    _divide_by(entry, shape, lambda: divide(entry))


def _divide_by(
    entry: ir.OpView, shape: ClusterShape, divide: Callable[[], None], slice_bytes: int = SLICE_BYTES
) -> None:
    """Divides an entry in place, and makes the number of the CTA its last argument."""
    divide()
    if shape.rows > 1 and shape.columns > 1:
        _join_numbers(entry, shape)
    if shape.columns > 1:
        # The slices of whole tiles would not be those of the columns of a CTA (lowering/tile_to_gpu/tile_stage.py).
        module = entry.operation.parent
        if not any(map(is_in_narrow_pair, operations_named(entry, PLAIN_MULTIPLIES))):
            divide_stores(module, slice_bytes)
        remove_dead(module)


def _divide_rows(entry: ir.OpView, ctas: int, target: Target, options: CompileOptions) -> None:
    if target.multiplies_in_pairs and (narrow := narrow_multiplies(entry, ctas)):
        _divide_narrow_rows(entry, narrow[0], ctas, target, options)
    else:
        # The rows of images in mode "weights" are N of the instruction, with the same rate for each.
        are_columns = all(map(is_weight_stationary, operations_named(entry, DIVISIBLE_MULTIPLIES)))
        divide_rows(entry, ctas, TILE_PIXELS[WEIGHTS][0] if are_columns else target.multiplied_rows, check_order)


def divisible_shape(entry: ir.OpView, ctas: int, target: Target) -> ClusterShape:
    """The best shape of a cluster whose divisions of columns the operations of an entry allow."""
    shapes = cluster_shapes(entry, ctas, target)
    return next(shape for shape in shapes if shape.columns == 1 or _is_divisible(entry, shape, target))


def room_of(entry: ir.OpView, target: Target, options: CompileOptions) -> ChainRoom:
    """The division of a chain of multiplies whose tiles exceed one CTA; one CTA for other entries.

    A hint `occupancy` changes nothing: an SM has no room for several blocks of tiles that one CTA does not hold.
    """
    count = options.num_ctas
    if _runs_once(entry):
        return ChainRoom()
    counts = CLUSTERS[1:] if count is None else [count] if count in CLUSTERS[1:] else []
    return chain_room(entry, target, options, counts, check_order)


def planned_shape(entry: ir.OpView, ctas: int, target: Target) -> ClusterShape:
    """The shape of the cluster that divides an entry with multiplies; one CTA if its operations allow none."""
    if ctas not in CLUSTERS or ctas == 1:
        return ClusterShape(1)
    shape = divisible_shape(entry, ctas, target)
    return shape if shape.columns > 1 or _is_divisible(entry, shape, target) else ClusterShape(1)


def _is_divisible(entry: ir.OpView, shape: ClusterShape, target: Target) -> bool:
    least_rows = NARROW_ROWS if target.multiplies_in_pairs else target.multiplied_rows
    try:
        for ctas, least, along in ((shape.columns, LEAST_COLUMNS, COLUMNS), (shape.rows, least_rows, ROWS)):
            if ctas > 1:
                check_divisible(entry, ctas, least, check_order, along)
    except NotDivisibleError:
        return False
    return True


def _join_numbers(entry: ir.OpView, shape: ClusterShape) -> None:
    """Computes the number of the CTA along the columns and along the rows, the last two arguments, from one number."""
    block = entry.body.blocks[0]
    *_, column, number = block.arguments
    type = number.type
    with ir.InsertionPoint.at_block_begin(block), entry.location:
        along_rows = build("andi", [number, integer_splat(type, shape.rows - 1)], [type])
        shift = integer_splat(type, shape.rows.bit_length() - 1)
        along_columns = build("shri", [number, shift], [type], {"signedness": "unsigned"})
    for use in list(number.uses):
        if use.owner.operation not in (along_rows, along_columns):
            use.owner.operation.operands[use.operand_number] = along_rows.results[0]
    column.replace_all_uses_with(along_columns.results[0])
    remove_argument(entry, len(block.arguments) - 2)


def _divide_narrow_rows(
    entry: ir.OpView, multiply: ir.OpView, ctas: int, target: Target, options: CompileOptions
) -> None:
    """Without pairs 64 rows take a block as long as 128."""
    refusal = narrow_pair_refusal(entry, ctas, target, options)
    if refusal is not None:
        raise NotDivisibleError(f"blocks with {NARROW_ROWS} rows each must multiply in pairs, but {refusal}", multiply)
    divide_rows(entry, ctas, NARROW_ROWS, check_order)
    mark_narrow_pairs(entry)


def check_order(entry: ir.OpView, divided: Divided) -> None:
    """Raises NotDivisibleError if tokens order an access after one of rows that another CTA accesses."""
    order = MemoryOrder(list(operations_below(entry)))
    for op in operations_below(entry):
        for earlier in order.before(op):
            are_loads = earlier.name in LOADS and op.operation.name in LOADS
            if not are_loads and not _is_same_part(op.operation, earlier, divided):
                raise NotDivisibleError("a token orders an access after one of the rows of another block", op)


def _is_same_part(op: ir.Operation, earlier: ir.Operation, divided: Divided) -> bool:
    """Whether both accesses divide a tensor alike: then each element belongs to one CTA, for all indices.

    One CTA does all stores of tiles that are not divided.
    """
    if all(each.name in STORES and divided_tile(each, divided) is None for each in (op, earlier)):
        return True
    divisions = [_division(each, divided) for each in (op, earlier)]
    return None not in divisions and divisions[0] == divisions[1]


def _division(op: ir.Operation, divided: Divided) -> tuple[ir.Value, int, int] | None:
    """The tensor of an access, its divided dimension and the extent of tiles along it; None if it is not divided."""
    if op.name not in ("cuda_tile.load_view_tko", "cuda_tile.store_view_tko"):
        return None
    tile = divided_tile(op, divided)
    if tile is None:
        return None
    view = op.opview.view
    dimension = divided[tile]
    return view.owner.operands[0], view.type.dim_map[dimension], view.type.tile_shape[dimension]


def choose_cluster(entry: ir.OpView, target: Target, options: CompileOptions) -> Choice:
    """The CTAs that compute each tile block of an entry without the hint num_ctas."""
    operations = list(operations_below(entry))
    if options.occupancy not in (None, 1):
        return Choice(1, f"hint occupancy={options.occupancy}")
    if _runs_once(entry):
        return Choice(1, "each CTA would execute an assertion or an allocation of the program")
    multiplies = [op for op in operations if op.operation.name in MULTIPLIES]
    if not multiplies:
        return _for_long_rows(entry, target, options, operations)
    refusal = _pair_refusal(target, options, operations, multiplies)
    if refusal is not None:
        return Choice(1, refusal)
    times = [_times(op, target) for op in multiplies]
    ctas, other = (PAIR, 1) if all(each.pair_is_faster for each in times) else (1, PAIR)
    return Choice(ctas, str(times[0]), str(other))


def _runs_once(entry: ir.OpView) -> bool:
    return any(op.name in _ONCE for op in operations_inside(entry))


# ---- long rows


def _for_long_rows(entry: ir.OpView, target: Target, options: CompileOptions, operations: list[ir.OpView]) -> Choice:
    """The fewest CTAs with which a thread has the registers for its elements of the rows."""
    warps = options.warps if options.warps in WARP_COUNTS else WARP_COUNTS[-1]
    if not any(_has_long_rows(op, warps) for op in operations):
        return Choice(1)
    plan = matrix_plan(entry, target, warps, MemoryOrder(operations) if options.tma else None)
    needed, available = registers_needed(entry, plan, warps), registers_available(plan, warps)
    ctas = next((ctas for ctas in CLUSTERS if needed <= ctas * available), CLUSTERS[-1])
    if ctas == 1:
        return Choice(1, f"a block needs {needed} registers per thread of {available}", str(CLUSTERS[1]))
    return Choice(ctas, f"a block would need {needed} registers per thread of {available}", str(ctas // 2))


def _has_long_rows(op: ir.OpView, warps: int) -> bool:
    """Whether a thread would have many elements of a tile that a reduction reads."""
    return op.operation.name == _REDUCE and prod(op.operation.operands[0].type.shape) > _MANY * LANES * warps


# ---- pairs


def _pair_refusal(
    target: Target, options: CompileOptions, operations: list[ir.OpView], multiplies: list[ir.OpView]
) -> str | None:
    """Why two CTAs cannot multiply together; None if they can."""
    if not target.multiplies_in_pairs:
        return f"CTAs of {target.name} do not multiply in pairs"
    if not (options.tma and options.roles and options.pipeline):
        return "pairs need the options tma, roles and pipeline"
    if not all(_has_shape_of_pair(op) for op in multiplies):
        return f"a pair multiplies {_ROWS} rows in a loop, and {COLUMN_STEP} to {MOST_COLUMNS} columns"
    if not fit_tensor_memory(multiplies, target):
        return "the accumulators of a pair do not fit tensor memory"
    order = MemoryOrder(operations)
    if not all(is_done_by_pairs(op, target, order, PAIR) for op in multiplies):
        return "TMA does not load both operands of each multiply from known positions"
    return None


def _has_shape_of_pair(op: ir.OpView) -> bool:
    if op.operation.name not in DIVISIBLE_MULTIPLIES or op.acc.type.rank != 2 or not in_loop(op):
        return False
    return op.acc.type.shape[0] == _ROWS and has_columns_of_pair(op)


def _times(op: ir.OpView, target: Target) -> PairTimes:
    rows, columns = op.acc.type.shape
    tile = rows, columns, op.lhs.type.shape[1]
    return pair_times(tile, element_bits(op.lhs.type.element), target, device_of(target.name))
