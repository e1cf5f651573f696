"""Reduction of many f32 of one thread by fewer instructions: sums of pairs, and extrema of three (PTX ISA 9.7.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.elements import PtxElement
from tilec.lowering.gpu_to_ptx.lowering import Lowering
from tilec.lowering.gpu_to_ptx.packed_floats import pair_of

Reduce = Callable[[Sequence[ir.Value]], ir.Value]

_EXTREMA = {
    "arith.maximumf": "max.NaN",
    "arith.minimumf": "min.NaN",
    "arith.maxnumf": "max",
    "arith.minnumf": "min",
}
_SUM = "arith.addf"


def reduction_in_registers(lowering: Lowering, kind: PtxElement, body: ir.Block) -> Reduce | None:
    """The reduction of registers, in any order, by a body of one operation; None for others and other elements."""
    if kind.name != "f32" or len(body.operations) != 2:
        return None
    name = body.operations[0].operation.name
    if name in _EXTREMA and lowering.target.compares_three:
        return lambda registers: _extremum(lowering, _EXTREMA[name], registers)
    if name == _SUM and lowering.target.packs_floats:
        return lambda registers: _sum(lowering, registers)
    return None


def _extremum(lowering: Lowering, name: str, registers: Sequence[ir.Value]) -> ir.Value:
    """A tree of three branches."""
    level = list(registers)
    while len(level) > 1:
        groups = [level[first : first + 3] for first in range(0, len(level), 3)]
        level = [_largest(lowering, name, group) for group in groups]
    return level[0]


def _largest(lowering: Lowering, name: str, group: Sequence[ir.Value]) -> ir.Value:
    if len(group) == 1:
        return group[0]
    listed = ", ".join(f"${number}" for number in range(len(group) + 1))
    return lowering.compute(f"{name}.f32 {listed};", "f32", *group)


def _sum(lowering: Lowering, registers: Sequence[ir.Value]) -> ir.Value:
    """Pairs of neighbours are added as a tree of pairs, and the halves of the last pair last."""
    if len(registers) == 1:
        return registers[0]
    level = list(zip(registers[0::2], registers[1::2], strict=True))
    while len(level) > 1:
        level = [pair_of(lowering, "add", ["rn"], *both) for both in zip(level[0::2], level[1::2], strict=True)]
    low, high = level[0]
    return lowering.compute("add.rn.f32 $0, $1, $2;", "f32", high, low)
