"""addf(mulf(a, b), c) -> fma(a, b, c), where the product has no other use.

One rounding takes the place of two, so results change: this pass runs only where it is asked for by name.
"""

from __future__ import annotations

from typing import Any

from tilec.dialect.build import build
from tilec.dialect.mlir import ir

_SUMS = ("cuda_tile.addf", "cuda_tile.subf")


def fuse_fma(module: ir.Module) -> None:
    """Fuses products into the sums and differences that use them, with equal rounding and equal flushing only."""
    found: list[Any] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name in _SUMS:
            found.append(operation.opview)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for op in found:
        _fuse(op)


def _fuse(op: Any) -> None:
    for product, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        multiply = product.owner
        if isinstance(multiply, ir.Block) or multiply.operation.name != "cuda_tile.mulf":
            continue
        if len(list(product.uses)) != 1 or not _alike(op, multiply):
            continue
        with ir.InsertionPoint(op.operation), op.location:
            lhs, acc = _signed(op, multiply, product, other)
            attributes = {"rounding_mode": op.rounding_mode, "flush_to_zero": op.flush_to_zero}
            fused = build("fma", [lhs, multiply.rhs, acc], [op.result.type], attributes)
        op.result.replace_all_uses_with(fused.result)
        op.operation.erase()
        multiply.operation.erase()
        return


def _alike(op: Any, multiply: Any) -> bool:
    return (op.rounding_mode, op.flush_to_zero) == (multiply.rounding_mode, multiply.flush_to_zero)


def _signed(op: Any, multiply: Any, product: ir.Value, other: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The first factor and the summand; a difference negates one of them, which is exact."""
    if op.operation.name == "cuda_tile.addf":
        return multiply.lhs, other
    if product == op.lhs:
        return multiply.lhs, build("negf", [other], [other.type]).result
    return build("negf", [multiply.lhs], [multiply.lhs.type]).result, other
