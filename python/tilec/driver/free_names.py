"""The names that a Python function reads from outside, globals, closure variables and builtins, with attributes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

# A name and the attributes that are read from it: `config.tile.m` is ("config", "tile", "m").
Path = tuple[str, ...]
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def free_names(function: ast.FunctionDef | ast.Lambda) -> set[Path]:
    """The paths that the body of a function reads; its decorators, defaults and annotations are excluded.

    A name is included where its scope is uncertain.
    """
    finder = _Finder()
    finder.visit_body(function)
    return finder.found


def identifiers(function: ast.AST) -> set[str]:
    """All names, attributes and imported names in a syntax tree."""
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found.update(part for alias in node.names for part in alias.name.split("."))
            found.update((getattr(node, "module", None) or "").split("."))
    return found


class _Finder(ast.NodeVisitor):
    def __init__(self) -> None:
        self.scopes: list[set[str]] = []
        self.found: set[Path] = set()

    def visit_body(self, function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        body = [function.body] if isinstance(function, ast.Lambda) else function.body
        self.visit_in_scope(_parameters(function.args) | _assigned(body), body)

    def visit_in_scope(self, names: set[str], nodes: Iterable[ast.AST]) -> None:
        self.scopes.append(names)
        for node in nodes:
            self.visit(node)
        self.scopes.pop()

    def visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        # Decorators and defaults are evaluated in the enclosing scope.
        for outer in (*getattr(node, "decorator_list", ()), *node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(outer)
        self.visit_body(node)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_function

    def visit_comprehension_of(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        # The first iterable is evaluated in the enclosing scope.
        self.visit(node.generators[0].iter)
        targets = {name for generator in node.generators for name in _stored(generator.target)}
        self.visit_in_scope(targets, ast.iter_child_nodes(node))

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_comprehension_of

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        # Annotations of local variables are not evaluated.
        self.visit(node.target)
        if node.value is not None:
            self.visit(node.value)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        attributes, base = [node.attr], node.value
        while isinstance(base, ast.Attribute):
            attributes.append(base.attr)
            base = base.value
        if isinstance(base, ast.Name):
            self.read(base.id, *reversed(attributes))
        else:
            self.visit(base)

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Store):
            self.read(node.id)

    def read(self, name: str, *attributes: str) -> None:
        if not any(name in scope for scope in self.scopes):
            self.found.add((name, *attributes))


def _parameters(arguments: ast.arguments) -> set[str]:
    listed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return {argument.arg for argument in listed if argument is not None}


def _assigned(body: Iterable[ast.AST]) -> set[str]:
    """The local variables of a function: the names it assigns, without those of the functions inside it."""
    nodes = list(_in_this_scope(body))
    outside = {name for node in nodes if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    defined = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return (stored | defined) - outside


def _stored(target: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _in_this_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    for node in nodes:
        yield node
        if not isinstance(node, _FUNCTIONS | _COMPREHENSIONS | ast.ClassDef):
            yield from _in_this_scope(ast.iter_child_nodes(node))
