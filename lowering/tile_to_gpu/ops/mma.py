"""Matrix multiplies on the unit that the plan chose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.matrix import DotOp, MmaSyncOp, WgmmaOp, WgmmaWaitOp
from tilec.dialect.tile_gpu.operations.placed import MultiplyOp, MultiplyScaledOp, MultiplySparseOp
from tilec.dialect.walk import users_of
from tilec.lowering import emitter
from tilec.lowering.matrix_unit import MatrixTypes
from tilec.lowering.plan.matrix.matrix_plan import Multiply
from tilec.lowering.tile.analysis.tile_operations import MMA_SPARSE
from tilec.lowering.tile_to_gpu.conversion.carried_values import arrive, enter
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion, buffer_of, converts
from tilec.lowering.tile_to_gpu.conversion.placed_tiles import operand_tile, scale_tile
from tilec.lowering.tile_to_gpu.conversion.stationary_rows import attributes_of_rows, skipped_rows

Issue = Callable[[Multiply, Conversion], None]


@converts("mmaf", "tilex.mmaf", "mmai", "mmaf_scaled", "tilex.mmaf_scaled", MMA_SPARSE)
def _multiply(op: ir.OpView, conversion: Conversion) -> None:
    multiply = conversion.plan.multiplies[op.operation.results[0]]
    _ISSUE[multiply.unit.name](multiply, conversion)


def _in_registers(multiply: Multiply, conversion: Conversion, issue: Callable[..., ir.Value]) -> None:
    """A multiply whose accumulator is a register tile; `issue(operands, type)` makes it."""
    op, result = multiply.op, multiply.op.operation.results[0]
    accumulator = conversion.tile(op.acc, conversion.layouts[result])
    layout = multiply.lhs.register_layout
    lhs = operand_tile(multiply.lhs, multiply, conversion) if layout is None else conversion.tile(op.lhs, layout)
    rhs = operand_tile(multiply.rhs, multiply, conversion)
    conversion.set(result, issue([accumulator, lhs, rhs], conversion.type(result)))


def _negation(multiply: Multiply) -> dict[str, Any]:
    return {"negated": multiply.lhs.is_negated != multiply.rhs.is_negated}


def _signs(types: MatrixTypes) -> dict[str, Any]:
    return {"lhs_unsigned": types.lhs_unsigned, "rhs_unsigned": types.rhs_unsigned}


def _metadata(multiply: Multiply, conversion: Conversion) -> ir.Value | None:
    layout = multiply.metadata_layout
    return None if layout is None else conversion.tile(multiply.op.metadata, layout)


def _mma_sync(multiply: Multiply, conversion: Conversion) -> None:
    def issue(operands: list[ir.Value], type: ir.Type) -> ir.Value:
        operands = [*operands, _metadata(multiply, conversion)]
        return emitter.gpu(MmaSyncOp, operands, [type], **_signs(multiply.types)).result

    _in_registers(multiply, conversion, issue)


def _dot(multiply: Multiply, conversion: Conversion) -> None:
    def issue(operands: list[ir.Value], type: ir.Type) -> ir.Value:
        return emitter.gpu(DotOp, operands, [type], **_signs(multiply.types)).result

    _in_registers(multiply, conversion, issue)


def _wgmma(multiply: Multiply, conversion: Conversion) -> None:
    types = multiply.types

    def issue(operands: list[ir.Value], type: ir.Type) -> ir.Value:
        attributes = {"kind": types.element, "promote": multiply.promotes, **_signs(types), **_negation(multiply)}
        attributes |= {} if multiply.lhs.stationary is None else attributes_of_rows(multiply.lhs.stationary)
        operands = [*operands, _metadata(multiply, conversion), []]
        in_flight = emitter.gpu(WgmmaOp, operands, [type], **attributes).result
        if multiply.promotes:
            return in_flight
        before = conversion.plan.multiplies.get(multiply.op.acc)
        continues = before is not None and _is_added_to_in_flight(before, conversion)
        if _is_added_to_in_flight(multiply, conversion):
            # The multiply before is complete, so that its operands are free.
            wait = [emitter.gpu(WgmmaWaitOp, [in_flight], [type], pending=1).result] if continues else []
            return (wait or [in_flight])[0]
        return emitter.gpu(WgmmaWaitOp, [in_flight], [type], pending=0).result

    _in_registers(multiply, conversion, issue)


def _is_added_to_in_flight(multiply: Multiply, conversion: Conversion) -> bool:
    """Whether the next multiply adds to the sums without a wait: both read tiles of one run of pixels.

    The loads of its lhs then overlap with this multiply. Sums in f16 are packed after each one.
    """
    result = multiply.op.operation.results[0]
    users = users_of(result)
    following = conversion.plan.multiplies.get(users[0].results[0]) if len(users) == 1 and users[0].results else None
    if following is None or following.op.acc != result or str(conversion.type(result).element_type) != "f32":
        return False
    is_alike = following.unit is multiply.unit and following.op.operation.block == multiply.op.operation.block
    return is_alike and multiply.lhs.run is not None and following.lhs.run is not None and not following.promotes


def _tcgen05(multiply: Multiply, conversion: Conversion) -> None:
    op, result = multiply.op, multiply.op.operation.results[0]
    addend, scale = conversion.plan.accumulators[result].addend(op.operation)
    accumulator, accumulate = enter(addend, result, conversion)
    lhs, rhs = (operand_tile(operand, multiply, conversion) for operand in (multiply.lhs, multiply.rhs))
    scales = [scale_tile(scale, conversion) for scale in multiply.scales]
    type = buffer_of(result, conversion)
    if multiply.types.scale is not None:
        kinds = {"lhs_kind": multiply.lhs.packed_kind, "rhs_kind": multiply.rhs.packed_kind}
        operands = [accumulator, lhs, rhs, *scales, accumulate]
        made = emitter.gpu(MultiplyScaledOp, operands, [type], **kinds).result
    elif multiply.types.is_sparse:
        attributes = {"kind": multiply.types.element, **_signs(multiply.types)}
        operands = [accumulator, lhs, rhs, *scales, accumulate]
        made = emitter.gpu(MultiplySparseOp, operands, [type], **attributes).result
    else:
        kinds = {"kind": multiply.lhs.packed_kind or multiply.types.element, "rhs_kind": multiply.rhs.packed_kind}
        attributes = {**kinds, **_signs(multiply.types), **_negation(multiply), "scale": scale or None}
        tile = multiply.lhs.stationary
        skipped = [] if tile is None else skipped_rows(tile, type, conversion)
        attributes |= {} if tile is None else attributes_of_rows(tile)
        made = emitter.gpu(MultiplyOp, [accumulator, lhs, rhs, accumulate, skipped], [type], **attributes).result
    arrive(result, [made, emitter.boolean(True)], conversion)


# The issue of each row of lowering/matrix_unit.py.
_ISSUE: dict[str, Issue] = {
    "tcgen05": _tcgen05,
    "block-scaled tcgen05": _tcgen05,
    "sparse tcgen05": _tcgen05,
    "tcgen05.ws": _tcgen05,
    "wgmma": _wgmma,
    "sparse wgmma": _wgmma,
    "mma.sync": _mma_sync,
    "sparse mma.sync": _mma_sync,
    "fma": _dot,
}
