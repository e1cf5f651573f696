"""Texts in the sources of the package that are not parts of messages: documentation, help, reports, code."""

from __future__ import annotations

import ast
import re

# Files whose texts are reports, pages or code; the errors that such a file raises are sites all the same.
_FILES = (
    "ahead_of_time/c_",
    "driver/stage_html.py",
    "explain/",
    "tuning/result.py",
    "dialect/catalogue.py",
    "dialect/origin.py",
    "lowering/model/",
    "lowering/schedule/chart.py",
    "lowering/plan/matrix/sharing.py",
    "lowering/plan/plan_report.py",
    "lowering/gpu/schedule/schedule_report.py",
    "lowering/gpu_to_ptx/registers/declarations.py",
)
# Assignments to these names: formats of the assembly, documentation and public names.
_NAMES = {
    "CHOICES",
    "COMMANDS",
    "SIZES",
    "SWITCHES",
    "TOPICS",
    "_CHECKED",
    "_INTERFACE",
    "_LANGUAGE",
    "_PLAIN",
    "_ROWS",
    "_PENDING_STORES",
    "assembly",
    "key",
}
_CALLS = {
    "ArgumentParser",
    "AssertionError",
    "ContextVar",
    "KernelPass",
    "Pass",
    "Stage",
    "TilePass",
    "add_argument",
    "add_parser",
    "compile",
    "new_int_var",
    "once",
    "print",
    "property",
    "shared",
    "split",
    "startswith",
}
# Texts of reports, and names in tables and counters, by file, without the values that are formatted into them.
REPORTS = {
    ("commands/cache.py", " of at most  MiB"),
    ("commands/info.py", "none without a GPU"),
    ("tune.py", "CUDA events"),
    ("runtime/dispatch/outcome.cpp", "argument of type ."),
    ("runtime/dispatch/arguments/reader.cpp", "integer member"),
    ("runtime/dispatch/arguments/reader.cpp", "real member"),
}
_KEYWORDS = {"help", "description", "epilog", "metavar", "usage"}
# PTX, C, layouts and formats of the assembly.
_CODE = re.compile(r"^\$|^interval clocks=|extern \"C\"|;$|^register=|^[{(<\[]|\.b64 |=none ")


def called(call: ast.Call) -> str:
    """The name of the function or method of a call."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def is_unread(node: ast.AST, ancestors: list[ast.AST]) -> bool:
    """Whether a text is a docstring, a key, a type, an operand of a comparison, or the message of an assert."""
    if isinstance(ancestors[0], ast.Expr):
        return True
    inner = node
    for ancestor in ancestors:
        if isinstance(ancestor, ast.Assert | ast.Compare):
            return True
        if isinstance(ancestor, ast.Subscript) and inner is ancestor.slice:
            return True
        if isinstance(ancestor, ast.Dict) and inner in ancestor.keys:
            return True
        if isinstance(ancestor, ast.AnnAssign) and (inner is ancestor.annotation or _is_alias(ancestor)):
            return True
        if isinstance(ancestor, ast.Call) and called(ancestor) in ("AssertionError", "startswith", "split"):
            return True
        inner = ancestor
    return False


def _is_alias(assignment: ast.AnnAssign) -> bool:
    """Whether an assignment names a type."""
    return isinstance(assignment.annotation, ast.Name) and assignment.annotation.id == "TypeAlias"


def is_other(file: str, node: ast.AST, text: str, ancestors: list[ast.AST]) -> bool:
    """Whether a text that builds no error at once is not a part of a message."""
    if file.startswith(_FILES) or (file, text) in REPORTS:
        return True
    return bool(_CODE.search(text)) or any(map(_is_context, ancestors))


def _is_context(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg in _KEYWORDS
    if isinstance(node, ast.Call):
        return called(node) in _CALLS
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id in _NAMES for target in node.targets)
    return isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id in _NAMES
