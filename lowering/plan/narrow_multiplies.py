"""Multiplies of floats of less than 8 bits: the type to which the operands are converted on each target."""

from __future__ import annotations

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.walk import operations_named
from tilec.lowering.matrix_unit import UNITS
from tilec.lowering.target import Target
from tilec.lowering.tile.expand.widen_operands import NARROW_MULTIPLIES, is_widened, multiply_in_halves, widen
from tilec.remarks import Loss, Remark


def fit_narrow_multiplies(module: ir.Module, target: Target, remarks: list[Remark]) -> None:
    """Changes a module of Tile IR in place; `remarks` gets the conversions."""
    found: dict[Remark, None] = {}
    for op in operations_named(module, NARROW_MULTIPLIES[:1]):
        narrow = list(dict.fromkeys(spell(tile.type.element) for tile in (op.lhs, op.rhs) if is_widened(tile)))
        # Block scaling that the target lacks is expanded to multiplies of f16. With tensor memory the plan decides for
        # each operand whether TMA unpacks it or threads convert it.
        if not narrow or not UNITS[target.matrix_units[0]].short_sums:
            continue
        location = source_location(op.operation.location)
        if not op.fast_acc:
            loss = Loss("half")
            message = (
                f"{target.name} has no operands of {' or '.join(narrow)}: both are converted to f16, since it sums "
                "products of 8-bit floats with 13 fraction bits: use_fast_acc=True multiplies in f8E4M3FN"
            )
            multiply_in_halves(op)
        else:
            loss = Loss("steps")
            message = (
                f"{target.name} has no operands of {' or '.join(narrow)}: they are converted to f8E4M3FN, which has "
                "all of their values"
            )
            widen(op)
        found.setdefault(Remark("matrix-unit", message, location, loss))
    remarks += found
