"""Verification of a single operation, whose operands are unrealized casts."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.assembly.types import parse_type
from tilec.dialect.mlir import ir


def verification_error(
    name: str, operands: Sequence[str], results: Sequence[str], attributes: dict[str, ir.Attribute], regions: int = 0
) -> str | None:
    """The verification error of an operation with these types, or None if it is valid; a context must be entered."""
    with ir.Location.unknown(), ir.InsertionPoint(ir.Module.create().body):
        cast = "builtin.unrealized_conversion_cast"
        values = [ir.Operation.create(cast, [parse_type(type)]).result for type in operands]
        types = [parse_type(type) for type in results]
        operation = ir.Operation.create(f"cuda_tile.{name}", types, values, attributes, regions=regions)
        try:
            operation.verify()
        except ir.MLIRError as error:
            return error.error_diagnostics[0].message
    return None
