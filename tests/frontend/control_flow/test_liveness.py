"""The names that branches merge and loops carry, computed from the syntax tree."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tilec.ast_to_tile.control_flow.liveness import Liveness, assigned, captured_names


def body(text: str) -> list[ast.stmt]:
    return ast.parse(textwrap.dedent(text)).body


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a, (b, *c) = d", "abc"),
        ("for i in r:\n    x = y", "ix"),
        ("if (w := f()):\n    x += 1", "wx"),
        ("def f(p):\n    q = p", "f"),
        ("g = lambda h: (k := h)", "g"),
        ("x[i] = y", ""),
    ],
)
def test_assigned(text: str, names: str) -> None:
    assert assigned(body(text)) == set(names)


@pytest.mark.parametrize(
    ("text", "header", "after"),
    [
        # `a` is overwritten before it is read, so it is not carried.
        ("for i in r:\n    a = f(i)\n    t = t + a\nuse(t)", "ft", "t"),
        # `a` is read in the next iteration.
        ("for i in r:\n    use(a)\n    a = i", "a", ""),
        # `a` is overwritten on one path only.
        ("while c:\n    if d:\n        a = 1\n    use(a)\n", "acd", ""),
        ("while c:\n    if d:\n        a = 1\n    else:\n        a = 2\n    use(a)\n", "cd", ""),
        # `break` carries the names that are read after the loop.
        ("while c:\n    if d:\n        break\n    a = 1\nuse(a)", "acd", "a"),
        ("while c:\n    a = 1\n    continue\n    use(b)\nuse(a)", "ac", "a"),
        # The inner loop reads a name that the outer loop assigns in its previous iteration.
        ("for i in r:\n    for j in s:\n        use(a)\n    a = i", "as", ""),
    ],
)
def test_live_names_at_a_loop_header_and_after_the_loop(text: str, header: str, after: str) -> None:
    statements = body(text)
    liveness = Liveness(statements)
    loop = statements[0]
    assert liveness.header[loop] - {"use"} == set(header)
    assert liveness.after[loop] - {"use"} == set(after)


def test_nested_function_reads_names_of_the_enclosing_function() -> None:
    statements = body("a = 1\ndef f():\n    return a + b\na = 2\nuse(f)")
    assert Liveness(statements).after[statements[0]] >= {"a", "b"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("f = lambda: a", "a"),
        # Parameters and local names are not those of the enclosing function; a default is read at the definition.
        ("def f(p, q=d):\n    r = p\n    return r + a", "a"),
        ("def f():\n    return lambda p: a + p + f", "af"),
        ("use(lambda: [c + a for c in b])", "ab"),
        ("x = a", ""),
    ],
)
def test_captured_names(text: str, names: str) -> None:
    assert captured_names(ast.Module(body(text), [])) == set(names)


def test_captured_names_are_live_from_the_definition_on() -> None:
    statements = body("a = 0\na = 1\nf = lambda: a\na = 2\nuse(f)")
    liveness = Liveness(statements)
    assert ["a" in liveness.after[statement] for statement in statements] == [False, True, True, True, True]


def test_names_captured_in_an_iteration_are_carried_to_the_next() -> None:
    statements = body("for i in r:\n    use(f)\n    a = i\n    f = lambda: a")
    assert "a" in Liveness(statements).header[statements[0]]
