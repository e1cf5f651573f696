"""States the promise of the hint slices_in_bounds: no start of a slice is negative, and no offset wraps.

    %n = muli %start, %stride : i32          %a = assume bounded<0, ?>, %start : i32
    %o = exti %n signed : i64          ->    %n = muli (exti %a signed), (exti %stride signed) : i64
    %p = offset %base, %o                    %p = offset %base, %n

cuTile's front end multiplies in 32 bits, and states no bound of a start. A tensor map of slices needs 64 bits and the
bound (lowering/tile_to_gpu/access/sliced_tensors.py).
"""

from __future__ import annotations

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.attributes import BoundedAttr
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_named
from tilec.lowering.tile.analysis.bounds import bounds
from tilec.lowering.tile.analysis.condition import integer, widened
from tilec.lowering.tile.analysis.tile_operations import producer, without_assumptions

# The bits of an offset of a pointer.
_OFFSET_BITS = 64


def assume_slices(module: ir.OpView) -> None:
    """Changes the offsets of the bases of all tensors in place."""
    for tensor in operations_named(module, ("cuda_tile.make_tensor_view",)):
        pointer = tensor.base
        while (moved := producer(pointer, "assume", "offset")) is not None:
            if moved.operation.name == "cuda_tile.offset":
                with ir.InsertionPoint(moved.operation), moved.location:
                    moved.operation.operands[1] = _exact(moved.offset)
            pointer = moved.operation.operands[0]


def _exact(offset: ir.Value) -> ir.Value:
    """The product of a start and a stride, which are not negative, in 64 bits; the start alone if the stride is 1."""
    extended = producer(without_assumptions(offset), "exti")
    number = offset if extended is None or extended.signedness != "signed" else extended.operation.operands[0]
    product = producer(without_assumptions(number), "muli")
    if product is None:
        return _not_negative(number)
    return integer("muli", _not_negative(product.lhs), _not_negative(product.rhs))


def _not_negative(number: ir.Value) -> ir.Value:
    if bounds(number).low < 0:
        number = build("assume", [number], [number.type], {"predicate": BoundedAttr.get(0, None)}).result
    return widened(number, _OFFSET_BITS, "signed")
