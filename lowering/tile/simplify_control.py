"""Branches that are always taken, loops that run once or never, and values that they need not carry or give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilec.dialect.mlir import ir
from tilec.lowering.tile.bounds import Interval, bounds
from tilec.lowering.tile.carried import keep_results, without_carried
from tilec.lowering.tile.constants import splat
from tilec.lowering.tile.terminators import CONTINUE, YIELD, terminators


def simplify_control(module: ir.Module) -> None:
    """Inlines and shortens, inner operations first, until nothing changes."""
    while any(_cut_off(op) for op in _structures(module)) or sum(_apply(op) for op in _structures(module)):
        pass


def _structures(module: ir.Module) -> list[Any]:
    found: list[Any] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name in _RULES:
            found.append(operation.opview)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.POST_ORDER)
    return found


def _apply(op: Any) -> bool:
    """Whether a rule changed something; no other operation that was found goes with it."""
    return any(rule(op) for rule in _RULES[op.operation.name])


def _known_branch(op: Any) -> ir.Region | None:
    condition = splat(op.condition) if op.operation.name == "cuda_tile.if" else None
    return None if condition is None else op.then if condition else op.else_


def _cut_off(op: Any) -> bool:
    """A branch that is always taken and leaves for good ends the block around it."""
    taken = _known_branch(op)
    if taken is None or not len(taken.blocks):
        return False
    *inner, end = list(taken.blocks[0].operations)
    if end.operation.name == YIELD:
        return False
    behind = list(op.operation.block.operations)
    for each in reversed(behind[behind.index(op) + 1 :]):
        each.operation.erase()
    for each in (*inner, end):
        each.operation.move_before(op.operation)
    op.operation.erase()
    return True


def _take_known_branch(op: Any) -> bool:
    taken = _known_branch(op)
    if taken is None:
        return False
    if len(taken.blocks):
        _inline(op, taken.blocks[0], [])
    else:
        op.operation.erase()
    return True


def _share_equal_results(op: Any) -> bool:
    """A result that is the same value from both branches is that value."""
    ends = list(terminators(op)) if op.operation.results else []
    given = [list(end.operation.operands) for end in ends if end.operation.name == YIELD]
    changed = False
    for index, result in enumerate(op.operation.results):
        values = {values[index] for values in given}
        if len(values) == 1 and list(result.uses) and not _is_within(next(iter(values)), op):
            result.replace_all_uses_with(values.pop())
            changed = True
    return changed


def _is_within(value: ir.Value, op: Any) -> bool:
    owner = value.owner
    parent = owner.owner if isinstance(owner, ir.Block) else owner.operation.parent
    while parent is not None and parent.operation != op.operation:
        parent = parent.operation.parent
    return parent is not None


def _drop_unused_results(op: Any) -> bool:
    used = [index for index, result in enumerate(op.operation.results) if list(result.uses)]
    if len(used) == len(op.operation.results):
        return False
    keep_results(op, used)
    return True


def _run_never_or_once(op: Any) -> bool:
    trips = _trips(op)
    if trips == 0:
        _replace(op, list(op.initValues))
        return True
    if trips != 1 or len(list(terminators(op))) > 1:
        return False
    _inline(op, op.body.blocks[0], [op.lowerBound, *op.initValues])
    return True


def _trips(op: Any) -> int | None:
    """0 or 1 where the body is known to run so many times."""
    lower, upper = _read(op.lowerBound, op), _read(op.upperBound, op)
    if lower.low >= upper.high:
        return 0
    step = splat(op.step)
    if step is None or step <= 0 or lower.high >= upper.low:
        return None
    return 1 if lower.low + step >= upper.high else None


def _read(value: ir.Value, op: Any) -> Interval:
    """Where a bound lies as the loop compares it."""
    known = bounds(value)
    if not op.unsignedCmp or known.low >= 0:
        return known
    whole = (1 << value.type.element.width) - 1
    return Interval(known.low & whole, known.high & whole) if known.high < 0 else Interval(0, whole)


def _drop_what_never_changes(op: Any) -> bool:
    """A carried value that each turn hands on as it came is the one that it began with."""
    ends = _continues(op)
    first = len(op.body.blocks[0].arguments) - len(op.initValues)
    for index, initial in enumerate(op.initValues):
        argument = op.body.blocks[0].arguments[first + index]
        handed = [end.operation.operands[index] for end in ends]
        if not all(value in (argument, initial) for value in handed):
            continue
        if _uses(argument, ends, index) or _result_used(op, index):
            argument.replace_all_uses_with(initial)
            if op.operation.name == "cuda_tile.for":
                op.operation.results[index].replace_all_uses_with(initial)
            return True
    return False


def _drop_what_is_not_used(op: Any) -> bool:
    """A carried value that only comes back to itself, and is no result that anything uses."""
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


def _continues(op: Any) -> list[Any]:
    return [end for end in terminators(op) if end.operation.name == CONTINUE]


def _uses(argument: ir.Value, ends: list[Any], index: int) -> bool:
    """Whether something uses a carried value but the continues that hand it on as itself."""
    own = {end.operation for end in ends}
    return any(use.owner.operation not in own or use.operand_number != index for use in argument.uses)


def _result_used(op: Any, index: int) -> bool:
    return op.operation.name == "cuda_tile.for" and bool(list(op.operation.results[index].uses))


def _inline(op: Any, block: ir.Block, arguments: list[ir.Value]) -> None:
    """Moves the operations of a block before the operation, whose results are those of the block's terminator."""
    for argument, value in zip(block.arguments, arguments, strict=True):
        argument.replace_all_uses_with(value)
    *inner, end = list(block.operations)
    for each in inner:
        each.operation.move_before(op.operation)
    _replace(op, list(end.operation.operands))


def _replace(op: Any, values: list[ir.Value]) -> None:
    for result, value in zip(op.operation.results, values, strict=True):
        result.replace_all_uses_with(value)
    op.operation.erase()


Step = Callable[[Any], bool]

_RULES: dict[str, tuple[Step, ...]] = {
    "cuda_tile.if": (_take_known_branch, _share_equal_results, _drop_unused_results),
    "cuda_tile.for": (_run_never_or_once, _drop_what_never_changes, _drop_what_is_not_used),
    "cuda_tile.loop": (_drop_what_never_changes, _drop_what_is_not_used, _drop_unused_results),
}
