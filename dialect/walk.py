"""Walks over nested operations, and the operations that define and use a value.

A compile reads the operations of a kernel hundreds of times, mostly as they were before (`kept_walks`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import TypeVar

from tilec.dialect.kept_walks import kept_block, kept_walk, view_of
from tilec.dialect.mlir import ir

Node = TypeVar("Node", bound=Hashable)


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
    return kept_block(block).operations()


def views_in(block: ir.Block, names: Collection[str] | None = None) -> list[ir.OpView]:
    """The operations of a block, or those with one of these full names, as objects of their classes."""
    listed = kept_block(block)
    return listed.views() if names is None else listed.views_named(names)


def terminator_of(block: ir.Block) -> ir.Operation:
    """The last operation of a block."""
    return block.operations[len(block.operations) - 1].operation


def inner_operations(op: ir.OpView) -> Iterator[ir.OpView]:
    """The operations directly inside the regions of an operation."""
    for region in op.operation.regions:
        for block in region.blocks:
            yield from views_in(block)


def operations_below(op: ir.OpView) -> Iterator[ir.OpView]:
    """All operations that are inside an operation at the call, each one before those inside of it."""
    return iter(kept_walk(op.operation).views(1))


def operations_inside(op: ir.OpView | ir.Operation) -> list[ir.Operation]:
    """The operations of operations_below() as ir.Operation, not as OpView, which takes twice the time."""
    outer = op.operation
    # Most operations are leaves, for which a walk takes several times as long.
    if not outer.regions:
        return []
    return kept_walk(outer).operations(1)


def with_inner(op: ir.Operation) -> list[ir.Operation]:
    """An operation and those inside of it."""
    return [op, *operations_inside(op)]


def used_by(operations: Iterable[ir.Operation]) -> set[ir.Value]:
    """The operands of operations, and of those inside of them."""
    return {value for op in operations for inner in with_inner(op) for value in inner.operands}


def operations_of(block: ir.Block) -> list[ir.Operation]:
    """The operations of a block and those inside them, each one before those inside of it."""
    found: list[ir.Operation] = []
    for op in operations_in(block):
        found.append(op)
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
    walk = kept_walk(module.operation, innermost_first)
    if callable(names):
        return [view_of(operation) for operation in walk.operations() if names(operation)]
    return walk.views_named(names)


def is_within(value: ir.Value, op: ir.OpView) -> bool:
    """Whether a value is defined inside the regions of an operation."""
    owner = value.owner
    parent = owner.owner if isinstance(owner, ir.Block) else owner.operation.parent
    while parent is not None and parent.operation != op.operation:
        parent = parent.operation.parent
    return parent is not None
