"""Walks over nested operations, and the operations that define and use a value.

A compile reads the operations of a kernel hundreds of times, mostly as they were before. A walk of the bindings
executes 5,000 instructions of the processor for an operation, so it is kept until an operation is created, moved or
erased. What is kept are addresses, from which each reader gets operations of its own, for 900: the bindings mark an
operation that is erased as invalid, for all who have the same Python object.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from tilec.dialect.mlir import ir, passmanager

Node = TypeVar("Node", bound=Hashable)
# The methods of the bindings that change which operations there are, or their order.
_CHANGES = (
    (ir.Operation, ("create", "parse")),
    (ir.Operation.__base__, ("clone", "detach_from_parent", "erase", "move_after", "move_before")),
    (ir.OpView, ("build_generic", "parse")),
    (ir.Module, ("create", "parse", "parseFile")),
    (ir.Block, ("append", "append_to")),
    (ir.InsertionPoint, ("insert",)),
    (ir.SymbolTable, ("insert", "erase")),
)
# Looked up once: MLIR's enumerations take as long for it as for the visit of an operation.
_ADVANCE, _INNERMOST_FIRST, _OUTERMOST_FIRST = ir.WalkResult.ADVANCE, ir.WalkOrder.POST_ORDER, ir.WalkOrder.PRE_ORDER
_AT_ADDRESS = ir.Operation._CAPICreate
# Creates an operation in a module that nothing walks while it is made: what is kept of others stays.
create_in_new_module = ir.Operation.create
_NEW_VIEW, _INITIALIZE_VIEW = ir.OpView.__new__, ir.OpView.__init__


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


# ---- what is kept


class _Listed:
    """A list of operations, as addresses, and their names as far as they have been asked for."""

    __slots__ = ("_addresses", "_fresh", "_fresh_views", "_names")

    def __init__(self, operations: list[ir.Operation], views: list[ir.OpView] | None = None) -> None:
        self._addresses = [operation._CAPIPtr for operation in operations]
        # The first reader gets the operations of the walk, or their views.
        self._fresh: list[ir.Operation] | None = operations
        self._fresh_views = views
        self._names: list[str] | None = None

    def operations(self, first: int = 0) -> list[ir.Operation]:
        """The operations from number `first` on."""
        fresh, self._fresh = self._fresh, None
        if fresh is not None:
            return fresh[first:] if first else fresh
        return [_AT_ADDRESS(address) for address in self._addresses[first:]]

    def named(self) -> list[str]:
        """The names of the operations."""
        if self._names is None:
            fresh = self._fresh or [_AT_ADDRESS(address) for address in self._addresses]
            self._names = [operation.name for operation in fresh]
        return self._names

    def views(self, first: int = 0) -> list[ir.OpView]:
        """The operations from number `first` on, as objects of their classes."""
        if self._fresh is not None and self._fresh_views is not None:
            self._fresh = None
            return self._fresh_views[first:]
        names = self.named()[first:]
        return [_view(operation, name) for operation, name in zip(self.operations(first), names, strict=True)]

    def views_named(self, names: Collection[str]) -> list[ir.OpView]:
        """The operations with one of these names, as objects of their classes."""
        pairs = zip(self._addresses, self.named(), strict=True)
        return [_view(_AT_ADDRESS(address), name) for address, name in pairs if name in names]


# The lists by their first operation, and the order of its walk, or by their block; and the number of those who want
# that they are kept.
_kept: dict[Any, _Listed] = {}
_users = 0
# The class of the operations of a name: MLIR takes three times as long to find it and create an object.
_CLASSES: dict[str, type[ir.OpView]] = {}


@contextmanager
def walks_are_kept() -> Iterator[None]:
    """Keeps walks in its body, in which no other thread may change the modules that it reads."""
    global _users
    _users += 1
    try:
        yield
    finally:
        _users -= 1
        _kept.clear()


def kept_walk(outer: ir.Operation, innermost_first: bool = False) -> _Listed:
    """An operation and those inside of it, from an earlier walk if none has changed since."""
    key = (outer, innermost_first)
    found = _kept.get(key)
    if found is None:
        found = _Listed(walked(outer, innermost_first))
        if _users:
            _kept[key] = found
    return found


def kept_block(block: ir.Block) -> _Listed:
    """The operations of a block, without those inside of them."""
    found = _kept.get(block)
    if found is None:
        views = list(block.operations)
        found = _Listed([view.operation for view in views], views)
        if _users:
            _kept[block] = found
    return found


def walked(outer: ir.Operation, innermost_first: bool = False) -> list[ir.Operation]:
    """An operation and those inside of it, from a new walk."""
    operations: list[ir.Operation] = []
    append = operations.append

    def visit(operation: ir.Operation) -> ir.WalkResult:
        append(operation)
        return _ADVANCE

    outer.walk(visit, _INNERMOST_FIRST if innermost_first else _OUTERMOST_FIRST)
    return operations


def view_of(operation: ir.Operation) -> ir.OpView:
    """An operation as an object of its class."""
    return _view(operation, operation.name)


def _view(operation: ir.Operation, name: str) -> ir.OpView:
    found = _CLASSES.get(name)
    if found is None:
        found = _CLASSES[name] = type(operation.opview)
    view: ir.OpView = _NEW_VIEW(found)
    _INITIALIZE_VIEW(view, operation)
    return view


def _dropping(change: Callable[..., Any]) -> Callable[..., Any]:
    """A method of the bindings that drops what is kept."""

    @functools.wraps(change, assigned=("__doc__",), updated=())
    def changing(*arguments: Any, **named: Any) -> Any:
        if _kept:
            _kept.clear()
        return change(*arguments, **named)

    return changing


def _run(manager: passmanager.PassManager, operation: ir.Operation) -> None:
    """Runs passes, which call functions of operations: what these walk is not kept."""
    global _users
    _kept.clear()
    users, _users = _users, 0
    try:
        _RUN(manager, operation)
    finally:
        _users = users


_RUN = passmanager.PassManager.run
passmanager.PassManager.run = _run
for _class, _methods in _CHANGES:
    for _name in _methods:
        _method = vars(_class)[_name]
        if isinstance(_method, classmethod):
            setattr(_class, _name, classmethod(_dropping(_method.__func__)))
        else:
            # Functions of the bindings are static, unlike those of Python.
            _wrapped = _dropping(_method)
            setattr(_class, _name, staticmethod(_wrapped) if type(_method).__name__ == "nb_func" else _wrapped)
