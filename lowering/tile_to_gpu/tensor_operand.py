"""The lhs operands that tcgen05 reads from tensor memory: computed from sums of a multiply, so a thread has a row."""

from __future__ import annotations

from dataclasses import replace

from tilec.lowering.layout.tensor_layout import TensorLayout
from tilec.lowering.target import Target
from tilec.lowering.tile_to_gpu.alignment import element_bytes, per_byte
from tilec.lowering.tile_to_gpu.matrix_plan import MatrixPlan, Multiply, Operand
from tilec.lowering.tile_to_gpu.register_lhs import sums_behind
from tilec.lowering.tile_to_gpu.unit_choice import accumulator_columns, factor_columns


def place_operands(plan: MatrixPlan, target: Target, warps: int) -> None:
    """Places such operands of a plan in the columns that accumulators leave, in program order."""
    places = dict.fromkeys(plan.accumulators.values())
    used = sum(accumulator_columns(next(iter(place.multiplies)).opview) for place in places)
    used += sum(factor_columns(multiply.op) for multiply in plan.multiplies.values())
    for result, multiply in list(plan.multiplies.items()):
        layout = _layout(multiply, warps)
        if layout is None or used + layout.columns > target.tensor_memory_columns:
            continue
        used += layout.columns
        operand = Operand(multiply.lhs.value, 1, tensor_layout=layout, register_layout=layout.registers(warps))
        plan.multiplies[result] = replace(multiply, lhs=operand)


def _layout(multiply: Multiply, warps: int) -> TensorLayout | None:
    """The layout of the lhs in tensor memory; None if it is loaded by TMA, or if its rows are not in threads."""
    lhs, type = multiply.lhs, multiply.lhs.value.type
    if not multiply.unit.accumulates_in_tensor_memory or multiply.scales or lhs.map is not None:
        return None
    if per_byte(type.element) != 1 or not any(sums_behind(lhs.value)):
        return None
    lanes = 64 if type.shape[0] == 64 else 128
    layout = TensorLayout(tuple(type.shape), element_bytes(type.element), lanes, packed=True)
    try:
        layout.registers(warps)
    except ValueError:
        return None
    return layout
