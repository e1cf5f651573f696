"""The lhs operands that a multiply reads from registers: computed from sums of a multiply, without an exchange."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.lowering.layout.conversion import RegisterMove, conversion
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.matrix_unit import MatrixUnit
from tilec.lowering.plan.matrix.accumulator import MULTIPLIES
from tilec.lowering.tile.analysis.elementwise import is_elementwise
from tilec.lowering.tile.analysis.terminators import CONTINUE, terminators


def register_lhs_layout(
    lhs: ir.Value, unit: MatrixUnit, warps: int, unit_of: Callable[[ir.Value], MatrixUnit | None]
) -> LinearLayout | None:
    """The layout of an lhs that stays in registers: each thread computes the elements that it multiplies; or None.

    `unit_of` is the unit of an earlier multiply by its result.
    """
    if unit.lhs_layout is None:
        return None
    wanted = unit.lhs_layout(lhs.type.shape, warps, spell(lhs.type.element))
    sums = unit.accumulator_layout(lhs.type.shape, warps, spell(lhs.type.element))
    if not isinstance(conversion(sums, wanted), RegisterMove):
        return None
    return wanted if any(unit_of(found) is unit for found in sums_behind(lhs)) else None


def sums_behind(tile: ir.Value) -> Iterator[ir.Value]:
    """The results of multiplies from which a tile is computed element by element."""
    seen: set[ir.Value] = set()
    work = [tile]
    while work:
        value = work.pop()
        if value in seen or isinstance(value.owner, ir.Block):
            continue
        seen.add(value)
        op = value.owner
        if op.operation.name in MULTIPLIES:
            yield value
        elif op.operation.name == "cuda_tile.for":
            index = list(op.operation.results).index(value)
            work += [end.operation.operands[index] for end in terminators(op) if end.operation.name == CONTINUE]
        elif is_elementwise(op):
            work += list(op.operation.operands)
