"""Walks over nested operations, and the operations that define and use a value.

A compile reads the operations of a kernel hundreds of times, and in four of five cases they are as before. A walk
executes 4,500 instructions of the processor for an operation, so it is kept until an operation is created, moved or
erased.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tilec.dialect.mlir import ir, passmanager

Node = TypeVar("Node", bound=Hashable)
# The methods of the bindings that change which operations there are, or their order.
_CHANGES = (
    (ir.Operation, ("create", "parse")),
    (ir.Operation.__base__, ("clone", "detach_from_parent", "erase", "move_after", "move_before")),
    (ir.OpView, ("build_generic", "parse")),
    (ir.Block, ("append", "append_to")),
    (ir.InsertionPoint, ("insert",)),
    (passmanager.PassManager, ("run",)),
)
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
    return _block(block).operations[:]


def views_in(block: ir.Block) -> list[ir.OpView]:
    """The operations of operations_in() as OpView."""
    return _block(block).views[:]


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
    return iter(walk_of(op.operation).views()[1:])


def operations_inside(op: ir.OpView | ir.Operation) -> list[ir.Operation]:
    """The operations of operations_below() as ir.Operation, not as OpView, which takes twice the time."""
    outer = op.operation
    # Most operations are leaves, for which a walk takes several times as long.
    return walk_of(outer).operations[1:] if outer.regions else []


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
    if innermost_first:
        walk = Walk(walked(module.operation, ir.WalkOrder.POST_ORDER))
    else:
        walk = walk_of(module.operation)
    if callable(names):
        return [operation.opview for operation in walk.operations if names(operation)]
    return [operation.opview for operation, name in walk.named() if name in names]


def is_within(value: ir.Value, op: ir.OpView) -> bool:
    """Whether a value is defined inside the regions of an operation."""
    owner = value.owner
    parent = owner.owner if isinstance(owner, ir.Block) else owner.operation.parent
    while parent is not None and parent.operation != op.operation:
        parent = parent.operation.parent
    return parent is not None


@dataclass(slots=True)
class Walk:
    """An operation and all that are inside it, each one before those inside of it; the rest is made when needed."""

    operations: list[ir.Operation]
    _names: list[str] = field(default_factory=list)
    _views: list[ir.OpView] = field(default_factory=list)

    def named(self) -> Iterator[tuple[ir.Operation, str]]:
        """The operations with their names."""
        if not self._names:
            self._names = [operation.name for operation in self.operations]
        return zip(self.operations, self._names, strict=True)

    def views(self) -> list[ir.OpView]:
        """The operations as OpView."""
        if not self._views:
            self._views = [operation.opview for operation in self.operations]
        return self._views


@dataclass(frozen=True, slots=True)
class _Block:
    """The operations of a block."""

    views: list[ir.OpView]
    operations: list[ir.Operation]


# The walks by their first operation, the operations of blocks, and the number of those who want that both are kept.
_kept: dict[ir.Operation | ir.Block, Any] = {}
_users = 0


@contextmanager
def walks_are_kept() -> Iterator[None]:
    """Keeps walks in its body, in which no other thread may change a module."""
    global _users
    _users += 1
    try:
        yield
    finally:
        _users -= 1
        _kept.clear()


def walk_of(outer: ir.Operation) -> Walk:
    """The walk over an operation, from an earlier one if nothing has changed since."""
    found: Walk | None = _kept.get(outer)
    if found is None:
        found = Walk(walked(outer))
        if _users:
            _kept[outer] = found
    return found


def _block(block: ir.Block) -> _Block:
    """The operations of a block, from an earlier look if nothing has changed since."""
    found: _Block | None = _kept.get(block)
    if found is None:
        views = list(block.operations)
        found = _Block(views, [view.operation for view in views])
        if _users:
            _kept[block] = found
    return found


def walked(outer: ir.Operation, order: ir.WalkOrder = ir.WalkOrder.PRE_ORDER) -> list[ir.Operation]:
    """An operation and all that are inside it, from a new walk."""
    operations: list[ir.Operation] = []
    append = operations.append

    def visit(operation: ir.Operation) -> ir.WalkResult:
        append(operation)
        return _ADVANCE

    outer.walk(visit, order)
    return operations


def _dropping(change: Callable[..., Any]) -> Callable[..., Any]:
    """A method of the bindings that drops the walks that are kept."""

    @functools.wraps(change, assigned=("__doc__",), updated=())
    def changing(*arguments: Any, **named: Any) -> Any:
        if _kept:
            _kept.clear()
        changed = change(*arguments, **named)
        # Passes call functions of operations, which may walk.
        if _kept:
            _kept.clear()
        return changed

    return changing


for _class, _names in _CHANGES:
    for _name in _names:
        _method = vars(_class)[_name]
        if isinstance(_method, classmethod):
            setattr(_class, _name, classmethod(_dropping(_method.__func__)))
        else:
            # Functions of the bindings are static, unlike those of Python.
            _wrapped = _dropping(_method)
            setattr(_class, _name, staticmethod(_wrapped) if type(_method).__name__ == "nb_func" else _wrapped)
