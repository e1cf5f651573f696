"""The compiler asks for the fields of a target, never for its name; names are in lowering/target.py.

Tests, docstrings and comments may name targets, as examples and as sources of measurements.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from importlib import util
from pathlib import Path

from tilec.lowering.target import TARGETS
from tilec.lowering.tile.passes import UNKNOWN

NAME = re.compile(r"sm_[0-9]")
# Files whose texts name targets, and why.
NAMED = {
    "lowering/target.py": "the table of targets",
    "dialect/cuda_tile/hints.py": "the architectures whose hints Tile IR has",
    "lowering/gpu/pass_records.py": "texts of dialect/tile_gpu/README.md",
    "lowering/tma/rules.py": "the message states the only GPU with a swizzle that no target has",
    "lowering/math/functions.py": "the message states the oldest GPU of the device functions",
    "python/tilec/options.py": "the default of TILEC_TARGET",
    "python/tilec/language/hints.py": "an example in a message: hints name any GPU",
    "python/tilec/kernel_export/export.py": "an example in a message: cuTile names any GPU",
    "python/tilec/commands/compile.py": "help of --target",
    "python/tilec/commands/explain.py": "help of --target",
    "python/tilec/commands/opt.py": "help of --target",
    "python/tilec/commands/simulate.py": "help of --target",
    "python/tilec/commands/tune.py": "help of --target",
}


def _modules() -> Iterator[tuple[str, Path]]:
    """The modules of the package by their path in the repository."""
    spec = util.find_spec("tilec")
    assert spec is not None and spec.submodule_search_locations
    root = spec.submodule_search_locations[0]
    for folder, _, files in os.walk(root, followlinks=True):
        for file in files:
            if file.endswith(".py"):
                path = Path(folder, file)
                inside = path.relative_to(root)
                top = inside.parts[0] in ("dialect", "lowering", "runtime")
                yield str(inside if top else Path("python/tilec") / inside), path


def named_targets(text: str) -> Iterator[tuple[int, str]]:
    """The strings of a module with the name of a target, and their lines; not docstrings."""
    tree = ast.parse(text)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
            if NAME.search(node.value):
                yield node.lineno, node.value


def asked_columns(text: str) -> Iterator[int]:
    """The lines that ask whether a target has tensor memory at all, which stands for another property."""
    for node in ast.walk(ast.parse(text)):
        operands = list[ast.expr]()
        if isinstance(node, ast.BoolOp):
            operands = node.values
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            operands = [node.operand]
        elif isinstance(node, ast.If | ast.IfExp):
            operands = [node.test]
        elif isinstance(node, ast.Compare) and all(
            isinstance(each, ast.Constant) and each.value == 0 for each in node.comparators
        ):
            operands = [node.left]
        for each in operands:
            if isinstance(each, ast.Attribute) and each.attr == "tensor_memory_columns":
                if isinstance(each.value, ast.Name | ast.Attribute) and "target" in ast.unparse(each.value):
                    yield node.lineno


def test_no_code_names_a_target() -> None:
    found = {}
    for name, path in _modules():
        lines = [f"{name}:{line}: '{text}'" for line, text in named_targets(path.read_text())]
        if lines:
            found[name] = lines
    unknown = [line for name in sorted(found.keys() - NAMED.keys()) for line in found[name]]
    assert not unknown, "ask for a field of lowering/target.py:\n" + "\n".join(unknown)
    assert NAMED.keys() == found.keys(), "files without names: remove them from NAMED"


def test_no_code_asks_for_tensor_memory_in_place_of_another_property() -> None:
    found = [f"{name}:{line}" for name, path in _modules() for line in asked_columns(path.read_text())]
    assert not found, "\n".join(found)


def test_passes_over_tile_ir_know_no_target() -> None:
    """They follow facts, whose default values hold for every target."""
    knowing = [
        name for name, path in _modules() if name.startswith("lowering/tile/") and "target import" in path.read_text()
    ]
    assert not knowing
    assert UNKNOWN.shared_bytes == min(target.shared_bytes for target in TARGETS.values())


def test_names_and_questions_are_found() -> None:
    text = (
        '"""Faster on sm_90a."""\n'
        'if target.name == "sm_100a":\n'
        "    pass\n"
        "if ctas > 1 and target.tensor_memory_columns:\n"
        "    pass\n"
        "free = target.tensor_memory_columns - used\n"
        "is_large = context.target.tensor_memory_columns > 0\n"
    )
    assert list(named_targets(text)) == [(2, "sm_100a")]
    assert list(asked_columns(text)) == [4, 7]


def test_targets_differ_in_more_than_their_names() -> None:
    fields = [{**vars(target), "name": ""} for target in TARGETS.values()]
    assert all(one != other for number, one in enumerate(fields) for other in fields[:number])
