"""Launch metadata of a compile: what the lowering knows, completed by the PTX text and the signature."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilec.driver.stage_text import ptx_version
from tilec.errors import TilecError
from tilec.runtime import artifact as artifacts
from tilec.runtime.json_record import Record
from tilec.runtime.metadata import SCHEMA, Metadata, read
from tilec.version import VERSION

if TYPE_CHECKING:
    from tilec.driver.compiled import Compiled

LAUNCH = "tilec.launch"


def metadata_of(compiled: Compiled) -> Metadata | None:
    """From the `tilec.launch` of the ptx module, or from a PTX file: its comment, else the `.launch.json` beside it."""
    lowered = compiled.stage("ptx-mlir")
    if lowered is not None and compiled.ptx:
        return _completed(_launch_text(lowered.value), compiled)
    if compiled.source.metadata is not None:
        return replace(compiled.source.metadata, ptx_sha256=artifacts.digest(compiled.ptx))
    path = compiled.source.path
    if path is not None and artifacts.metadata_path(path).exists():
        return artifacts.load_metadata(path)
    return None


def _launch_text(module: Any) -> str:
    candidates = [module.operation, *(operation.operation for operation in module.body.operations)]
    for operation in candidates:
        if LAUNCH in operation.attributes:
            return operation.attributes[LAUNCH].value
    raise TilecError(f"the ptx module has no '{LAUNCH}' attribute, so nothing can launch it")


def _completed(launch: str, compiled: Compiled) -> Metadata:
    fields = Record.parse(launch, LAUNCH).fields()
    completed = {
        **fields,
        "schema": SCHEMA,
        "target": compiled.target,
        "ptx_version": ptx_version(compiled.ptx),
        "ptx_sha256": artifacts.digest(compiled.ptx),
        "tilec_version": VERSION,
        "assembler": _assembler(compiled),
    }
    return read(Record(completed, LAUNCH))


def _assembler(compiled: Compiled) -> str:
    cubin = compiled.stage("cubin")
    return "" if cubin is None else str(cubin.value.assembler)
