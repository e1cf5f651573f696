"""The TextMate grammars of docs/editors color the dumps of every stage."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import tilec as ct

EDITORS = Path(__file__).parents[2] / "docs" / "editors"
GRAMMARS = {path.name.partition(".")[0]: json.loads(path.read_text()) for path in (EDITORS / "syntaxes").iterdir()}
# Stage -> its grammar.
STAGES = {"tile": "tile-ir", "tile-opt": "tile-ir", "gpu-raw": "tile-gpu", "gpu": "tile-gpu", "ptx-mlir": "tile-gpu"}
STAGES["ptx"] = "ptx"
NAME = {"type": "string", "pattern": r"^[a-z][\w.-]*$"}
RULE = {
    "type": "object",
    "properties": {
        **{key: {"type": "string", "format": "regex"} for key in ("match", "begin", "end")},
        "name": NAME,
        "include": {"type": "string", "pattern": r"^#[\w-]+$"},
        "captures": {"type": "object", "additionalProperties": {"type": "object", "properties": {"name": NAME}}},
        "patterns": {"type": "array", "items": {"$ref": "#/$defs/rule"}},
    },
    "dependentRequired": {"begin": ["end"], "end": ["begin"]},
    "additionalProperties": False,
}
SCHEMA = {
    "$defs": {"rule": RULE},
    "type": "object",
    "properties": {
        "$schema": {"type": "string"},
        "name": {"type": "string"},
        "scopeName": {"type": "string", "pattern": r"^source\.[\w-]+$"},
        "fileTypes": {"type": "array", "items": {"type": "string"}},
        "patterns": {"type": "array", "items": {"$ref": "#/$defs/rule"}},
        "repository": {"type": "object", "additionalProperties": {"$ref": "#/$defs/rule"}},
    },
    "required": ["name", "scopeName", "patterns", "repository"],
    "additionalProperties": False,
}


@ct.kernel
def kernel(a, b, c):
    total = ct.zeros((64, 64), ct.float32)
    for k in range(ct.num_tiles(a, 1, (64, 32))):
        total = ct.mma(ct.load(a, (0, k), (64, 32)), ct.load(b, (k, 0), (32, 64)), total)
    if ct.bid(0) > 0:
        total = total * 2
    ct.store(c, (0, 0), total)


@pytest.fixture(scope="module")
def compiled() -> ct.Compiled:
    return ct.compile(kernel, signature="a: f16[?,?], b: f16[?,?], c: f32[?,?]", target="sm_90a", stop="ptx")


def tokens(grammar: dict[str, Any], line: str) -> Iterator[tuple[str, str]]:
    """The tokens of one line and their names: at each position the first rule of the earliest match, as editors do.

    Rules with `begin` and `end` must end on their line.
    """
    rules = [grammar["repository"][each["include"].removeprefix("#")] for each in grammar["patterns"]]
    at = 0
    while at < len(line):
        matches = [(match, rule) for rule in rules if (match := start(rule, line, at)) is not None]
        if not matches:
            return
        match, rule = min(matches, key=lambda each: each[0].start())
        position = match.start()
        end = match.end()
        if "begin" in rule:
            closing = re.compile(rule["end"]).search(line, end)
            assert closing is not None, line
            end = closing.end()
        if "captures" in rule:
            yield from ((match[int(n)], each["name"]) for n, each in rule["captures"].items() if match[int(n)])
        else:
            yield line[position:end], rule["name"]
        at = max(end, at + 1)


def start(rule: dict[str, Any], line: str, at: int) -> re.Match[str] | None:
    found = re.compile(rule.get("match") or rule["begin"]).search(line, at)
    return found if found is not None and found.end() > found.start() else None


@pytest.mark.parametrize("name", GRAMMARS)
def test_grammar_is_valid(name: str) -> None:
    grammar = GRAMMARS[name]
    jsonschema.validate(grammar, SCHEMA)
    assert grammar["scopeName"] == f"source.{name}"
    used = {each["include"].removeprefix("#") for each in grammar["patterns"]}
    assert used == set(grammar["repository"])


def test_extension_names_every_grammar_and_file() -> None:
    package = json.loads((EDITORS / "package.json").read_text())["contributes"]
    assert {each["scopeName"] for each in package["grammars"]} == {g["scopeName"] for g in GRAMMARS.values()}
    assert all((EDITORS / each["path"]).exists() for each in package["grammars"])
    extensions = {extension for each in package["languages"] for extension in each["extensions"]}
    from tilec.driver.stages import STAGES as TABLE

    assert extensions == {stage.suffix for stage in TABLE if stage.name != "cubin"}


# Stage -> words of the dump of the kernel, and the name of their token.
EXPECTED = {
    "tile": {"entry": "keyword.declaration", "mmaf": "keyword.operator.operation", "for": "keyword.control"},
    "tile-opt": {"@kernel": "entity.name.function", "%arg0": "variable.other.value", "f16": "storage.type"},
    "gpu-raw": {"tile_gpu.kernel": "keyword.declaration", '"sm_90a"': "string.quoted.double"},
    "gpu": {"scf.for": "keyword.control", "@kernel": "entity.name.function", "%arg0": "variable.other.value"},
    "ptx-mlir": {"ptx.entry": "keyword.declaration", "@kernel": "entity.name.function"},
    "ptx": {
        ".entry": "keyword.control.directive",
        "kernel": "entity.name.function",
        "%ctaid.x": "variable.language.register",
        "ret": "keyword.operator.instruction",
    },
}


@pytest.mark.parametrize("stage", STAGES)
def test_words_of_a_dump_have_their_color(compiled: ct.Compiled, stage: str) -> None:
    result = compiled.stage(stage)
    assert result is not None
    grammar = GRAMMARS[STAGES[stage]]
    found = {token for line in result.text.splitlines() for token in tokens(grammar, line)}
    stripped = {(text.strip(), name) for text, name in found}
    for word, name in EXPECTED[stage].items():
        assert (word, name) in stripped, [token for token in stripped if token[0] == word]


@pytest.mark.parametrize("stage", STAGES)
def test_every_operation_is_colored(compiled: ct.Compiled, stage: str) -> None:
    """The word after `=`, or that starts a PTX instruction, has a color on each line."""
    result = compiled.stage(stage)
    assert result is not None
    grammar = GRAMMARS[STAGES[stage]]
    pattern = re.compile(r"^    (?:@!?%\w+ )?([a-z]\w*)[. ]" if stage == "ptx" else r"^\s+%[\w, :#]+ = ([a-z][\w.]*)")
    for line in result.text.splitlines():
        if operation := pattern.match(line):
            assert any(operation[1] in text for text, _ in tokens(grammar, line)), line
