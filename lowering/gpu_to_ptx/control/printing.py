"""tile_gpu.print by vprintf: the first thread of the role prints scalars from registers, tiles from scratch memory."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.dialect.print_format import Directive, parse_format
from tilec.dialect.tile_gpu.debug import PrintOp
from tilec.lowering.gpu_to_ptx.control.print_argument import device_directive, print_argument
from tilec.lowering.gpu_to_ptx.control.print_tile import print_tile
from tilec.lowering.gpu_to_ptx.registers.device_call import MAXIMUM_ARGUMENTS, call_vprintf
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.one_thread import if_first_thread
from tilec.lowering.gpu_to_ptx.registers.registry import lowers
from tilec.lowering.gpu_to_ptx.registers.value_types import element, layout_of


@lowers(PrintOp)
def print_format(lowering: Lowering, operation: ir.Operation) -> None:
    op = operation.opview
    operands, pending = iter(op.args), _Pending(lowering)
    for part in parse_format(op.format):
        if isinstance(part, str):
            pending.add_text(part)
        else:
            _print_operand(lowering, part, next(operands), pending)
    pending.flush()


def _print_operand(lowering: Lowering, directive: Directive, value: ir.Value, pending: _Pending) -> None:
    kind, layout, registers = element(value), layout_of(value.type), lowering.get(value)
    rank = len(layout.shape)
    pending.add_text("[" * rank)
    if layout.size == 1:
        pending.add_number(directive, kind, registers[0])
    else:
        pending.flush()
        print_tile(lowering, directive, kind, layout, registers)
    pending.add_text("]" * rank)


@dataclass(frozen=True)
class _Number:
    directive: Directive
    kind: PtxElement
    register: ir.Value


class _Pending:
    """Text and numbers that the next call of vprintf prints."""

    def __init__(self, lowering: Lowering) -> None:
        self._lowering = lowering
        self._format = ""
        self._numbers: list[_Number] = []

    def add_text(self, text: str) -> None:
        self._format += text.replace("%", "%%")

    def add_number(self, directive: Directive, kind: PtxElement, register: ir.Value) -> None:
        if len(self._numbers) == MAXIMUM_ARGUMENTS:
            self.flush()
        self._format += device_directive(directive, kind)
        self._numbers.append(_Number(directive, kind, register))

    def flush(self) -> None:
        """Prints what is pending."""
        if self._format:
            with if_first_thread(self._lowering, "print"):
                numbers = [print_argument(self._lowering, n.directive, n.kind, n.register) for n in self._numbers]
                call_vprintf(self._lowering, self._format, numbers)
        self._format, self._numbers = "", []
