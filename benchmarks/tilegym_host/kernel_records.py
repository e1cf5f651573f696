"""Reads the records of a run of TileGym's tests: one summary per kernel."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RECORDS = "records.jsonl"
# A test that expects a refusal of cuTile passes with it, and one that catches the refusal is skipped.
_GOOD = ("passed", "skipped")


@dataclass
class KernelRecord:
    """The launches of a kernel.

    Attributes:
        bytecode: the bytecode of the first launch.
        signature: the signature of the first launch.
        hints: the hints of the first launch.
        error: the message if the first launch was refused.
        refused: the messages of all signatures that were refused.
        signatures: the number of signatures and hints that were compiled.
        passed: tests that launched the kernel and passed.
        failed: tests that launched the kernel and failed, with their errors.
    """

    bytecode: Path
    signature: str
    hints: dict[str, str]
    error: str = ""
    refused: list[str] = field(default_factory=list)
    signatures: int = 0
    passed: int = 0
    failed: list[str] = field(default_factory=list)


def records(folder: Path) -> Iterator[dict[str, Any]]:
    """The records of a folder, in the order of the run."""
    with (folder / RECORDS).open() as file:
        yield from map(json.loads, file)


def kernel_records(folder: Path) -> dict[str, KernelRecord]:
    """The summary of each kernel that the tests reached."""
    found: dict[str, KernelRecord] = {}
    tests: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in records(folder):
        if "test" in record:
            for kernel in {launch["kernel"] for launch in record["launches"]}:
                tests[kernel].append(record)
            continue
        name, error = record["compile"], record.get("error", "")
        if name not in found:
            bytecode = folder / f"{bytecode_name(name)}.tileirbc"
            found[name] = KernelRecord(bytecode, record["signature"], record["hints"], error)
        found[name].signatures += 1
        found[name].refused += [error] if error else []
    for kernel, launched in tests.items():
        for record in launched if kernel in found else ():
            if record["outcome"] == "passed":
                found[kernel].passed += 1
            elif record["outcome"] not in _GOOD:
                found[kernel].failed.append(record["error"])
    return found


def failures(folder: Path) -> dict[str, str]:
    """The tests that failed, with their errors."""
    return {each["test"]: each["error"] for each in records(folder) if each.get("outcome") not in (None, *_GOOD)}


def bytecode_name(kernel: str) -> str:
    """The name of the bytecode of a kernel's first launch."""
    return kernel.replace(".py:", ".").replace("/", ".")
