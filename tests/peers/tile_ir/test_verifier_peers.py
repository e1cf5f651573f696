"""tileirdisasm rejects modules that the verifier rejects, and reads all other modules as the same module."""

from __future__ import annotations

import itertools
import runpy
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from sample_modules import operations
from tile_tools import disassembled, tool

from tilec.dialect.assembly.reader import read_module
from tilec.dialect.bytecode.version import NEWEST
from tilec.dialect.bytecode.writing.writer import write_module
from tilec.errors import InputError
from tilec.text_input.module import Module

DIALECT = Path(__file__).parents[2] / "dialect"
sys.path.insert(0, str(DIALECT / "generated"))
from random_modules import NAMES, module  # noqa: E402

pytestmark = pytest.mark.peers

REFUSALS = runpy.run_path(str(DIALECT / "test_refusals.py"))
# Errors that bytecode cannot express, with the reason.
UNWRITABLE = {
    "value must have the type of the result": "bytecode has the bytes of the elements and only the type of the result",
    "attribute 'signedness' must be one of": "an invalid keyword has no number in bytecode",
}


@cache
def bytecode_of_invalid_modules() -> list[tuple[str, bytes]]:
    """Bytecode of the modules that only the verifier rejects; the other modules have no text or no bytecode."""
    found = []
    for case in REFUSALS["_cases"]():
        body = case.values[0]
        expected = next(line for line in body.splitlines() if line.startswith(REFUSALS["MARK"]))
        if any(excluded in expected for excluded in UNWRITABLE):
            continue
        try:
            read = read_module(REFUSALS["HEADER"] + body + REFUSALS["FOOTER"], "invalid.mlir")
            found.append((expected, write_module(read, NEWEST, "invalid.mlir")))
        except InputError:
            continue
    return found


def test_tileirdisasm_rejects_modules_that_the_verifier_rejects(tmp_path: Path) -> None:
    assert len(bytecode_of_invalid_modules()) > 280
    accepted = []
    for expected, data in bytecode_of_invalid_modules():
        path = tmp_path / "invalid.tileirbc"
        path.write_bytes(data)
        if subprocess.run([tool("tileirdisasm"), path], capture_output=True).returncode == 0:
            accepted.append(expected)
    assert accepted == []


def test_each_excluded_message_occurs() -> None:
    messages = [body.values[0] for body in REFUSALS["_cases"]()]
    assert all(any(excluded in message for message in messages) for excluded in UNWRITABLE)


def is_printable(tested: Module) -> bool:
    """Whether tileirdisasm 13.5 can print a module; it crashes on the shape of a tensor of rank 0."""
    shapes = [op for op in operations(tested) if op.operation.name == "cuda_tile.get_tensor_shape"]
    return all(len(op.operation.results) for op in shapes)


def check(tested: Module, folder: Path) -> None:
    text = disassembled(tested.to_bytecode(), folder)
    assert Module.parse(text).to_text() == without_producer(tested).to_text()


def without_producer(tested: Module) -> Module:
    """The module without its producer, which the disassembler prints as a comment."""
    if "cuda_tile.producer" in tested.ir.operation.attributes:
        del tested.ir.operation.attributes["cuda_tile.producer"]
    return tested


@pytest.mark.parametrize("seed", range(60))
def test_tileirdisasm_accepts_random_modules(seed: int, tmp_path: Path) -> None:
    candidates = (module(seed + attempt * 1000, 12, text_only=False) for attempt in itertools.count())
    check(next(filter(is_printable, candidates)), tmp_path)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "preview_call"])
def test_tileirdisasm_accepts_random_operations(name: str, tmp_path: Path) -> None:
    candidates = (module(seed, 0, name, text_only=False) for seed in itertools.count())
    for tested in itertools.islice(filter(is_printable, candidates), 3):
        check(tested, tmp_path)
