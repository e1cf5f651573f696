"""Liveness of names: the names that branches must merge and loops must carry."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

Names = frozenset[str]
NOTHING: Names = frozenset()
_FUNCTIONS = (ast.FunctionDef, ast.Lambda)
_WRITES = (ast.Store, ast.Del)
# Fields in which there are neither names nor statements.
_LEAVES = frozenset({"attr", "ctx", "id", "op", "ops"})


def _outermost(node: ast.AST, kinds: type[ast.AST] | tuple[type[ast.AST], ...]) -> Iterator[Any]:
    """The nodes of `kinds` in a tree that are not inside another one of them."""
    pending = [node]
    while pending:
        node = pending.pop()
        if isinstance(node, kinds):
            yield node
            continue
        kind: Any = type(node)
        for field in _branches(kind):
            value = getattr(node, field, None)
            if type(value) is list:
                pending += [item for item in value if isinstance(item, ast.AST)]
            elif value is not None and isinstance(value, ast.AST):
                pending.append(value)


@cache
def _branches(kind: Any) -> tuple[str, ...]:
    """The fields of a class of nodes in which there may be names or statements."""
    return () if kind is ast.Constant else tuple(field for field in kind._fields if field not in _LEAVES)


def assigned(statements: Iterable[ast.AST]) -> Names:
    """The names that the statements may bind, excluding the bodies of nested functions."""
    found: set[str] = set()
    for statement in statements:
        _collect_assigned(statement, found)
    return frozenset(found)


def _collect_assigned(node: ast.AST, found: set[str]) -> None:
    for part in _outermost(node, (ast.Name, ast.FunctionDef, ast.Lambda, ast.comprehension)):
        if isinstance(part, ast.FunctionDef):
            found.add(part.name)
        elif isinstance(part, ast.Name) and isinstance(part.ctx, _WRITES):
            found.add(part.id)
        elif isinstance(part, ast.comprehension):
            # Its target is a name of the comprehension alone.
            for inner in (part.iter, *part.ifs):
                _collect_assigned(inner, found)


def read(node: ast.AST | None) -> Names:
    """The names that an expression may read, including the bodies of nested functions."""
    if node is None:
        return NOTHING
    return frozenset(name.id for name in _outermost(node, ast.Name) if isinstance(name.ctx, ast.Load))


def free_names(function: ast.FunctionDef | ast.Lambda) -> Names:
    """The names of enclosing functions, and the global names, that the body of a function may read."""
    body = function.body if isinstance(function, ast.FunctionDef) else [function.body]
    every = [node for node in ast.walk(function.args) if isinstance(node, ast.arg)]
    return _reads(body) - assigned(body) - {argument.arg for argument in every}


def _reads(nodes: Iterable[ast.AST]) -> Names:
    return NOTHING.union(*map(_reads_of, nodes))


def _reads_of(node: ast.AST) -> Names:
    if isinstance(node, ast.Name):
        return frozenset({node.id}) if isinstance(node.ctx, ast.Load) else NOTHING
    if isinstance(node, _FUNCTIONS):
        return free_names(node) | _reads([node.args])
    inner = _reads(ast.iter_child_nodes(node))
    generators = getattr(node, "generators", [])
    return inner - assigned([each.target for each in generators])


def captured_names(node: ast.AST) -> Names:
    """The names that the functions defined in a statement may read when they are called later."""
    functions = _outermost(node, _FUNCTIONS)
    return NOTHING.union(*(free_names(function) | captured_names(function.args) for function in functions))


def contains(node: ast.AST | Sequence[ast.stmt], kinds: type[ast.AST] | tuple[type[ast.AST], ...]) -> bool:
    """Whether the tree contains a node of one of `kinds` outside nested functions."""
    # Not by the class Sequence: it looks for each new class among all that are registered, for two milliseconds.
    if not isinstance(node, ast.AST):
        return any(contains(item, kinds) for item in node)
    ends = (*kinds, *_FUNCTIONS) if isinstance(kinds, tuple) else (kinds, *_FUNCTIONS)
    return any(isinstance(found, kinds) for found in _outermost(node, ends))


def leaves_loop(statements: Sequence[ast.stmt]) -> bool:
    """Whether a `break` in the statements leaves the enclosing loop."""
    for statement in statements:
        if isinstance(statement, ast.Break):
            return True
        if isinstance(statement, ast.If) and (leaves_loop(statement.body) or leaves_loop(statement.orelse)):
            return True
        if isinstance(statement, ast.With) and leaves_loop(statement.body):
            return True
    return False


def falls_through(statements: Sequence[ast.stmt]) -> bool:
    """Whether control may reach the end of the statements; a loop may always end."""
    return all(map(_falls_through, statements))


def _falls_through(node: ast.stmt) -> bool:
    if isinstance(node, ast.If):
        return falls_through(node.body) or falls_through(node.orelse)
    if isinstance(node, ast.With):
        return falls_through(node.body)
    return not isinstance(node, ast.Return | ast.Raise | ast.Break | ast.Continue)


@dataclass(frozen=True)
class _Exits:
    """The live names at the targets of `break` and `continue`."""

    after_loop: Names
    next_iteration: Names


class Liveness:
    """The live names of a function: `after` each statement and at the `header` of each loop.

    A name that a nested function reads is live from the definition of that function on.
    """

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self.after: dict[ast.AST, Names] = {}
        self.header: dict[ast.AST, Names] = {}
        # The bodies of loops are visited several times.
        self._captured, self._read = cache(captured_names), cache(read)
        self._body(body, NOTHING, None, NOTHING)

    def _body(self, statements: Sequence[ast.stmt], live: Names, exits: _Exits | None, captured: Names) -> Names:
        """The live names before the statements; functions defined before them read the names `captured`."""
        before = list(itertools.accumulate(map(self._captured, statements), frozenset.union, initial=captured))
        for position, statement in reversed(list(enumerate(statements))):
            live |= before[position + 1]
            self.after[statement] = live
            live = self._statement(statement, live, exits, before[position]) | before[position]
        return live

    def _statement(self, node: ast.stmt, live: Names, exits: _Exits | None, captured: Names) -> Names:
        match node:
            case ast.If():
                branches = [self._body(body, live, exits, captured) for body in (node.body, node.orelse)]
                return self._read(node.test).union(*branches)
            case ast.With():
                return self._with(node, live, exits, captured)
            case ast.For():
                return self._read(node.iter) | self._loop(node, live, assigned([node.target]), NOTHING, captured)
            case ast.While():
                return self._loop(node, live, NOTHING, self._read(node.test), captured)
            case ast.Break() if exits:
                return exits.after_loop
            case ast.Continue() if exits:
                return exits.next_iteration
            case ast.Return():
                return self._read(node.value)
            case ast.Assign():
                return (live - _plain_targets(node.targets)) | self._read(node)
            case ast.AnnAssign():
                return (live - _plain_targets([node.target])) | self._read(node.value)
            case ast.AugAssign():
                return live | self._read(node) | assigned([node.target])
            case ast.FunctionDef():
                return (live - {node.name}) | self._read(node)
        return live | self._read(node)

    def _with(self, node: ast.With, live: Names, exits: _Exits | None, captured: Names) -> Names:
        before = self._body(node.body, live, exits, captured)
        for item in reversed(node.items):
            targets = [] if item.optional_vars is None else [item.optional_vars]
            before = (before - _plain_targets(targets)) | self._read(item)
        return before

    def _loop(self, node: ast.For | ast.While, live: Names, targets: Names, test: Names, captured: Names) -> Names:
        header = live | test
        # An iteration calls the functions that earlier iterations have defined.
        captured |= self._captured(node)
        while True:
            grown = header | (self._body(node.body, header, _Exits(live, header), captured) - targets)
            if grown == header:
                self.header[node] = header
                return header
            header = grown


def _plain_targets(targets: Sequence[ast.expr]) -> Names:
    """The names assigned as a whole; a subscript or attribute target reads its object."""
    names = (name for target in targets for name in _outermost(target, ast.Name))
    return frozenset(name.id for name in names if isinstance(name.ctx, ast.Store))
