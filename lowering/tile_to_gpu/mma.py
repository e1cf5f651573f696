"""Matrix multiplies on the unit that the plan chose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.channel import MMA, THREADS, slot_results
from tilec.dialect.tile_gpu.types import TENSOR, BufferType
from tilec.lowering.matrix_unit import MatrixTypes
from tilec.lowering.tile_to_gpu import emitter
from tilec.lowering.tile_to_gpu.accumulator import Accumulator
from tilec.lowering.tile_to_gpu.conversion import Conversion, in_loop
from tilec.lowering.tile_to_gpu.converts import converts
from tilec.lowering.tile_to_gpu.declared_channel import declare_channel
from tilec.lowering.tile_to_gpu.matrix_plan import Multiply
from tilec.lowering.tile_to_gpu.operand_channel import OperandBuffer
from tilec.lowering.tile_to_gpu.scale_channel import ScaleFactors

Issue = Callable[[Multiply, Conversion], None]


@converts("mmaf", "mmai", "mmaf_scaled")
def _multiply(op: ir.OpView, conversion: Conversion) -> None:
    multiply = conversion.plan.multiplies[op.operation.results[0]]
    _ISSUE[multiply.unit.name](multiply, conversion)


def _in_registers(multiply: Multiply, conversion: Conversion, issue: Callable[..., ir.Value]) -> None:
    """A multiply whose accumulator is a register tile; `issue(operands, type)` makes it."""
    op, result = multiply.op, multiply.op.operation.results[0]
    accumulator = conversion.tile(op.acc, conversion.layouts[result])
    layout = multiply.lhs.register_layout
    lhs = OperandBuffer(multiply.lhs, multiply, conversion) if layout is None else None
    rhs = OperandBuffer(multiply.rhs, multiply, conversion)
    left = conversion.tile(op.lhs, layout) if lhs is None else lhs.buffer
    made = issue([accumulator, left, rhs.buffer], conversion.type(result))
    if lhs is not None:
        lhs.release()
    rhs.release()
    conversion.set(result, made)


def _signs(types: MatrixTypes) -> dict[str, Any]:
    return {"lhs_unsigned": types.lhs_unsigned, "rhs_unsigned": types.rhs_unsigned}


def _by_threads(name: str) -> Issue:
    """Emits an operation without asynchronous work."""

    def emit(multiply: Multiply, conversion: Conversion) -> None:
        def issue(operands: list[ir.Value], type: ir.Type) -> ir.Value:
            return emitter.gpu(name, operands, [type], **_signs(multiply.types)).result

        _in_registers(multiply, conversion, issue)

    return emit


def _wgmma(multiply: Multiply, conversion: Conversion) -> None:
    types = multiply.types

    def issue(operands: list[ir.Value], type: ir.Type) -> ir.Value:
        attributes = _signs(types) | {"kind": types.element, "promote": multiply.promotes}
        in_flight = emitter.gpu("wgmma", operands, [type], **attributes).result
        if multiply.promotes:
            return in_flight
        return emitter.gpu("wgmma_wait", [in_flight], [type], pending=0).result

    _in_registers(multiply, conversion, issue)


def _tcgen05(multiply: Multiply, conversion: Conversion) -> None:
    """Emits the multiply, and the moves of its accumulator unless a loop around it carries the accumulator."""
    op, result = multiply.op, multiply.op.operation.results[0]
    if multiply.accumulator is not None and multiply.accumulator.loop is not None:
        state = conversion.accumulators[result]
        _issue(multiply, state.slot, conversion.get(op.acc), conversion)
        conversion.set(result, emitter.boolean(True))
        return
    state = AccumulatorState(multiply, conversion)
    _issue(multiply, state.slot, emitter.boolean(not state.starts_at_zero), conversion)
    conversion.set(result, state.finish(None))


def _issue(multiply: Multiply, slot: ir.Value, accumulate: ir.Value, conversion: Conversion) -> None:
    lhs, rhs = OperandBuffer(multiply.lhs, multiply, conversion), OperandBuffer(multiply.rhs, multiply, conversion)
    if multiply.types.scale is not None:
        _issue_scaled(multiply, [slot, lhs.buffer, rhs.buffer], accumulate, conversion)
    else:
        types = multiply.types
        operands = [slot, lhs.buffer, rhs.buffer, accumulate]
        emitter.gpu("tcgen05_mma", operands, kind=types.element, **_signs(types))
    lhs.release()
    rhs.release()


def _issue_scaled(multiply: Multiply, operands: list[ir.Value], accumulate: ir.Value, conversion: Conversion) -> None:
    scales = [ScaleFactors(scale, multiply.op, conversion) for scale in multiply.scales]
    emitter.gpu("tcgen05_mma_scaled", [*operands, *(factors.buffer for factors in scales), accumulate])
    for factors in scales:
        factors.release()


class AccumulatorState:
    """An accumulator in tensor memory: a channel from registers unless it starts at zero, and one to registers."""

    def __init__(self, multiply: Multiply, conversion: Conversion) -> None:
        accumulator = multiply.accumulator
        assert accumulator is not None
        self._accumulator, self._conversion = accumulator, conversion
        # The layout of tensor memory; the initial value and the result of a loop may have another one.
        self._product = multiply.op.operation.results[0]
        self.starts_at_zero = accumulator.starts_at_zero
        first = accumulator.loop if accumulator.loop is not None else multiply.op
        type = accumulator.result.type
        lanes = 64 if type.shape[0] == 64 else 128
        self._buffer = BufferType.get(tuple(type.shape), type.element, TENSOR, f"lanes={lanes}")
        ring = in_loop(first) and self.starts_at_zero
        self._output = declare_channel(conversion, [self._buffer], MMA, [THREADS], ring)
        if not self.starts_at_zero:
            self._store_initial(accumulator)
        (self.slot,) = emitter.gpu("put_begin", [self._output], slot_results([self._buffer])).results

    def _store_initial(self, accumulator: Accumulator) -> None:
        """Stores the initial value through a channel that shares the slot (README.md, Channels)."""
        conversion = self._conversion
        input_channel = declare_channel(conversion, [self._buffer], THREADS, [MMA], False, self._output)
        tile = conversion.tile(accumulator.initial, conversion.layouts[self._product])
        (slot,) = emitter.gpu("put_begin", [input_channel], slot_results([self._buffer])).results
        emitter.gpu("store_tensor_memory", [tile, slot])
        emitter.gpu("put_commit", [input_channel])
        emitter.gpu("get", [input_channel], slot_results([self._buffer]), consumer=0)
        emitter.gpu("release", [input_channel], consumer=0)

    def finish(self, multiplied: ir.Value | None) -> ir.Value:
        """The accumulator in registers; zero if nothing was `multiplied`, as tensor memory is not initialized."""
        type = self._conversion.type(self._product)
        emitter.gpu("put_commit", [self._output])
        (slot,) = emitter.gpu("get", [self._output], slot_results([self._buffer]), consumer=0).results

        def load() -> ir.Value:
            return emitter.gpu("load_tensor_memory", [slot], [type]).result

        always = multiplied is None or not self.starts_at_zero
        tile = load() if always else emitter.choose(multiplied, type, load, lambda: emitter.zero(type))
        emitter.gpu("release", [self._output], consumer=0)
        result_type = self._conversion.type(self._accumulator.result)
        return tile if type == result_type else emitter.gpu("convert_layout", [tile], [result_type]).result


# The issue of each row of lowering/matrix_unit.py.
_ISSUE: dict[str, Issue] = {
    "tcgen05": _tcgen05,
    "block-scaled tcgen05": _tcgen05,
    "wgmma": _wgmma,
    "mma.sync": _by_threads("mma_sync"),
    "fma": _by_threads("dot"),
}
