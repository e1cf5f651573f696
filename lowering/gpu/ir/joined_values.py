"""Values that loops and branches join: a carried value with its initial, yielded and final values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.dialect.walk import terminator_of

# A select is upstream's canonical form of a branch that only yields.
SELECT = "arith.select"
CARRIERS = ("scf.for", "scf.if", "scf.while", SELECT)


@dataclass(frozen=True)
class Carried:
    """Results and arguments of control flow that take the same values.

    Attributes:
        targets: a result, the argument of a loop that becomes it, or both.
        sources: the values that they take.
        decisions: the values that decide which of the sources they take, and how often.
    """

    targets: tuple[ir.Value, ...]
    sources: tuple[ir.Value, ...]
    decisions: tuple[ir.Value, ...]


def carried_values(
    name: str,
    operands: Sequence[ir.Value],
    results: Sequence[ir.Value],
    arguments: Sequence[Sequence[ir.Value]],
    ends: Sequence[Sequence[ir.Value]],
) -> list[Carried]:
    """The values that a loop, a branch or a select carries; none for other operations.

    Args:
        name: the name of the operation.
        operands: its operands.
        results: its results.
        arguments: the arguments of each of its blocks.
        ends: the operands of the terminator of each block.
    """
    if name == SELECT:
        return [Carried((results[0],), tuple(operands[1:]), (operands[0],))]
    if name == "scf.if":
        return [Carried(each[:1], each[1:], (operands[0],)) for each in zip(results, *ends, strict=True)]
    if name == "scf.for":
        bounds, (counter, *inside) = tuple(operands[:3]), arguments[0]
        carried = zip(results, inside, operands[3:], ends[0], strict=True)
        return [Carried((counter,), (), bounds), *(Carried(each[:2], each[2:], bounds) for each in carried)]
    if name == "scf.while":
        (condition, *passed), yielded = ends
        entering = zip(arguments[0], operands, yielded, strict=True)
        leaving = zip(results, arguments[1], passed, strict=True)
        return [
            *(Carried(each[:1], each[1:], ()) for each in entering),
            *(Carried(each[:2], each[2:], (condition,)) for each in leaving),
        ]
    return []


def carried_groups(op: ir.Operation) -> list[list[ir.Value]]:
    """The groups of values that an operation joins; none for other operations."""
    if op.name not in CARRIERS:
        return []
    blocks = [region.blocks[0] for region in op.regions if len(region.blocks)]
    arguments, ends = [block.arguments for block in blocks], [terminator_of(block).operands for block in blocks]
    return [
        [*each.targets, *each.sources] for each in carried_values(op.name, op.operands, op.results, arguments, ends)
    ]


def carried_as(use: ir.OpOperand) -> ir.Value:
    """The result or argument that a value becomes, which a loop, a branch or the end of one carries."""
    op, number = use.owner.operation, use.operand_number
    if op.name == "scf.for":
        return op.results[number - 3]
    if op.name == "scf.while":
        return op.regions[0].blocks[0].arguments[number]
    parent = op.parent.operation
    if op.name == "scf.condition":
        return parent.results[number - 1]
    return parent.regions[0].blocks[0].arguments[number] if parent.name == "scf.while" else parent.results[number]


class Sets:
    """Sets of values, each with one value that represents it."""

    def __init__(self) -> None:
        self._of: dict[ir.Value, ir.Value] = {}

    def of(self, value: ir.Value) -> ir.Value:
        """The value that represents the set of a value."""
        found = value
        while found in self._of:
            found = self._of[found]
        while value != found:
            self._of[value], value = found, self._of[value]
        return found

    def join(self, values: Sequence[ir.Value]) -> None:
        """Joins the sets of these values."""
        if not values:
            return
        first, *rest = (self.of(value) for value in values)
        for other in rest:
            if self.of(other) != first:
                self._of[self.of(other)] = first
