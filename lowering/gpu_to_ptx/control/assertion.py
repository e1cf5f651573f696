"""Assertions by __assertfail, in the first thread of the role or of each warp that holds a false element."""

from __future__ import annotations

from functools import reduce

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.debug import AssertOp
from tilec.lowering.gpu_to_ptx.registers.device_call import call_assertfail
from tilec.lowering.gpu_to_ptx.registers.guards import conjunction, first_holder
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.one_thread import if_true
from tilec.lowering.gpu_to_ptx.registers.registry import lowers
from tilec.lowering.gpu_to_ptx.registers.value_types import layout_of
from tilec.lowering.layout.linear_layout import LinearLayout

# The bits of the number of a thread that are its number in its warp.
_LANES = 31


@lowers(AssertOp)
def assertion(lowering: Lowering, operation: ir.Operation) -> None:
    op, location = operation.opview, source_location(operation.location)
    layout = layout_of(op.condition.type)
    file, line = (location.file, location.line) if location is not None else ("", 0)
    function = lowering.b.entry.attributes["sym_name"].value
    with if_true(lowering, _fails(lowering, layout, lowering.get(op.condition), op.each_warp), "assertion"):
        call_assertfail(lowering, op.message, file, line, function)


def _fails(lowering: Lowering, layout: LinearLayout, registers: list[ir.Value], each_warp: bool) -> ir.Value | None:
    distinct = [value for register, value in enumerate(registers) if not register & layout.free_register_mask]
    holds = reduce(lambda a, b: lowering.compute("and.pred $0, $1, $2;", "i1", a, b), distinct)
    fails = lowering.compute("not.pred $0, $1;", "i1", holds)
    return conjunction(lowering, fails, _first_holder(lowering, layout, each_warp))


def _first_holder(lowering: Lowering, layout: LinearLayout, each_warp: bool) -> ir.Value | None:
    if each_warp:
        return first_holder(lowering, layout.free_thread_mask & _LANES if layout.shape else _LANES)
    if layout.shape:
        return first_holder(lowering, layout.free_thread_mask)
    # A scalar is in every thread of the role.
    return lowering.compute("setp.eq.s32 $0, $1, 0;", "i1", lowering.thread)
