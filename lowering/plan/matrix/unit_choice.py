"""Which unit does each multiply: the first of the target that has its types, its shape and room in tensor memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.matrix_rules import NARROW_FLOATS
from tilec.dialect.tile_gpu.operations.channel import THREADS
from tilec.lowering.matrix_unit import TCGEN05_LEAST_COLUMNS, UNITS, MatrixTypes, MatrixUnit
from tilec.lowering.plan.matrix.accumulator import Accumulator
from tilec.lowering.plan.matrix.scale_factors import (
    columns_refusal,
    has_scaled_kind,
    least_factor_columns,
    scale_columns,
    scaled_refusal,
)
from tilec.lowering.plan.matrix.sharing import Sharing
from tilec.lowering.plan.matrix.stationary_tiles import is_weight_stationary
from tilec.lowering.target import TENSOR_LANES, Target
from tilec.lowering.tile.analysis.tile_operations import MMA_SPARSE, PLAIN_MULTIPLIES, SCALED_MULTIPLIES, loops_around
from tilec.lowering.tile.expand.widen_operands import NARROW_MULTIPLIES, is_widened


def matrix_types(op: ir.OpView) -> MatrixTypes:
    """The types of a multiply."""
    is_narrow, accumulator = op.operation.name in NARROW_MULTIPLIES, spell(op.acc.type.element)
    # Elements of less than 8 bits have a byte in shared memory, packed or converted.
    element, rhs = (
        "f8E4M3FN" if is_narrow and is_widened(tile) else spell(tile.type.element) for tile in (op.lhs, op.rhs)
    )
    if op.operation.name in SCALED_MULTIPLIES:
        shared = op.lhs.type.shape[-1] // op.lhs_scale.type.shape[-1]
        scale = spell(op.lhs_scale.type.element)
        return MatrixTypes(element, accumulator, scale=scale, scaled_elements=shared, rhs_element=rhs)
    if op.operation.name == MMA_SPARSE:
        return MatrixTypes(element, accumulator, bool(op.lhs_unsigned), bool(op.rhs_unsigned), is_sparse=True)
    if op.operation.name != "cuda_tile.mmai":
        return MatrixTypes(element, accumulator, fast=bool(op.fast_acc), rhs_element=rhs)
    return MatrixTypes(element, accumulator, op.signedness_lhs == "unsigned", op.signedness_rhs == "unsigned")


def unit_for(
    op: ir.OpView, target: Target, warps: int, free_columns: int | None = None, ctas: int = 1
) -> tuple[MatrixUnit | None, tuple[str, ...]]:
    """The first unit of the target that can do a multiply of rank 2, if any, and the reasons of those before it.

    `free_columns` of tensor memory are left for the multiply; all of the target if absent. Each of `ctas` CTAs
    multiplies its part of the rows.
    """
    types = matrix_types(op)
    free = target.tensor_memory_columns if free_columns is None else free_columns
    refusals: list[str] = []
    for name in _units(op, types, target):
        refusal = _refusal(op, UNITS[name], types, target, warps, free, ctas)
        if refusal is None:
            return UNITS[name], tuple(refusals)
        refusals.append(refusal)
    return None, tuple(refusals)


def _units(op: ir.OpView, types: MatrixTypes, target: Target) -> tuple[str, ...]:
    """The names of the units of a target that may do a multiply of these types, in order of preference."""
    if op.operation.name in PLAIN_MULTIPLIES and is_weight_stationary(op):
        return target.weight_stationary_units
    if types.is_sparse:
        return target.sparse_matrix_units
    return target.matrix_units if types.scale is None else target.scaled_matrix_units


def next_unit(op: ir.OpView, unit: MatrixUnit, target: Target, warps: int) -> str:
    """The name of the unit that would do a multiply if the chosen one could not; empty if there is none."""
    types = matrix_types(op)
    names = _units(op, types, target)
    slower = (UNITS[name] for name in names[names.index(unit.name) + 1 :])
    able = (each.name for each in slower if _refusal(op, each, types, target, warps, 0) is None)
    return next(able, "")


def _refusal(
    op: ir.OpView, unit: MatrixUnit, types: MatrixTypes, target: Target, warps: int, free_columns: int, ctas: int = 1
) -> str | None:
    rows, columns = op.acc.type.shape
    rows //= ctas
    refusal = unit.operand_refusal(types, op.lhs.type.shape[1]) or unit.refusal(rows, columns, warps)
    if refusal is None and types.scale is not None:
        refusal = scaled_refusal(op, types, target, ctas)
    if refusal is None and types.is_sparse and unit.accumulates_in_tensor_memory:
        refusal = columns_refusal(op, target)
    if refusal is None and types.is_sparse and unit.consumer == THREADS:
        refusal = _faster_if_dense(op, unit, target, warps, free_columns)
    if refusal is None and unit.accumulates_in_tensor_memory and _columns(op, ctas) > free_columns:
        needed = _columns(op, ctas)
        refusal = f"other multiplies leave {free_columns} columns of tensor memory, and this one needs {needed}"
    return refusal


def _faster_if_dense(op: ir.OpView, unit: MatrixUnit, target: Target, warps: int, free_columns: int) -> str | None:
    """The reason not to multiply a sparse lhs by mma.sync, if the first unit multiplies a dense one faster; or None.

    By the model (B200) a product of 256x256x64 takes 2048 cycles by mma.sync, and 1600 by tcgen05 with the dense lhs,
    which threads make and store. With 64 rows, for which tcgen05 has half of its rate, 64x256x64 takes 584 and 728.
    ptxas 13.0 converts 8-bit floats: the code of a kernel of 64x64x128 has 2336 instructions by mma.sync, and 1878.
    """
    dense, (rows, columns) = UNITS[target.matrix_units[0]], op.acc.type.shape
    in_tensor_memory = dense.accumulates_in_tensor_memory
    is_full = in_tensor_memory and rows % target.multiplied_rows == 0
    if not is_full and spell(op.lhs.type.element) not in NARROW_FLOATS:
        return None
    if dense.refusal(rows, columns, warps) is not None or in_tensor_memory and accumulator_columns(op) > free_columns:
        return None
    return f"{unit.name} takes longer than {dense.name} with a dense operand of {rows} rows"


@dataclass(eq=False)
class _SharedColumns:
    """Columns of tensor memory that several accumulators use, one after the other (reuse_channels.py)."""

    kind: str
    columns: int = 0
    accumulators: list[Accumulator] = field(default_factory=list)

    def admits(self, accumulator: Accumulator) -> bool:
        return self.kind == _kind(accumulator) and not any(map(accumulator.overlaps, self.accumulators))


def free_columns(
    multiplies: Iterable[ir.OpView],
    accumulators: Mapping[ir.Operation, Accumulator],
    target: Target,
    warps: int,
    sharing: Sharing,
) -> dict[ir.Operation, int]:
    """The columns of tensor memory that each multiply may use: those that are left, and those of accumulators before.

    Multiplies in inner loops come first, and of them those with block scaling or metadata. If accumulators do not share
    columns, those of others are never free.
    """
    left, found = target.tensor_memory_columns, {}
    shared: list[_SharedColumns] = []
    for op in sorted(multiplies, key=lambda op: (len(loops_around(op)), _has_factors(op)), reverse=True):
        accumulator, needed = accumulators[op.operation], accumulator_columns(op)
        usable = [each for each in shared if accumulator in each.accumulators]
        usable = usable or [each for each in shared if sharing.accumulators and each.admits(accumulator)]
        own = max(usable, key=lambda each: min(each.columns, needed), default=_SharedColumns(_kind(accumulator)))
        found[op.operation] = left + min(own.columns, needed)
        unit, _ = unit_for(op, target, warps, found[op.operation])
        if unit is not None and unit.accumulates_in_tensor_memory:
            left -= _columns(op) - min(own.columns, needed)
            own.columns = max(own.columns, needed)
            own.accumulators.append(accumulator)
            if own not in usable:
                shared.append(own)
    return found


def _kind(accumulator: Accumulator) -> str:
    """Accumulators that registers write or read on the way share columns only if their types are equal."""
    return "" if accumulator.is_read_once else str(accumulator.type)


def _columns(op: ir.OpView, ctas: int = 1) -> int:
    """The columns of tensor memory under an accumulator, and under scale factors."""
    return accumulator_columns(op, ctas) + factor_columns(op, ctas)


def factor_columns(op: ir.OpView, ctas: int = 1) -> int:
    """The columns of tensor memory under the scale factors, or the metadata, of a multiply."""
    return scale_columns(op, ctas) if _has_factors(op) else 0


def _has_factors(op: ir.OpView) -> bool:
    return op.operation.name in (*SCALED_MULTIPLIES, MMA_SPARSE)


def accumulator_columns(op: ir.OpView, ctas: int = 1) -> int:
    """The columns of tensor memory under the accumulator of a multiply, of which each of `ctas` CTAs has some rows."""
    rows, columns = op.acc.type.shape
    return columns * max(1, rows // ctas // TENSOR_LANES)


def least_scaled_columns(op: ir.OpView, target: Target) -> int | None:
    """The columns of tensor memory under the smallest part of a block-scaled multiply that tcgen05 can do.

    None if tcgen05 can do no part, or only the whole.
    """
    (rows, columns), types, depth = op.acc.type.shape, matrix_types(op), op.lhs.type.shape[1]
    units = [UNITS[name] for name in target.scaled_matrix_units]
    if all(unit.operand_refusal(types, depth) is not None for unit in units) or not has_scaled_kind(types):
        return None
    smallest = (TENSOR_LANES, TCGEN05_LEAST_COLUMNS)
    if rows % TENSOR_LANES or columns < TCGEN05_LEAST_COLUMNS or (rows, columns) == smallest:
        return None
    return TCGEN05_LEAST_COLUMNS + least_factor_columns(op)


def unit_reasons(refusals: Sequence[str], types: MatrixTypes, target: Target) -> str:
    """Why no unit of the target can do a multiply."""
    kind = "a sparse lhs" if types.is_sparse else "block scaling"
    return "; ".join(refusals) or f"{target.name} has no multiply with {kind}"
