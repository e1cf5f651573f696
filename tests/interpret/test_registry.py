"""Every operation of Tile IR has an interpretation, and every interpretation has a test."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tilec.dialect.mlir import context
from tilec.dialect.operation import OPERATIONS
from tilec.runtime.interpret.op_groups import MEANINGS

TESTS = Path(__file__).parents[1]
# `run` handles these operations itself.
STRUCTURE = {"entry", "global"}
# The callee is not documented; test_run.py tests the error.
UNSUPPORTED = {"preview_call"}
# These have no effect on a single grid.
WITHOUT_EFFECT = {"memory_fence_alias_tko", "gdc_launch_dependents_tko", "gdc_wait_tko"}


def operations() -> set[str]:
    context()
    return {name.removeprefix("cuda_tile.") for name in OPERATIONS if name.startswith("cuda_tile.")}


def test_every_operation_has_an_interpretation():
    assert operations() - STRUCTURE - UNSUPPORTED == {
        name.removeprefix("cuda_tile.") for name in MEANINGS if name.startswith("cuda_tile.")
    }


def test_every_interpretation_is_tested():
    records = [v for path in (TESTS / "semantics/vectors").glob("*.json") for v in json.loads(path.read_text())]
    vectors = {name for record in records for name in record.get("operations") or [record["operation"]]}
    files = (TESTS / "interpret").glob("test_*.py")
    names = {name for path in files for name in re.findall(r"\w+", path.read_text())}
    assert operations() - STRUCTURE - UNSUPPORTED - WITHOUT_EFFECT - vectors <= names
