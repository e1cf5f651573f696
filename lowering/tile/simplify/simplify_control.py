"""Folds known branches, loops with zero or one iteration, and unused carried values."""

from __future__ import annotations

from collections.abc import Callable

from tilec.dialect.mlir import ir
from tilec.dialect.walk import is_within, operations_named
from tilec.lowering.tile.analysis.bounds import Interval, bounds
from tilec.lowering.tile.analysis.carried import keep_results, without_carried
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile.analysis.terminators import BREAK, CONTINUE, YIELD, terminators


def simplify_control(module: ir.Module) -> None:
    """Applies the rules, inner operations first, up to a fixed point."""
    while any(_truncate_block(op) for op in _structures(module)) or sum(_apply(op) for op in _structures(module)):
        pass


def _structures(module: ir.Module) -> list[ir.OpView]:
    return operations_named(module, _RULES, innermost_first=True)


def _apply(op: ir.OpView) -> bool:
    """Whether a rule changed something; the rules erase no other collected operation."""
    return any(rule(op) for rule in _RULES[op.operation.name])


def _known_branch(op: ir.OpView) -> ir.Region | None:
    condition = splat(op.condition) if op.operation.name == "cuda_tile.if" else None
    return None if condition is None else op.then if condition else op.else_


def _leaves(branch: ir.Region) -> bool:
    """Whether a branch ends in break, continue or return."""
    if not len(branch.blocks):
        return False
    operations = branch.blocks[0].operations
    return operations[len(operations) - 1].operation.name != YIELD


def _truncate_block(op: ir.OpView) -> bool:
    """Inlines a branch that is always taken and ends in break, continue or return; the rest of the block is dead."""
    taken = _known_branch(op)
    if taken is None or not _leaves(taken):
        return False
    *inner, end = list(taken.blocks[0].operations)
    behind = list(op.operation.block.operations)
    for each in reversed(behind[behind.index(op) + 1 :]):
        each.operation.erase()
    for each in (*inner, end):
        each.operation.move_before(op.operation)
    op.operation.erase()
    return True


def _take_known_branch(op: ir.OpView) -> bool:
    taken = _known_branch(op)
    if taken is None or _leaves(taken):
        return False
    if len(taken.blocks):
        _inline(op, taken.blocks[0], [])
    else:
        op.operation.erase()
    return True


def _share_equal_results(op: ir.OpView) -> bool:
    """Replaces a result by the value that both branches yield."""
    ends = list(terminators(op)) if op.operation.results else []
    given = [list(end.operation.operands) for end in ends if end.operation.name == YIELD]
    changed = False
    for index, result in enumerate(op.operation.results):
        values = {values[index] for values in given}
        if len(values) == 1 and list(result.uses) and not is_within(next(iter(values)), op):
            result.replace_all_uses_with(values.pop())
            changed = True
    return changed


def _drop_unused_results(op: ir.OpView) -> bool:
    used = [index for index, result in enumerate(op.operation.results) if list(result.uses)]
    if len(used) == len(op.operation.results):
        return False
    keep_results(op, used)
    return True


def _fold_trip_count(op: ir.OpView) -> bool:
    trips = _trips(op)
    if trips == 0:
        _replace(op, list(op.initValues))
        return True
    if trips != 1 or len(list(terminators(op))) > 1:
        return False
    _inline(op, op.body.blocks[0], [op.lowerBound, *op.initValues])
    return True


def _inline_single_iteration(op: ir.OpView) -> bool:
    """Inlines a loop whose only terminator is the `break` at the end of its body."""
    ends = [end.operation.name for end in terminators(op)]
    if ends != [BREAK]:
        return False
    _inline(op, op.body.blocks[0], list(op.initValues))
    return True


def _trips(op: ir.OpView) -> int | None:
    """0 or 1 if the trip count is known to be that, otherwise None."""
    lower, upper = _read(op.lowerBound, op), _read(op.upperBound, op)
    if lower.low >= upper.high:
        return 0
    step = splat(op.step)
    if step is None or step <= 0 or lower.high >= upper.low:
        return None
    return 1 if lower.low + step >= upper.high else None


def _read(value: ir.Value, op: ir.OpView) -> Interval:
    """The interval of a bound, in the signedness of the loop's comparison."""
    known = bounds(value)
    if not op.unsignedCmp or known.low >= 0:
        return known
    whole = (1 << value.type.element.width) - 1
    return Interval(known.low & whole, known.high & whole) if known.high < 0 else Interval(0, whole)


def _replace_invariant_carried(op: ir.OpView) -> bool:
    """Replaces a carried value that every continue forwards unchanged by its initial value."""
    ends = _continues(op)
    first = len(op.body.blocks[0].arguments) - len(op.initValues)
    for index, initial in enumerate(op.initValues):
        argument = op.body.blocks[0].arguments[first + index]
        continued = [end.operation.operands[index] for end in ends]
        if not all(value in (argument, initial) for value in continued):
            continue
        if _uses(argument, ends, index) or _result_used(op, index):
            argument.replace_all_uses_with(initial)
            if op.operation.name == "cuda_tile.for":
                op.operation.results[index].replace_all_uses_with(initial)
            return True
    return False


def _drop_unused_carried(op: ir.OpView) -> bool:
    """Removes carried values that are only forwarded to themselves and whose result is unused."""
    ends = _continues(op)
    first = len(op.body.blocks[0].arguments) - len(op.initValues)
    kept = [
        index
        for index in range(len(op.initValues))
        if _uses(op.body.blocks[0].arguments[first + index], ends, index) or _result_used(op, index)
    ]
    if len(kept) == len(op.initValues):
        return False
    without_carried(op, kept, ends)
    return True


def _continues(op: ir.OpView) -> list[ir.OpView]:
    return [end for end in terminators(op) if end.operation.name == CONTINUE]


def _uses(argument: ir.Value, ends: list[ir.OpView], index: int) -> bool:
    """Whether a carried value has a use other than the continues that forward it to itself."""
    own = {end.operation for end in ends}
    return any(use.owner.operation not in own or use.operand_number != index for use in argument.uses)


def _result_used(op: ir.OpView, index: int) -> bool:
    return op.operation.name == "cuda_tile.for" and bool(list(op.operation.results[index].uses))


def _inline(op: ir.OpView, block: ir.Block, arguments: list[ir.Value]) -> None:
    """Moves the operations of a block before the operation and replaces its results by the terminator's operands."""
    for argument, value in zip(block.arguments, arguments, strict=True):
        argument.replace_all_uses_with(value)
    *inner, end = list(block.operations)
    for each in inner:
        each.operation.move_before(op.operation)
    _replace(op, list(end.operation.operands))


def _replace(op: ir.OpView, values: list[ir.Value]) -> None:
    for result, value in zip(op.operation.results, values, strict=True):
        result.replace_all_uses_with(value)
    op.operation.erase()


Step = Callable[[ir.OpView], bool]

_RULES: dict[str, tuple[Step, ...]] = {
    "cuda_tile.if": (_take_known_branch, _share_equal_results, _drop_unused_results),
    "cuda_tile.for": (_fold_trip_count, _replace_invariant_carried, _drop_unused_carried),
    "cuda_tile.loop": (
        _inline_single_iteration,
        _replace_invariant_carried,
        _drop_unused_carried,
        _drop_unused_results,
    ),
}
