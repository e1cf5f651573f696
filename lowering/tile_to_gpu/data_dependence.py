"""The values that are computed from a load: whoever uses one of them starts after the load is complete."""

from __future__ import annotations

from tilec.dialect.cuda_tile.types import TokenType
from tilec.dialect.mlir import ir
from tilec.lowering.tile.terminators import CONTINUE, terminators

_FOR = "cuda_tile.for"


def uses_result_of(op: ir.Operation, load: ir.Operation) -> bool:
    """Whether an operation uses a value computed from a load, directly or through operations and `for` loops."""
    computed = _computed_from(load)
    return any(operand in computed for operand in op.operands)


def _computed_from(load: ir.Operation) -> set[ir.Value]:
    """All values that do not exist before the load is complete, whichever branches are taken."""
    found: set[ir.Value] = set()
    work = [result for result in load.results if not isinstance(result.type, TokenType)]
    while work:
        value = work.pop()
        if value in found:
            continue
        found.add(value)
        for use in value.uses:
            work += _results(use, load)
    return found


def _results(use: ir.OpOperand, load: ir.Operation) -> list[ir.Value]:
    """The results that the user of a value computes from it; a result of a branch may come from another value."""
    user = use.owner.operation
    if user.name == CONTINUE:
        loop = user.parent
        return [loop.results[use.operand_number]] if _repeats(loop, load) else []
    if len(user.regions) or user.name.startswith("cuda_tile.yield"):
        return []
    return [result for result in user.results if not isinstance(result.type, TokenType)]


def _repeats(loop: ir.Operation, load: ir.Operation) -> bool:
    """Whether each iteration of a `for` contains the load and ends at one `continue`."""
    ends = [end for end in terminators(loop.opview) if end.operation.name == CONTINUE]
    return loop.name == _FOR and len(ends) == 1 and load.block in _blocks(loop)


def _blocks(loop: ir.Operation) -> list[ir.Block]:
    return [block for region in loop.regions for block in region.blocks]
