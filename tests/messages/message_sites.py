"""The places of the sources that write a message: an error, a note, a remark or a warning.

A site is a text of two words or more, outside of the contexts of `other_texts.py`, or a `raise` that builds its
error without such a text. Placeholders divide the text into literal parts.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import other_texts

import tilec
from tilec import errors

PACKAGE = Path(tilec.__file__).parent
_TWO_WORDS = re.compile(r"[A-Za-z']{2,}[,:;]? [A-Za-z'(]{2,}")
# The placeholders of str.format, and the conversions of printf in C++.
_PLACEHOLDER = re.compile(r"\{\w*\}|%(?:l|ll|z)?[dsuRSxU]")
# Classes whose construction is recorded with the lines of the callers.
_CONSTRUCTORS = {name for name, value in vars(errors).items() if isinstance(value, type)} | {"BadArgument", "Remark"}


@dataclass(frozen=True)
class Site:
    """A text of a message, in literal parts; `statement` are the lines that build the error, if they do so at once."""

    file: str
    line: int
    parts: tuple[str, ...]
    statement: tuple[int, int] | None = None

    @property
    def text(self) -> str:
        """The literal parts with {} between them, in one line; the statement's source of a site without text."""
        return "{}".join(self.parts).replace("\n", "\\n")

    def __str__(self) -> str:
        return f"{self.file}: {self.text}"


def source_folder(root: Path) -> Path | None:
    """The folder of the C++ sources for tests in `root`, which may be a copy in `build/`; None without sources."""
    return next((folder for folder in (root, *root.parents[:2]) if (folder / "runtime" / "ptxsim").is_dir()), None)


def sites(sources: Path | None) -> list[Site]:
    """The sites of the installed package, and of the C++ sources in a folder `runtime` of `sources`."""
    found: list[Site] = []
    for path in _modules():
        file = path.relative_to(PACKAGE).as_posix()
        found += sorted(python_sites(path.read_text(encoding="utf-8"), file), key=lambda site: site.line)
    for folder in ("ptxsim", "dispatch") if sources else ():
        for path in sorted((sources / "runtime" / folder).rglob("*.cpp")):
            found += cpp_sites(path.read_text(encoding="utf-8"), path.relative_to(sources).as_posix())
    return found


def _modules() -> list[Path]:
    # In a source tree the folders of the package are links, which rglob does not follow.
    walk = os.walk(PACKAGE, followlinks=True)
    return sorted(Path(folder, name) for folder, _, names in walk for name in names if name.endswith(".py"))


def python_sites(source: str, file: str) -> Iterator[Site]:
    """The sites of a module."""
    parents = _parents(ast.parse(source))
    built: set[ast.AST] = set()
    for node in parents:
        parts = _literal_parts(node)
        if not _has_two_words(parts) or _is_part(node, parents):
            continue
        ancestors = list(_ancestors(node, parents))
        statement = next(filter(_builds, ancestors), None)
        built.update(ancestor for ancestor in ancestors if _builds(ancestor))
        if statement is None and other_texts.is_other(file, node, "".join(parts), ancestors):
            continue
        if other_texts.is_unread(node, ancestors):
            continue
        yield Site(file, node.lineno, parts, statement and (statement.lineno, statement.end_lineno))
    for node in parents:
        if isinstance(node, ast.Raise) and node not in built and _builds_unnamed(node):
            text = " ".join(ast.unparse(node).split())
            yield Site(file, node.lineno, (text,), (node.lineno, node.end_lineno or node.lineno))


def _parents(module: ast.Module) -> dict[ast.AST, ast.AST]:
    """The parent of each node inside of a module."""
    parents: dict[ast.AST, ast.AST] = {}
    waiting: list[ast.AST] = [module]
    while waiting:
        node = waiting.pop()
        for child in ast.iter_child_nodes(node):
            parents[child] = node
            waiting.append(child)
    return parents


def _literal_parts(node: ast.AST) -> tuple[str, ...]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return tuple(_PLACEHOLDER.split(node.value))
    if isinstance(node, ast.JoinedStr):
        parts = [""]
        for value in node.values:
            if isinstance(value, ast.Constant):
                parts[-1] += value.value
            else:
                parts.append("")
        return tuple(parts)
    return ()


def _has_two_words(parts: tuple[str, ...]) -> bool:
    return any(map(_TWO_WORDS.search, parts))


def _is_part(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    return isinstance(parents.get(node), ast.JoinedStr) and isinstance(node, ast.Constant)


def _ancestors(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    """The expressions and statements around a node, from the inside, up to its function or class."""
    while not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
        node = parents[node]
        yield node


def _builds(node: ast.AST) -> bool:
    if isinstance(node, ast.Raise):
        return _builds_unnamed(node)
    return isinstance(node, ast.Call) and other_texts.called(node) in _CONSTRUCTORS


def _builds_unnamed(node: ast.Raise) -> bool:
    """Whether a statement raises a new error of tilec, and not one of Python or one that the package catches."""
    if not isinstance(node.exc, ast.Call):
        return False
    name = other_texts.called(node.exc)
    return (
        name in _CONSTRUCTORS
        or not (name[:1].isupper() or name.startswith("_") and name[1:2].isupper())
        and (name not in ("with_traceback", "next"))
    )


_CPP_LITERAL = r'"(?:[^"\\\n]|\\.)*"'
# A chain like "a" + std::to_string(b) + "c", in which adjacent literals are one.
_CPP_CHAIN = re.compile(rf"{_CPP_LITERAL}(?:\s*(?:\+[^\";,?{{}}]*\+\s*)?{_CPP_LITERAL})*")
_CPP_PIECE = re.compile(rf"({_CPP_LITERAL})|\+[^\"]*\+")
_CPP_COMMENT = re.compile(r"//[^\n]*")
# The bindings' documentation, and conditions of the compiler.
_CPP_OTHER = re.compile(r"\.def|nb::class_|\bdoc\b|static_assert")


def cpp_sites(source: str, file: str) -> Iterator[Site]:
    """The texts of a C++ file; documentation ends with a period, and messages do not."""
    source = _CPP_COMMENT.sub("", source)
    for found in _CPP_CHAIN.finditer(source):
        line_start = source.rfind("\n", 0, found.start()) + 1
        pieces = [piece[1:-1] if piece else "\0" for piece in _CPP_PIECE.findall(found[0])]
        text = "".join(pieces).encode().decode("unicode_escape")
        parts = tuple(part for run in text.split("\0") for part in _PLACEHOLDER.split(run))
        is_other = text.endswith(".") or "\n\n" in text or _CPP_OTHER.search(source[line_start : found.start()])
        if _has_two_words(parts) and not is_other and (file, "".join(parts)) not in other_texts.REPORTS:
            yield Site(file, source.count("\n", 0, found.start()) + 1, parts)


def pattern(site: Site) -> re.Pattern[str]:
    """Matches the texts that a site writes."""
    return re.compile(r"[^\n]{0,600}?".join(map(re.escape, site.parts)))
