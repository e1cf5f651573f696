"""Walks over nested operations, and the operations that define and use a value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import TypeVar

from tilec.dialect.mlir import ir

Node = TypeVar("Node", bound=Hashable)

# Looked up once: MLIR's enumerations take as long for it as for the visit of an operation.
_ADVANCE = ir.WalkResult.ADVANCE


def owner_of(value: ir.Value) -> ir.Operation | None:
    """The operation that defines a value; None for an argument of a block."""
    owner = value.owner
    # Five times as fast as isinstance(), which asks an instance of another class of the bindings for its __class__.
    return None if type(owner) is ir.Block else owner.operation


def users_of(value: ir.Value) -> list[ir.Operation]:
    """The operations that use a value: one that uses it several times is there for each."""
    return [use.owner.operation for use in value.uses]


def operations_in(block: ir.Block) -> list[ir.Operation]:
    """The operations of a block, without those inside of them."""
    return [op.operation for op in block.operations]


def terminator_of(block: ir.Block) -> ir.Operation:
    """The last operation of a block."""
    return block.operations[len(block.operations) - 1].operation


def inner_operations(op: ir.OpView) -> Iterator[ir.OpView]:
    """The operations directly inside the regions of an operation."""
    for region in op.operation.regions:
        for block in region.blocks:
            yield from block.operations


def operations_below(op: ir.OpView) -> Iterator[ir.OpView]:
    """All operations that are inside an operation at the call, each one before those inside of it."""
    found: list[ir.OpView] = []
    _collect(op.operation, found)
    return iter(found)


def _collect(operation: ir.Operation, found: list[ir.OpView]) -> None:
    # Modules nest at most 512 regions deep, and a generator takes a third more time.
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                found.append(inner)
                below = inner.operation
                if below.regions:
                    _collect(below, found)


def operations_inside(op: ir.OpView | ir.Operation) -> list[ir.Operation]:
    """The operations of operations_below() as ir.Operation, not as OpView, which takes twice the time."""
    outer = op.operation
    # Most operations are leaves, for which a walk takes several times as long.
    if not outer.regions:
        return []
    found: list[ir.Operation] = []
    append = found.append

    def visit(operation: ir.Operation) -> ir.WalkResult:
        append(operation)
        return _ADVANCE

    outer.walk(visit, ir.WalkOrder.PRE_ORDER)
    del found[0]
    return found


def with_inner(op: ir.Operation) -> list[ir.Operation]:
    """An operation and those inside of it."""
    return [op, *operations_inside(op)]


def used_by(operations: Iterable[ir.Operation]) -> set[ir.Value]:
    """The operands of operations, and of those inside of them."""
    return {value for op in operations for inner in with_inner(op) for value in inner.operands}


def operations_of(block: ir.Block) -> list[ir.Operation]:
    """The operations of a block and those inside them, each one before those inside of it."""
    found: list[ir.Operation] = []
    for op in block.operations:
        found.append(op.operation)
        if op.operation.regions:
            found += operations_inside(op)
    return found


def reached(value: Node, following: Callable[[Node], Iterable[Node]]) -> Iterator[Node]:
    """A value, or another node, and those that `following` leads to from it: each once, for any number of paths."""
    return reached_from([value], following)


def reached_from(values: Iterable[Node], following: Callable[[Node], Iterable[Node]]) -> Iterator[Node]:
    """Values, or other nodes, and those that `following` leads to from them: each once, for any number of paths."""
    waiting, seen = list(values), set[Node]()
    while waiting:
        value = waiting.pop()
        if value not in seen:
            seen.add(value)
            yield value
            waiting += following(value)


def operations_named(
    module: ir.Module, names: Collection[str] | Callable[[ir.Operation], bool], innermost_first: bool = False
) -> list[ir.OpView]:
    """The operations of a module with one of these full names, or for which a predicate holds, in program order."""
    found: list[ir.OpView] = []
    matches = names if callable(names) else None

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name in names if matches is None else matches(operation):  # type: ignore[operator]
            found.append(operation.opview)
        return _ADVANCE

    module.operation.walk(visit, ir.WalkOrder.POST_ORDER if innermost_first else ir.WalkOrder.PRE_ORDER)
    return found


def is_within(value: ir.Value, op: ir.OpView) -> bool:
    """Whether a value is defined inside the regions of an operation."""
    owner = value.owner
    parent = owner.owner if isinstance(owner, ir.Block) else owner.operation.parent
    while parent is not None and parent.operation != op.operation:
        parent = parent.operation.parent
    return parent is not None
