"""addf(mulf(a, b), c) -> fma(a, b, c), where the product has no other use.

One rounding replaces two, so results change: the pass runs only on request.
"""

from __future__ import annotations

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_named
from tilec.lowering.tile.analysis.replacing import replace
from tilec.lowering.tile.analysis.tile_operations import producer

_SUMS = ("cuda_tile.addf", "cuda_tile.subf")


def fuse_fma(module: ir.Module) -> None:
    """Fuses products into the sums and differences that use them, if rounding and flushing are equal."""
    for op in operations_named(module, _SUMS):
        _fuse(op)


def _fuse(op: ir.OpView) -> None:
    for product, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        multiply = producer(product, "mulf")
        if multiply is None or len(list(product.uses)) != 1 or not _same_modes(op, multiply):
            continue
        with ir.InsertionPoint(op.operation), op.location:
            lhs, acc = _signed(op, multiply, product, other)
            attributes = {"rounding_mode": op.rounding_mode, "flush_to_zero": op.flush_to_zero}
            fused = build("fma", [lhs, multiply.rhs, acc], [op.result.type], attributes)
        replace(op, fused.results)
        multiply.operation.erase()
        return


def _same_modes(op: ir.OpView, multiply: ir.OpView) -> bool:
    return (op.rounding_mode, op.flush_to_zero) == (multiply.rounding_mode, multiply.flush_to_zero)


def _signed(op: ir.OpView, multiply: ir.OpView, product: ir.Value, other: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The first factor and the addend; a difference negates one of them, which is exact."""
    if op.operation.name == "cuda_tile.addf":
        return multiply.lhs, other
    if product == op.lhs:
        return multiply.lhs, build("negf", [other], [other.type]).result
    return build("negf", [multiply.lhs], [multiply.lhs.type]).result, other
