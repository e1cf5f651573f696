"""Diagnostics for Python syntax that kernels do not support, with replacements."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NoReturn

from tilec.errors import CompileError, TileSyntaxError

# By name, as each version of Python has more of them.
_STATEMENTS: dict[str, tuple[str, str]] = {
    "ClassDef": ("a class", "define it outside the kernel"),
    "Delete": ("'del'", "remove the statement"),
    "TypeAlias": ("a type alias", "define it outside the kernel"),
    "AsyncFunctionDef": ("'async def'", "use 'def'"),
    "Match": ("'match'", "use 'if' and 'elif'"),
    "Try": ("'try'", "kernels have no exceptions"),
    "TryStar": ("'try'", "kernels have no exceptions"),
    "Assert": ("'assert'", "use ct.assert_, or ct.static_assert for compile-time conditions"),
    "Import": ("'import'", "import at the top of the file"),
    "ImportFrom": ("'import'", "import at the top of the file"),
    "Global": ("'global'", "kernels cannot assign global names; return the value instead"),
    "Nonlocal": ("'nonlocal'", "functions in kernels cannot assign outer names; return the value instead"),
}
_EXPRESSIONS: dict[str, tuple[str, str]] = {
    "Dict": ("a dictionary", "use a tuple"),
    "Set": ("a set", "use a tuple"),
    "List": ("a list", "use a tuple"),
    "ListComp": ("a list comprehension", "use a tuple, or 'for' with ct.static_iter"),
    "SetComp": ("a set comprehension", "use a tuple"),
    "DictComp": ("a dictionary comprehension", "use a tuple"),
    "GeneratorExp": ("a generator", "use a tuple, or 'for' with ct.static_iter"),
    "Yield": ("'yield'", "return a tuple"),
    "YieldFrom": ("'yield from'", "return a tuple"),
    "Starred": ("'*' here", "it is supported only in calls and tuples"),
}


def reject_statement(_tracer: object, node: ast.stmt, _rest: Sequence[ast.stmt]) -> NoReturn:
    raise _unsupported(_STATEMENTS, node)


def reject_expression(_tracer: object, node: ast.expr) -> NoReturn:
    raise _unsupported(_EXPRESSIONS, node)


def _unsupported(table: dict[str, tuple[str, str]], node: ast.AST) -> CompileError:
    construct, replacement = table.get(
        type(node).__name__,
        (f"this Python construct ({type(node).__name__})", "docs/language.md lists the supported constructs"),
    )
    return TileSyntaxError(f"{construct} cannot be used in a kernel: {replacement}")
