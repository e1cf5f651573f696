"""Values that loops and branches join: a carried value with its initial, yielded and final values."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir

# A select is upstream's canonical form of a branch that only yields.
SELECT = "arith.select"
CARRIERS = ("scf.for", "scf.if", "scf.while", SELECT)


def carried_groups(op: ir.Operation) -> list[list[ir.Value]]:
    """The groups of values that an operation carries; none for other operations."""
    if op.name not in CARRIERS:
        return []
    if op.name == SELECT:
        return [[op.results[0], op.operands[1], op.operands[2]]]
    blocks = [region.blocks[0] for region in op.regions if len(region.blocks)]
    ends = [list(block.operations[len(block.operations) - 1].operation.operands) for block in blocks]
    if op.name == "scf.while":
        entering = zip(op.operands, blocks[0].arguments, ends[1], strict=True)
        leaving = zip(ends[0][1:], blocks[1].arguments, op.results, strict=True)
        return [list(group) for group in (*entering, *leaving)]
    columns = [list(op.results), *ends]
    if op.name == "scf.for":
        columns += [list(op.operands)[3:], list(blocks[0].arguments)[1:]]
    return [list(group) for group in zip(*columns, strict=True)]


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
