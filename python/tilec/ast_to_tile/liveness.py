"""Liveness of names: the names that branches must merge and loops must carry."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

Names = frozenset[str]
NOTHING: Names = frozenset()
_FUNCTIONS = (ast.FunctionDef, ast.Lambda)
_WRITES = (ast.Store, ast.Del)


def assigned(statements: Iterable[ast.AST]) -> Names:
    """The names that the statements may bind, excluding the bodies of nested functions."""
    found: set[str] = set()
    for statement in statements:
        _collect_assigned(statement, found)
    return frozenset(found)


def _collect_assigned(node: ast.AST, found: set[str]) -> None:
    if isinstance(node, ast.FunctionDef):
        found.add(node.name)
        return
    if isinstance(node, ast.Lambda):
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, _WRITES):
        found.add(node.id)
    if isinstance(node, ast.comprehension):
        # The target of a comprehension is a name of the comprehension alone.
        for part in (node.iter, *node.ifs):
            _collect_assigned(part, found)
        return
    for child in ast.iter_child_nodes(node):
        _collect_assigned(child, found)


def read(node: ast.AST | None) -> Names:
    """The names that an expression may read, including the bodies of nested functions."""
    if node is None:
        return NOTHING
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))


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
    if isinstance(node, _FUNCTIONS):
        return free_names(node) | captured_names(node.args)
    return NOTHING.union(*map(captured_names, ast.iter_child_nodes(node)))


def contains(node: ast.AST | Sequence[ast.stmt], kinds: type | tuple[type, ...]) -> bool:
    """Whether the tree contains a node of one of `kinds` outside nested functions."""
    # Not by the class Sequence: it looks for each new class among all that are registered, for two milliseconds.
    if not isinstance(node, ast.AST):
        return any(contains(item, kinds) for item in node)
    if isinstance(node, kinds):
        return True
    if isinstance(node, _FUNCTIONS):
        return False
    return any(contains(child, kinds) for child in ast.iter_child_nodes(node))


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
    return frozenset(
        name.id
        for target in targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    )
