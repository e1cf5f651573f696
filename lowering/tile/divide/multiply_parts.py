"""The parts of a multiply that a pass divides: an attribute says which multiplies are parts of one."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_inside

# Multiplies of an entry with one number are parts of one multiply of the program.
_PART_OF = "tilec.part_of"
_ENTRY = "cuda_tile.entry"


def part_of(op: ir.OpView, count: int) -> dict[str, ir.Attribute]:
    """The attribute of the `count` parts of a multiply: that of the multiply if it is a part itself, none of one."""
    if count == 1:
        return {}
    own = op.operation.attributes
    if _PART_OF in own:
        return {_PART_OF: own[_PART_OF]}
    entry = op.operation
    while entry.name != _ENTRY and entry.parent is not None:
        entry = entry.parent.operation
    used = [number for each in operations_inside(entry) if (number := part_number(each)) is not None]
    return {_PART_OF: ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1 + max(used, default=-1))}


def part_number(op: ir.Operation) -> int | None:
    """The number of the whole that a multiply is a part of; None if it is whole."""
    return ir.IntegerAttr(op.attributes[_PART_OF]).value if _PART_OF in op.attributes else None
