"""Rewrites the syntax tree of a function of a kernel so that Python executes it with the semantics of kernels.

Lines and columns stay those of the source, which debuggers show. Python's own evaluation differs in these places:

f(x)                 run[f](x): `run` is a mapping from a function to what kernels call in its place
a and b, not a       run.truth(a) and run.truth(b), run.negated(a): both yield booleans
a < b < c            run.compared((a, b, c), "<", "<"): each comparison is by element
a if c else b        run.selected(c, a, b) where neither value has a call, which might have an effect
for, while           a name that the body assigns is typed at the start of the body and after the loop
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TypeVar

from tilec.ast_to_tile.control_flow.liveness import assigned

Node = TypeVar("Node", bound=ast.AST)

# The free variable of rewritten functions; no name of a user starts with two underscores of this module.
RUN = "__tilec__"

# The function around a rewritten one, which only declares its free variables.
FACTORY = "__factory__"

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


class Rewriting(ast.NodeTransformer):
    """`is_counted` tells whether the expression after `in` is a call of Python's `range`, a loop at run time."""

    def __init__(self, is_counted: Callable[[ast.expr], bool]) -> None:
        self._is_counted = is_counted

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        function = _located(ast.Subscript(_run(), node.func, ast.Load()), node.func)
        return ast.copy_location(ast.Call(function, node.args, node.keywords), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        operands: list[ast.expr] = [_located(_method("truth", [value]), value) for value in node.values]
        return ast.copy_location(ast.BoolOp(node.op, operands), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return _located(_method("negated", [node.operand]), node) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if len(node.ops) == 1 or any(type(operator) not in _COMPARISONS for operator in node.ops):
            return node
        operands = ast.Tuple([node.left, *node.comparators], ast.Load())
        names: list[ast.expr] = [ast.Constant(_COMPARISONS[type(operator)]) for operator in node.ops]
        return _located(_method("compared", [operands, *names]), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        if any(isinstance(inner, ast.Call) for part in (node.body, node.orelse) for inner in ast.walk(part)):
            self.generic_visit(node)
            return node
        self.generic_visit(node)
        return _located(_method("selected", [node.test, node.body, node.orelse]), node)

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        counted = self._is_counted(node.iter)
        names = sorted(assigned(node.body) - assigned([node.target])) if counted else []
        self.generic_visit(node)
        return _typed_loop(node, names)

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        names = sorted(assigned(node.body) | assigned([node.test]))
        self.generic_visit(node)
        return _typed_loop(node, names)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.decorator_list, node.returns = [], None
        for argument in ast.walk(node.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        return node


def _typed_loop(node: ast.For | ast.While, names: Sequence[str]) -> list[ast.stmt]:
    statements = [_typed(name, node) for name in names]
    node.body = [*statements, *node.body]
    return [node, *(_typed(name, node) for name in names)]


def _typed(name: str, loop: ast.stmt) -> ast.stmt:
    """`name = run.typed(name)`, if the name has a value."""
    store = ast.Assign([ast.Name(name, ast.Store())], _method("typed", [ast.Name(name, ast.Load())]))
    unassigned = ast.ExceptHandler(ast.Name("NameError", ast.Load()), None, [ast.Pass()])
    return _located(ast.Try([store], [unassigned], [], []), loop, only_line=True)


def _run() -> ast.Name:
    return ast.Name(RUN, ast.Load())


def _method(name: str, arguments: list[ast.expr]) -> ast.Call:
    return ast.Call(ast.Attribute(_run(), name, ast.Load()), arguments, [])


def _located(made: Node, origin: ast.AST, only_line: bool = False) -> Node:
    """`made` with the position of `origin` where it has none."""
    for inner in ast.walk(made):
        if "lineno" in inner._attributes and not hasattr(inner, "lineno"):
            ast.copy_location(inner, origin)
            if only_line:
                inner.end_lineno, inner.end_col_offset = origin.lineno, origin.col_offset  # type: ignore[attr-defined]
    return made


def rewritten(
    node: ast.FunctionDef | ast.Lambda, free: Sequence[str], is_counted: Callable[[ast.expr], bool]
) -> ast.Module:
    """A module whose only function has the free variables as parameters and contains the rewritten definition."""
    changed = Rewriting(is_counted).visit(node)
    body: list[ast.stmt] = [changed if isinstance(changed, ast.FunctionDef) else ast.Return(changed)]
    if isinstance(changed, ast.FunctionDef) and changed.name not in free:
        # Otherwise the function's own name in its body would be a variable of the factory.
        body.insert(0, ast.Global([changed.name]))
    parameters = ast.arguments([], [ast.arg(name) for name in (RUN, *free)], None, [], [], None, [])
    outer = ast.FunctionDef(FACTORY, parameters, body, [])
    return ast.fix_missing_locations(ast.Module([_located(outer, node)], []))
