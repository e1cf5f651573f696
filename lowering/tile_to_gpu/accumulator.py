"""Accumulators that stay in tensor memory: multiplies whose result is only the next one's accumulator."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.lowering.tile.terminators import CONTINUE, terminators


@dataclass(frozen=True)
class Accumulator:
    """A loop whose carried value number `index` is used by one multiply alone, or a single multiply (no loop)."""

    multiply: ir.OpView
    loop: ir.OpView | None = None
    index: int = 0

    @property
    def initial(self) -> ir.Value:
        return self.loop.initValues[self.index] if self.loop is not None else self.multiply.acc

    @property
    def result(self) -> ir.Value:
        return self.loop.operation.results[self.index] if self.loop is not None else self.multiply.operation.results[0]

    @property
    def starts_at_zero(self) -> bool:
        return is_zero(self.initial)

    def overlaps(self, other: Accumulator) -> bool:
        """Whether both are in use at the same time: the loop that carries one contains the other, or carries it too."""
        own, others = self._extent, other._extent
        return own == others or _contains(own, others) or _contains(others, own)

    @property
    def _extent(self) -> ir.Operation:
        return self.multiply.operation if self.loop is None else self.loop.operation


def accumulator_of(multiply: ir.OpView) -> Accumulator:
    """The accumulator of a multiply, carried by the loop around it if nothing else uses it."""
    carried = multiply.acc
    block = carried.owner
    if not isinstance(block, ir.Block) or block != multiply.operation.block:
        return Accumulator(multiply)
    loop = block.owner
    if loop.operation.name != "cuda_tile.for":
        return Accumulator(multiply)
    index = _argument_number(carried) - 1
    terminator = block.operations[len(block.operations) - 1]
    result = multiply.operation.results[0]
    if index < 0 or terminator.operation.name != "cuda_tile.continue" or terminator.operation.operands[index] != result:
        return Accumulator(multiply)
    if len(list(carried.uses)) != 1 or len(list(result.uses)) != 1:
        return Accumulator(multiply)
    # An early continue carries another value than the result of the multiply.
    if sum(end.operation.name == CONTINUE for end in terminators(loop)) != 1:
        return Accumulator(multiply)
    return Accumulator(multiply, loop, index)


def _contains(outer: ir.Operation, inner: ir.Operation) -> bool:
    while inner.parent is not None:
        inner = inner.parent.operation
        if inner == outer:
            return True
    return False


def _argument_number(argument: ir.Value) -> int:
    return ir.BlockArgument(argument).arg_number


def is_zero(value: ir.Value) -> bool:
    """Whether a value is the constant zero (of either sign) in every element."""
    op = value.owner
    if isinstance(op, ir.Block):
        return False
    if op.operation.name == "cuda_tile.broadcast" or op.operation.name == "cuda_tile.reshape":
        return is_zero(op.operands[0])
    if op.operation.name != "cuda_tile.constant":
        return False
    elements = op.operation.attributes["value"]
    if not elements.is_splat:
        return False
    return ir.DenseElementsAttr(elements).get_splat_value().value == 0
