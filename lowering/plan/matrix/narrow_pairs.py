"""Multiplies of which each CTA of a pair has 64 rows: tcgen05.mma of M = 128 with cta_group::2.

    mmaf : 128x64, 64x256 -> 128x256 with num_ctas=2   ->   mmaf {tilec.narrow_pair} : 64x64, 64x256 -> 64x256

An instruction takes a pair half of the cycles of 256 rows, but one CTA as many for 64 rows as for 128. So CTAs have 64
rows only if they multiply in pairs.
"""

from __future__ import annotations

from tilec.compile_options import CompileOptions
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_below, operations_named
from tilec.lowering.plan.matrix.pair_operands import (
    COLUMN_STEP,
    MOST_COLUMNS,
    PAIR,
    fit_tensor_memory,
    has_columns_of_pair,
    is_done_by_pairs,
)
from tilec.lowering.target import TENSOR_LANES, Target
from tilec.lowering.tile.divide.divided_dimensions import MULTIPLIES
from tilec.lowering.tile_to_gpu.access.memory_order import MemoryOrder

NARROW_ROWS = 64
# The attribute of these multiplies, whose accumulators are in halves (dialect/tile_gpu/README.md, "Tensor memory").
_IN_NARROW_PAIR = "tilec.narrow_pair"


def is_in_narrow_pair(op: ir.OpView) -> bool:
    """Whether a multiply is one of 64 rows per CTA."""
    return _IN_NARROW_PAIR in op.operation.attributes


def narrow_multiplies(entry: ir.OpView, ctas: int) -> list[ir.OpView]:
    """The multiplies of which each CTA would have 64 rows."""
    return [op for op in _multiplies(entry) if op.acc.type.shape[0] == ctas * NARROW_ROWS]


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
    if not all(_has_rows_of_pair(op, ctas) for op in multiplies):
        return "another multiply has neither 64 nor 128 rows per block"
    if not all(map(has_columns_of_pair, multiplies)):
        return f"a pair multiplies {COLUMN_STEP} to {MOST_COLUMNS} columns, in steps of {COLUMN_STEP}"
    if not fit_tensor_memory(multiplies, target):
        return f"the accumulators need more than {target.tensor_memory_columns} columns of tensor memory"
    order = MemoryOrder(list(operations_below(entry)))
    if not all(is_done_by_pairs(op, target, order) for op in multiplies):
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
    found = operations_named(entry, MULTIPLIES)
    return [op for op in found if op.acc.type.rank == 2]
