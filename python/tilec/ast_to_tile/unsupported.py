"""Python that kernels cannot use, and what to write instead."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, NoReturn

from tilec.errors import CompileError, TileSyntaxError

_STATEMENTS: dict[type, tuple[str, str]] = {
    ast.ClassDef: ("a class", "define it outside of the kernel"),
    ast.Delete: ("'del'", "leave the name alone"),
    ast.TypeAlias if hasattr(ast, "TypeAlias") else ast.Pass: ("a type alias", "define it outside of the kernel"),
    ast.AsyncFor: ("'async for'", "use 'for'"),
    ast.AsyncFunctionDef: ("'async def'", "use 'def'"),
    ast.AsyncWith: ("'async with'", "kernels have no context managers"),
    ast.With: ("'with'", "kernels have no context managers"),
    ast.Match: ("'match'", "use 'if' and 'elif'"),
    ast.Raise: ("'raise'", "use ct.assert_, or ct.static_assert for what is known while compiling"),
    ast.Try: ("'try'", "kernels have no exceptions"),
    ast.TryStar: ("'try'", "kernels have no exceptions"),
    ast.Assert: ("'assert'", "use ct.assert_, or ct.static_assert for what is known while compiling"),
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
    ast.Starred: ("'*' here", "it stands only in calls and tuples"),
    ast.Slice: ("a slice here", "use ct.load or ct.extract for parts of arrays and tiles"),
}


def refuse_statement(_tracer: Any, node: ast.stmt, _rest: Sequence[ast.stmt]) -> NoReturn:
    raise _refusal(_STATEMENTS, node)


def refuse_expression(_tracer: Any, node: ast.expr) -> NoReturn:
    raise _refusal(_EXPRESSIONS, node)


def _refusal(table: dict[type, tuple[str, str]], node: ast.AST) -> CompileError:
    what, instead = table.get(
        type(node), (f"this Python construct ({type(node).__name__})", "docs/language.md tells what can")
    )
    return TileSyntaxError(f"{what} cannot be used in a kernel: {instead}")
