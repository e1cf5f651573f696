"""Mutations of one decision of the compiler: a number, a comparison, a condition, a minimum, a removed statement.

A mutation is found in the syntax tree of a module and replaces a part of its text. Installed files are not changed:
the changed text is compiled when the module is imported.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import util
from pathlib import Path

FOLDERS = ("tile", "plan", "tile_to_gpu", "gpu", "gpu_to_ptx", "layout")
_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "//"),
}
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutation:
    """Replaces `length` characters from `start` of the text of a module with `replacement`."""

    module: str
    path: str
    line: int
    kind: str
    start: int
    length: int
    replacement: str

    def apply(self, text: str) -> str:
        return text[: self.start] + self.replacement + text[self.start + self.length :]

    def __str__(self) -> str:
        text = Path(self.path).read_text()
        before = text.splitlines()[self.line - 1].strip()
        after = self.apply(text).splitlines()[self.line - 1].strip()
        name = "/".join(Path(self.path).parts[-3:])
        return f"{name}:{self.line}: {self.kind}\n    - {before}\n    + {after}"


def modules() -> Iterator[tuple[str, Path]]:
    """Names and files of the mutated modules of the installed package."""
    for folder in FOLDERS:
        spec = util.find_spec(f"tilec.lowering.{folder}")
        assert spec is not None and spec.submodule_search_locations
        root = Path(spec.submodule_search_locations[0])
        for path in sorted(root.rglob("*.py")):
            if path.stem != "__init__":
                yield ".".join(("tilec.lowering", folder, *path.relative_to(root).with_suffix("").parts)), path


def all_mutations() -> list[Mutation]:
    """All mutations in the order of modules and lines."""
    return [mutation for name, path in modules() for mutation in mutations_of(name, path)]


def sampled(count: int, seed: int) -> list[Mutation]:
    """An equal number of mutations per folder, determined by the seed."""
    source = random.Random(seed)
    by_folder: dict[str, list[Mutation]] = {}
    for mutation in all_mutations():
        by_folder.setdefault(mutation.module.split(".")[2], []).append(mutation)
    sample: list[Mutation] = []
    for folder in FOLDERS:
        sample += source.sample(by_folder[folder], count // len(FOLDERS))
    return sample


def offsets(text: str) -> Callable[[int, int], int]:
    """A function from line and column of a syntax tree, which counts bytes, to the index of a character."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:
        return starts[line - 1] + len(text[starts[line - 1] : starts[line]].encode()[:column].decode())

    return offset


def mutations_of(module: str, path: Path) -> Iterator[Mutation]:
    """The mutations of the functions of a module, except in error messages and docstrings."""
    text = path.read_text()
    offset = offsets(text)

    def mutation_of(node: ast.expr | ast.stmt, kind: str, replacement: str) -> Mutation:
        start, end = offset(node.lineno, node.col_offset), offset(node.end_lineno or 0, node.end_col_offset or 0)
        return Mutation(module, str(path), node.lineno, kind, start, end - start, replacement)

    def operator(left: ast.expr, right: ast.expr, old: str, new: str, kind: str) -> Iterator[Mutation]:
        start = offset(left.end_lineno or 0, left.end_col_offset or 0)
        between = text[start : offset(right.lineno, right.col_offset)]
        if between.count(old) == 1:
            index = start + between.index(old)
            yield Mutation(module, str(path), text.count("\n", 0, index) + 1, kind, index, len(old), new)

    for node in _mutable_nodes(ast.parse(text)):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            old, new = _COMPARISONS[type(node.ops[0])]
            yield from operator(node.left, node.comparators[0], old, new, "comparison")
        elif isinstance(node, ast.BoolOp):
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            yield from operator(node.values[0], node.values[1], old, new, "and, or")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            negation, operand = mutation_of(node, "not", ""), mutation_of(node.operand, "not", "")
            yield mutation_of(node, "not", text[operand.start : negation.start + negation.length])
        elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC and not _is_text(node):
            old, new = _ARITHMETIC[type(node.op)]
            yield from operator(node.left, node.right, old, new, "arithmetic")
        elif isinstance(node, ast.Constant) and type(node.value) is bool:
            yield mutation_of(node, "bool", str(not node.value))
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            yield mutation_of(node, "number", str(node.value + 1))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS:
            yield mutation_of(node.func, "call", _CALLS[node.func.id])
        elif isinstance(node, ast.IfExp):
            yield mutation_of(node.test, "condition", "True")
        elif isinstance(node, ast.If) and _returns_early(node):
            yield mutation_of(node.test, "guard", "False")
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and node.lineno == node.end_lineno:
            yield mutation_of(node, "removed statement", "pass")


def _returns_early(node: ast.If) -> bool:
    """Whether an if only returns early; an if that raises an error is not mutated."""
    return isinstance(node.body[-1], ast.Return | ast.Continue | ast.Break)


def _is_text(node: ast.BinOp) -> bool:
    return any(isinstance(side, ast.JoinedStr | ast.List | ast.Tuple) for side in (node.left, node.right))


def _mutable_nodes(tree: ast.Module) -> Iterator[ast.expr | ast.stmt]:
    """The nodes of functions, and the numbers of module constants."""
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            yield from _mutable_descendants(statement)
        elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            yield statement.value


def _mutable_descendants(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    skipped: list[ast.AST] = []
    if isinstance(node, ast.FunctionDef):
        skipped = [*node.decorator_list, node.args, *([node.returns] if node.returns else [])]
    for child in ast.iter_child_nodes(node):
        if child in skipped or isinstance(child, ast.Raise | ast.Assert | ast.JoinedStr | ast.AnnAssign):
            continue
        # strict=True of zip is an assertion, not a decision.
        if isinstance(child, ast.keyword) and child.arg == "strict":
            continue
        if isinstance(child, ast.expr | ast.stmt):
            yield child
        yield from _mutable_descendants(child)
