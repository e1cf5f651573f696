"""Reading a written file yields the same module, in every version that can represent it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tilec.dialect.bytecode.version import VERSIONS
from tilec.dialect.mlir import context, ir
from tilec.errors import InputError
from tilec.text_input.module import Module

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS / "semantics"))
from vector_module import case_of  # noqa: E402

FILES = sorted((TESTS / "dialect" / "assembly").glob("*.mlir"))
NAMES = [str(version) for version in VERSIONS]
VECTORS = sorted((TESTS / "semantics" / "vectors").glob("*.json"))
# Every STEP-th vector is read, because adjacent vectors often differ only in their numbers.
STEP = 4


def samples() -> list[Module]:
    """The samples, without parts that bytecode cannot represent."""
    found = []
    for path in FILES:
        text = path.read_text().replace(' {tilec.signature = "{}"}', "").replace(" {my.fact = 1 : i32}", "")
        found.append(Module.parse(text, path.name))
    return found


SAMPLES = samples()


@pytest.mark.parametrize("version", NAMES)
@pytest.mark.parametrize("module", SAMPLES, ids=[path.stem for path in FILES])
def test_samples(module: Module, version: str) -> None:
    try:
        data = module.to_bytecode(version)
    except InputError as error:
        assert version != NAMES[-1] and "needs bytecode version" in error.message
        return
    read = Module.parse(data, "k.tileirbc")
    assert read.to_text(generic=True) == module.to_text(generic=True)
    assert read.to_bytecode(version) == data


def oldest(module: Module) -> tuple[str, bytes]:
    """The file of a module in the first version that can represent it."""
    for version in NAMES[:-1]:
        try:
            return version, module.to_bytecode(version)
        except InputError:
            continue
    return NAMES[-1], module.to_bytecode(NAMES[-1])


def some(vectors: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The first vector with each operation and attributes, and every STEP-th vector."""
    known = set()
    for index, vector in enumerate(vectors):
        kind = (vector.get("operation", vector.get("case")), str(vector.get("attributes")))
        if kind not in known or index % STEP == 0:
            yield vector
        known.add(kind)


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_vectors(path: Path) -> None:
    for vector in some(json.loads(path.read_text())):
        module = Module(case_of(vector).module)
        attributes = module.ir.operation.attributes
        with context():
            # The module name that NVIDIA's tools and the reader use, because files have none.
            attributes["sym_name"] = ir.StringAttr.get("kernels")
        if "cuda_tile.producer" in attributes:
            del attributes["cuda_tile.producer"]
        expected = module.to_text(generic=True)
        for version, data in (oldest(module), (NAMES[-1], module.to_bytecode(NAMES[-1]))):
            assert Module.parse(data).to_text(generic=True) == expected, (vector, version)
