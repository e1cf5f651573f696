"""Multiplies of one site, the parts of one operation of the program, fill the same channels in turn."""

from __future__ import annotations

from typing import TypeAlias

from tilec.dialect.mlir import ir
from tilec.lowering.tile.divide.multiply_parts import part_number

# The operation whose region a multiply is in, and the multiply that it is a part of.
Site: TypeAlias = tuple[ir.Operation, int | ir.Operation]


def site_of(multiply: ir.OpView) -> Site:
    """The site of a multiply: other parts of the same operation of the program in the same region have it too."""
    operation = multiply.operation
    number = part_number(operation)
    return operation.parent.operation, operation if number is None else number
