"""Diagnostics for Python syntax that kernels do not support, with replacements."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NoReturn

from tilec.errors import CompileError, TileSyntaxError

_STATEMENTS: dict[type, tuple[str, str]] = {
    ast.ClassDef: ("a class", "define it outside the kernel"),
    ast.Delete: ("'del'", "remove the statement"),
    ast.TypeAlias if hasattr(ast, "TypeAlias") else ast.Pass: ("a type alias", "define it outside the kernel"),
    ast.AsyncFor: ("'async for'", "use 'for'"),
    ast.AsyncFunctionDef: ("'async def'", "use 'def'"),
    ast.AsyncWith: ("'async with'", "use 'with'"),
    ast.Match: ("'match'", "use 'if' and 'elif'"),
    ast.Try: ("'try'", "kernels have no exceptions"),
    ast.TryStar: ("'try'", "kernels have no exceptions"),
    ast.Assert: ("'assert'", "use ct.assert_, or ct.static_assert for compile-time conditions"),
    ast.Import: ("'import'", "import at the top of the file"),
    ast.ImportFrom: ("'import'", "import at the top of the file"),
    ast.Global: ("'global'", "kernels cannot assign global names; return the value instead"),
    ast.Nonlocal: ("'nonlocal'", "functions in kernels cannot assign outer names; return the value instead"),
}
_EXPRESSIONS: dict[type, tuple[str, str]] = {
    ast.Dict: ("a dictionary", "use a tuple"),
    ast.Set: ("a set", "use a tuple"),
    ast.List: ("a list", "use a tuple"),
    ast.ListComp: ("a list comprehension", "use a tuple, or 'for' with ct.static_iter"),
    ast.SetComp: ("a set comprehension", "use a tuple"),
    ast.DictComp: ("a dictionary comprehension", "use a tuple"),
    ast.GeneratorExp: ("a generator", "use a tuple, or 'for' with ct.static_iter"),
    ast.Await: ("'await'", "kernels are not asynchronous"),
    ast.Yield: ("'yield'", "return a tuple"),
    ast.YieldFrom: ("'yield from'", "return a tuple"),
    ast.Starred: ("'*' here", "it is supported only in calls and tuples"),
    ast.Slice: ("a slice here", "use ct.load or ct.extract for parts of arrays and tiles"),
}


def reject_statement(_tracer: object, node: ast.stmt, _rest: Sequence[ast.stmt]) -> NoReturn:
    raise _unsupported(_STATEMENTS, node)


def reject_expression(_tracer: object, node: ast.expr) -> NoReturn:
    raise _unsupported(_EXPRESSIONS, node)


def _unsupported(table: dict[type, tuple[str, str]], node: ast.AST) -> CompileError:
    construct, replacement = table.get(
        type(node),
        (f"this Python construct ({type(node).__name__})", "docs/language.md lists the supported constructs"),
    )
    return TileSyntaxError(f"{construct} cannot be used in a kernel: {replacement}")
