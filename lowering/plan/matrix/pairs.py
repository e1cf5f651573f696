"""Multiplies that two CTAs of a pair do together, and those of which each CTA has 64 rows: cta_group::2 with M = 128.

    mmaf : 128x64, 64x256 -> 128x256 with num_ctas=2   ->   mmaf {tilec.narrow_pair} : 64x64, 64x256 -> 64x256

An instruction takes a pair half of the cycles of 256 rows, but one CTA as many for 64 rows as for 128. So CTAs have 64
rows only if they multiply in pairs.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilec.compile_options import CompileOptions
from tilec.dialect.cuda_tile.types import PartitionViewType
from tilec.dialect.mlir import ir
from tilec.dialect.tilex.im2col_type import STATIONARY, WEIGHTS, Im2colViewType
from tilec.dialect.tilex.packed_type import PackedViewType
from tilec.dialect.walk import operations_below
from tilec.lowering.kernel_hints import allows_tma
from tilec.lowering.matrix_unit import MatrixUnit
from tilec.lowering.plan.matrix.accumulator import accumulators
from tilec.lowering.plan.matrix.operand_source import OperandSource, operand_source
from tilec.lowering.plan.matrix.row_loads import has_known_control, has_known_position
from tilec.lowering.plan.matrix.scale_factors import scale_columns
from tilec.lowering.plan.matrix.stationary_tiles import mode_of_images
from tilec.lowering.plan.matrix.unit_choice import matrix_types, unit_for
from tilec.lowering.target import TENSOR_LANES, Target
from tilec.lowering.tile.analysis.tile_operations import DIVISIBLE_MULTIPLIES, SCALED_MULTIPLIES, matrix_multiplies
from tilec.lowering.tile_to_gpu.access.image_run import ImageRun, image_run, is_of_run
from tilec.lowering.tile_to_gpu.access.memory_order import MemoryOrder
from tilec.lowering.tile_to_gpu.access.tensor_maps import TensorMap, tensor_map_for
from tilec.lowering.tile_to_gpu.access.tensor_modes import im2col_map_for

PAIR = 2
# PTX ISA 9.7.16.2.1, table 39: the limits of all kinds of pairs.
COLUMN_STEP, MOST_COLUMNS = 32, 256
# The fewest warps of a block: the unit of a multiply does not depend on more.
_WARPS = 4
NARROW_ROWS = 64
# The attribute of these multiplies, whose accumulators are in halves (dialect/tile_gpu/README.md, "Tensor memory").
_IN_NARROW_PAIR = "tilec.narrow_pair"


def is_in_narrow_pair(op: ir.OpView) -> bool:
    """Whether a multiply is one of 64 rows per CTA."""
    return _IN_NARROW_PAIR in op.operation.attributes


def narrow_multiplies(entry: ir.OpView, ctas: int) -> list[ir.OpView]:
    """The multiplies of which each CTA would have 64 rows, but those of images that stay: pairs have none."""
    found = [op for op in _multiplies(entry) if op.acc.type.shape[0] == ctas * NARROW_ROWS]
    return [op for op in found if mode_of_images(op) not in (STATIONARY, WEIGHTS)]


def multiplies_in_narrow_pairs(entry: ir.OpView, ctas: int, target: Target, options: CompileOptions) -> bool:
    """Whether each CTA would have 64 rows of a multiply, and can multiply in pairs."""
    has_pairs = ctas % PAIR == 0 and target.multiplies_in_pairs and narrow_multiplies(entry, ctas)
    return bool(has_pairs) and narrow_pair_refusal(entry, ctas, target, options) is None


def narrow_pair_refusal(entry: ir.OpView, ctas: int, target: Target, options: CompileOptions) -> str | None:
    """Why the CTAs cannot multiply their rows in pairs; None if they can. The entry is not divided yet.

    `ctas` is even, and the target multiplies in pairs.
    """
    multiplies = _multiplies(entry)
    if not options.tma:
        return "the option 'tma' is off"
    scaled = [op for op in narrow_multiplies(entry, ctas) if op.operation.name in SCALED_MULTIPLIES]
    if scaled:
        return f"block scaling needs {TENSOR_LANES} rows per block"
    if not all(_has_rows_of_pair(op, ctas) for op in multiplies):
        return "another multiply has neither 64 nor 128 rows per block"
    if not all(map(has_columns_of_pair, multiplies)):
        return f"a pair multiplies {COLUMN_STEP} to {MOST_COLUMNS} columns, in steps of {COLUMN_STEP}"
    if not fit_tensor_memory(multiplies, target):
        return f"the accumulators need more than {target.tensor_memory_columns} columns of tensor memory"
    order = MemoryOrder(list(operations_below(entry)))
    if not all(is_done_by_pairs(op, target, order, ctas) for op in multiplies):
        return "TMA does not load both operands of each multiply from known positions"
    return None


def _has_rows_of_pair(op: ir.OpView, ctas: int) -> bool:
    rows = op.acc.type.shape[0]
    return rows == ctas * NARROW_ROWS or rows % (ctas * TENSOR_LANES) == 0


def mark_narrow_pairs(entry: ir.OpView) -> None:
    """Marks the multiplies of 64 rows in an entry that is divided."""
    for op in _multiplies(entry):
        if op.acc.type.shape[0] == NARROW_ROWS:
            op.operation.attributes[_IN_NARROW_PAIR] = ir.UnitAttr.get()


def _multiplies(entry: ir.OpView) -> list[ir.OpView]:
    return matrix_multiplies(entry, DIVISIBLE_MULTIPLIES)


def has_columns_of_pair(op: ir.OpView) -> bool:
    """Whether a pair can multiply this number of columns."""
    columns = op.acc.type.shape[1]
    return columns % COLUMN_STEP == 0 and columns <= MOST_COLUMNS


def fit_tensor_memory(multiplies: Sequence[ir.OpView], target: Target) -> bool:
    """Whether the tensor memory of a CTA holds its rows, at most 128, of all accumulators, and scale factors."""
    places = dict.fromkeys(accumulators(multiplies).values())
    columns = sum(place.type.shape[1] for place in places) + sum(map(_factor_columns, multiplies))
    return columns <= target.tensor_memory_columns


def _factor_columns(op: ir.OpView) -> int:
    """The columns of tensor memory under the factors of 128 rows, and of all columns."""
    if op.operation.name not in SCALED_MULTIPLIES:
        return 0
    return scale_columns(op, max(1, op.acc.type.shape[0] // TENSOR_LANES))


def is_done_by_pairs(op: ir.OpView, target: Target, order: MemoryOrder, ctas: int) -> bool:
    """Whether TMA loads both operands, and all CTAs run the multiply of their rows equally often."""
    unit, _ = unit_for(op, target, _WARPS, ctas=ctas)
    if unit is None or not unit.accumulates_in_tensor_memory or unit.is_weight_stationary or not has_known_control(op):
        return False
    lhs, rhs = _source_by_tma(op.lhs, target, order, images=True), _source_by_tma(op.rhs, target, order)
    # Pairs of 64 rows read them from shared memory alone (lowering/gpu/channels/pair_multiplies.py).
    if lhs is not None and is_of_run(lhs.load) and op.acc.type.shape[0] == ctas * NARROW_ROWS:
        return False
    return lhs is not None and rhs is not None and _has_halves(op, rhs, unit)


def _has_adjacent_tiles(source: OperandSource) -> bool:
    return isinstance(source.load.view.type, PartitionViewType | PackedViewType)


def _is_image(source: OperandSource, target: Target) -> bool:
    """Whether TMA copies the pixels of a tile of images, which follow those of the tile before, or a run of them."""
    type = source.load.view.type
    if is_of_run(source.load):
        return isinstance(image_run(source.load, target), ImageRun)
    if not isinstance(type, Im2colViewType):
        return False
    return isinstance(im2col_map_for(source.load, target, rounds_to_tf32=source.rounds_to_tf32), TensorMap)


def _source_by_tma(operand: ir.Value, target: Target, order: MemoryOrder, images: bool = False) -> OperandSource | None:
    """The load of an operand if TMA copies adjacent tiles, from the same position in all CTAs but for their rows.

    They may be of `images`.
    """
    source = operand_source(operand)
    if isinstance(source, str) or not (_has_adjacent_tiles(source) or images and _is_image(source, target)):
        return None
    is_allowed = allows_tma(source.load, target) and order.may_run_early(source.load)
    return source if is_allowed and not source.merges_rows and has_known_position(source.load) else None


def _has_halves(op: ir.OpView, source: OperandSource, unit: MatrixUnit) -> bool:
    """Whether half of the columns of rhs have whole rows of a swizzle, if rows are along them."""
    if isinstance(source.load.view.type, PackedViewType):
        # PTX ISA 9.7.16.4: elements of less than 8 bits are along K.
        return True
    map, types = tensor_map_for(source.load.view), matrix_types(op)
    if isinstance(map, str) or map.contiguous not in source.dimensions:
        return False
    if source.dimensions.index(map.contiguous) == 0:
        return True
    rows = unit.mn_major.get(types.elements[1])
    return rows is not None and types.row_bytes(op.rhs.type.shape[1] // PAIR) >= rows.least_row_bytes
