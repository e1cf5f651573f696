"""Manifests, in TOML or JSON: a list of sources, each with signatures, targets and compile options.

targets = ["sm_100a", "sm_90a"]             # for kernels that name none

[[kernel]]
source = "matmul.py:matmul"                 # relative to the manifest; also a directory or the file of a stage
signatures = ["A: f16[?,?], TM=128", "A: f16[?,?], TM=64"]
hints = { stages = 3 }
name = "gemm"                               # the name in the folder
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tilec.ahead_of_time.request import Request
from tilec.ahead_of_time.sources import Selection, requests_of
from tilec.compile_options import CompileOptions
from tilec.errors import InputError
from tilec.runtime.artifact.artifact import read
from tilec.runtime.json_record import Record

_FIELDS = {"source", "signatures", "targets", "hints", "name", "entry"}
_READERS: dict[str, Callable[[str], Any]] = {".toml": tomllib.loads, ".json": json.loads}


def requests_of_manifest(path: Path, targets: list[str]) -> list[Request]:
    """The requests of a manifest; `targets` are those of kernels and manifests that name none.

    Raises InputError, naming the field, if the manifest is invalid.
    """
    record = _parse(path).only({"targets", "kernel"})
    if "targets" in record.fields():
        targets = _texts(record["targets"])
    kernels = record["kernel"].items()
    if not kernels:
        raise record["kernel"].error("at least one kernel")
    return [request for item in kernels for request in _requests(item.only(_FIELDS), path.parent, targets)]


def _parse(path: Path) -> Record:
    if path.suffix not in _READERS:
        raise InputError(f"{path}: expected a manifest with the suffix .toml or .json")
    try:
        return Record(_READERS[path.suffix](read(path).decode()), str(path))
    except ValueError as error:
        # The errors of tomllib, json and UTF-8 are all ValueErrors that state the line or the offset.
        raise InputError(f"{path} is not valid {path.suffix[1:].upper()}: {error}") from None


def _requests(item: Record, folder: Path, targets: list[str]) -> list[Request]:
    hints = item.get("hints", {}).fields()
    CompileOptions.of(hints)
    selection = Selection(
        _texts(item["targets"]) if "targets" in item.fields() else targets,
        _texts(item["signatures"]) if "signatures" in item.fields() else [],
        hints,
        item["name"].text() if "name" in item.fields() else None,
        item["entry"].text() if "entry" in item.fields() else None,
    )
    return requests_of(str(folder / item["source"].text()), selection)


def _texts(record: Record) -> list[str]:
    texts = [item.text() for item in record.items()]
    if not texts:
        raise record.error("at least one text")
    return texts
