"""Folds known branches, loops with zero or one iteration, and unused carried values."""

from __future__ import annotations

from collections.abc import Callable

from tilec.dialect.mlir import ir
from tilec.dialect.walk import is_within, operations_named
from tilec.lowering.tile.analysis.bounds import read_as
from tilec.lowering.tile.analysis.carried import keep_results, without_carried
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile.analysis.replacing import replace
from tilec.lowering.tile.analysis.tile_operations import (
    BREAK,
    CONTINUE,
    FOR,
    IF,
    LOOP,
    ends,
    leaves,
    terminators,
    yields,
)


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
    condition = splat(op.condition) if op.operation.name == IF else None
    return None if condition is None else op.then if condition else op.else_


def _truncate_block(op: ir.OpView) -> bool:
    """Inlines a branch that is always taken and ends in break, continue or return; the rest of the block is dead."""
    taken = _known_branch(op)
    if taken is None or not any(map(leaves, taken.blocks)):
        return False
    operations = list(op.operation.block.operations)
    for each in reversed(operations[operations.index(op) + 1 :]):
        each.operation.erase()
    for each in list(taken.blocks[0].operations):
        each.operation.move_before(op.operation)
    op.operation.erase()
    return True


def _take_known_branch(op: ir.OpView) -> bool:
    taken = _known_branch(op)
    if taken is None or any(map(leaves, taken.blocks)):
        return False
    if len(taken.blocks):
        _inline(op, taken.blocks[0], [])
    else:
        op.operation.erase()
    return True


def _share_equal_results(op: ir.OpView) -> bool:
    """Replaces a result by the value that both branches yield."""
    changed = False
    for index, result in enumerate(op.operation.results):
        values = {end.operation.operands[index] for end in yields(op)}
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
        replace(op, op.initValues)
        return True
    if trips != 1 or len(list(terminators(op))) > 1:
        return False
    _inline(op, op.body.blocks[0], [op.lowerBound, *op.initValues])
    return True


def _inline_single_iteration(op: ir.OpView) -> bool:
    """Inlines a loop whose only terminator is the `break` at the end of its body."""
    if [end.operation.name for end in terminators(op)] != [BREAK]:
        return False
    _inline(op, op.body.blocks[0], list(op.initValues))
    return True


def _trips(op: ir.OpView) -> int | None:
    """0 or 1 if the trip count is known to be that, otherwise None."""
    signedness = "unsigned" if op.unsignedCmp else "signed"
    lower, upper = read_as(op.lowerBound, signedness), read_as(op.upperBound, signedness)
    if lower.low >= upper.high:
        return 0
    step = splat(op.step)
    if step is None or step <= 0 or lower.high >= upper.low:
        return None
    return 1 if lower.low + step >= upper.high else None


def _replace_invariant_carried(op: ir.OpView) -> bool:
    """Replaces a carried value that every continue forwards unchanged by its initial value."""
    continues = ends(op, CONTINUE)
    for index, (argument, initial) in enumerate(zip(op.carried, op.initValues, strict=True)):
        if not all(end.operation.operands[index] in (argument, initial) for end in continues):
            continue
        if _is_used(op, index, continues):
            argument.replace_all_uses_with(initial)
            if op.operation.name == FOR:
                op.operation.results[index].replace_all_uses_with(initial)
            return True
    return False


def _drop_unused_carried(op: ir.OpView) -> bool:
    """Removes carried values that are only forwarded to themselves and whose result is unused."""
    continues = ends(op, CONTINUE)
    kept = [index for index in range(len(op.initValues)) if _is_used(op, index, continues)]
    if len(kept) == len(op.initValues):
        return False
    without_carried(op, kept)
    return True


def _is_used(op: ir.OpView, index: int, continues: list[ir.OpView]) -> bool:
    """Whether a carried value has a use besides the continues that forward it, or the result of the `for` has one."""
    own = {end.operation for end in continues}
    if any(use.owner.operation not in own or use.operand_number != index for use in op.carried[index].uses):
        return True
    return op.operation.name == FOR and bool(list(op.operation.results[index].uses))


def _inline(op: ir.OpView, block: ir.Block, arguments: list[ir.Value]) -> None:
    """Moves the operations of a block before the operation and replaces its results by the terminator's operands."""
    for argument, value in zip(block.arguments, arguments, strict=True):
        argument.replace_all_uses_with(value)
    *inner, end = list(block.operations)
    for each in inner:
        each.operation.move_before(op.operation)
    replace(op, list(end.operation.operands))


Step = Callable[[ir.OpView], bool]

_RULES: dict[str, tuple[Step, ...]] = {
    IF: (_take_known_branch, _share_equal_results, _drop_unused_results),
    FOR: (_fold_trip_count, _replace_invariant_carried, _drop_unused_carried),
    LOOP: (_inline_single_iteration, _replace_invariant_carried, _drop_unused_carried, _drop_unused_results),
}
