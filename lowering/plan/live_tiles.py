"""The registers that a thread needs for an entry of Tile IR, by the plan and the number of warps that compute."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from tilec.dialect.cuda_tile.types import PointerType, TileType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.lowering.live_registers import RegisterPeak, ValueRegisters, register_peak
from tilec.lowering.plan.matrix.accumulator import MULTIPLIES
from tilec.lowering.plan.matrix.accumulator_columns import read_by_columns, without_registers
from tilec.lowering.plan.matrix.matrix_plan import MatrixPlan
from tilec.lowering.target import LANES
from tilec.lowering.tile.analysis.elementwise import is_elementwise

_WIDE_ELEMENTS = ("i64", "f64")
# Results that ptxas has in immediates, or computes again where they are used.
_WITHOUT_REGISTERS = ("cuda_tile.constant", "cuda_tile.iota")
_EXTRACT = "cuda_tile.extract"
# Results in the registers of the first operand.
_RENAMED = ("cuda_tile.broadcast", "cuda_tile.permute", "cuda_tile.reshape", _EXTRACT)
# Operations that use one element of a tile after the other, besides those that are elementwise.
_READS_ELEMENTS = ("cuda_tile.store_view_tko", "cuda_tile.store_ptr_tko", *MULTIPLIES)
_REDUCE, _CONVERSION = "cuda_tile.reduce", "cuda_tile.ftof"


def tile_peak(entry: ir.OpView, plan: MatrixPlan, warps: int) -> RegisterPeak:
    """The most registers of a thread that values of an entry are in at once."""
    return _peak(entry.operation.regions[0].blocks[0], plan, warps, frozenset())


def loop_peak(multiply: ir.OpView, plan: MatrixPlan, warps: int) -> RegisterPeak:
    """The same in the loop of a multiply, whose operands are placed as soon as they are computed (assign_roles.py)."""
    return _peak(multiply.operation.block, plan, warps, frozenset(_placed_early(plan)))


def _placed_early(plan: MatrixPlan) -> Iterator[ir.Value]:
    """The operands of multiplies that threads place, and the tiles that they convert, without the first tiles."""
    for multiply in plan.multiplies.values():
        value = multiply.lhs.value
        if multiply.lhs.map is None:
            while not isinstance(value.owner, ir.Block) and value.owner.operation.name == _CONVERSION:
                yield value
                value = value.owner.operation.operands[0]


def _peak(block: ir.Block, plan: MatrixPlan, warps: int, early: frozenset[ir.Value]) -> RegisterPeak:
    elsewhere = (plan.folded | without_registers(plan)) - _read_together(plan)

    def registers(value: ir.Value) -> int:
        return 0 if value in elsewhere else _registers_of(value, plan, warps * LANES)

    def sources(value: ir.Value) -> Sequence[ir.Value] | None:
        found = _sources(value)
        # Columns that are read from tensor memory have registers of their own.
        return None if found and found[0] in elsewhere and value.owner.name == _EXTRACT else found

    def loads(op: ir.Operation) -> Sequence[ir.Value]:
        return plan.reads_before.get(op, ())

    def operands(op: ir.Operation) -> Sequence[ir.Value]:
        if len(op.results) == 1 and op.results[0] in early:
            return ()
        return [value for value in op.operands if value not in early]

    return register_peak(block, ValueRegisters(registers, sources, loads, operands))


def _read_together(plan: MatrixPlan) -> set[ir.Value]:
    """Accumulators of one loop that registers read by columns: one branch reads them all, which is not divided."""
    read = read_by_columns(plan)
    owners = Counter(value.owner for value in read)
    return {value for value in read if owners[value.owner] > 1}


def _registers_of(value: ir.Value, plan: MatrixPlan, threads: int) -> int:
    type = value.type
    if not isinstance(type, TileType):
        return 0
    if not isinstance(value.owner, ir.Block) and value.owner.name in _WITHOUT_REGISTERS:
        return 0
    multiply = plan.multiplies.get(value)
    # Sums of few products are beside those to which they are added.
    copies = 2 if multiply is not None and multiply.promotes else 1
    return copies * -(-math.prod(type.shape) // threads) * _registers(type.element)


def _registers(element: ir.Type) -> int:
    if isinstance(element, PointerType):
        return 2
    return {"i1": 0}.get(name := spell(element), 2 if name in _WIDE_ELEMENTS else 1)


def _sources(value: ir.Value) -> Sequence[ir.Value] | None:
    owner = value.owner
    if isinstance(owner, ir.Block) or not isinstance(value.type, TileType) or not value.type.rank:
        return None
    if owner.name in _RENAMED:
        return [owner.operands[0]]
    return list(owner.operands) if _is_temporary(value, owner) else None


def _is_temporary(value: ir.Value, owner: ir.Operation) -> bool:
    """Whether each element of a tile is computed where it is used, so that the tile is never complete."""
    if not is_elementwise(owner.opview) or owner.name.endswith("_tko"):
        return False
    users = [use.owner.operation for use in value.uses]
    if len(users) == 1 and users[0].name == _REDUCE:
        return True
    return all(
        user.block == owner.operation.block and (user.name in _READS_ELEMENTS or is_elementwise(user.opview))
        for user in users
    )
