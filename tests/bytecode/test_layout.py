"""The bytecode layout of the operation classes is that of operations.json, in every version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tilec.dialect.bytecode.layout import layout
from tilec.dialect.bytecode.version import VERSIONS, Version
from tilec.dialect.mlir import context
from tilec.dialect.operation import OPERATIONS, SPELLED

TABLE = json.loads((Path(__file__).parents[1] / "operations.json").read_text())
# These are not encoded as operations, but in their own sections.
SECTIONS = ("module", "entry", "global")
OPERATIONS_WITH_OPCODE = [entry for entry in TABLE["ops"] if entry["name"] not in SECTIONS]


def version_of(text: str) -> Version:
    return Version.parse(text.removesuffix(" preview"))


def members(entries: list[dict[str, Any]], version: Version, since: Version) -> list[str]:
    return [entry["name"] for entry in entries if version_of(entry.get("since") or str(since)) <= version]


@pytest.mark.parametrize("version", VERSIONS, ids=str)
@pytest.mark.parametrize("entry", OPERATIONS_WITH_OPCODE, ids=lambda entry: entry["name"])
def test_layout(entry: dict[str, Any], version: Version) -> None:
    context()
    found = layout(OPERATIONS[SPELLED[f"cuda_tile.{entry['name']}"]], version)
    since = version_of(entry["since"])
    assert (found.opcode, found.since) == (entry["opcode"], since)
    assert found.result_count == entry["result_count_encoded"]
    assert [field.name for field in found.results] == members(entry["results"], version, since)
    assert [field.name for field in found.flags] == members(entry["flags"], version, since)
    assert [field.name for field in found.attributes] == members(entry["attrs"], version, since)
    assert found.operand_layout == entry["operand_layout"]
    assert [field.name for field in found.operands] == [operand["name"] for operand in entry["operands"]]
    assert found.regions == entry["regions"]


def test_operations_with_an_opcode_are_those_of_the_table() -> None:
    context()
    coded = {cls.spelled_name.removeprefix("cuda_tile.") for cls in OPERATIONS.values() if cls.opcode is not None}
    assert coded == {entry["name"] for entry in TABLE["ops"]} - {"module"}


def test_preview_operations_are_marked() -> None:
    context()
    marked = {cls.spelled_name.removeprefix("cuda_tile.") for cls in OPERATIONS.values() if cls.preview}
    assert marked == {entry["name"] for entry in TABLE["ops"] if entry["since"].endswith("preview")}
