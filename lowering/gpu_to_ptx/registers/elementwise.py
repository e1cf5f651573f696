"""Applies an instruction to each register of the operands of an element-wise operation."""

from __future__ import annotations

from collections.abc import Callable

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering

Step = Callable[..., ir.Value]


def each(lowering: Lowering, operation: ir.Operation, step: Step) -> None:
    """result register i = step(operand registers i), computed once for equal operand registers."""
    columns = zip(*(lowering.get(operand) for operand in operation.operands), strict=True)
    done: dict[tuple[ir.Value, ...], ir.Value] = {}
    registers = []
    for column in columns:
        if column not in done:
            done[column] = step(*column)
        registers.append(done[column])
    lowering.set(operation.results[0], registers)


def instruction(lowering: Lowering, text: str, element: PtxElement) -> Step:
    """A step that consists of one instruction."""
    return lambda *registers: lowering.compute(text, element.register, *registers)


def operands_text(count: int) -> str:
    """`$0, $1, ...`: one result and `count` operands."""
    return ", ".join(f"${index}" for index in range(count + 1))
