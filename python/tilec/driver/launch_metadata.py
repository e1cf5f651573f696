"""Launch metadata of a compile: the record of the lowering, completed from the PTX text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilec.driver.stage_text import ptx_version
from tilec.errors import TilecError
from tilec.frozen import replace
from tilec.runtime.artifact import artifact as artifacts
from tilec.runtime.artifact.metadata import SCHEMA, Metadata, read
from tilec.runtime.json_record import Record
from tilec.version import VERSION

if TYPE_CHECKING:
    from tilec.driver.compile_result import CompileResult

LAUNCH = "tilec.launch"


def metadata_of(compiled: CompileResult) -> Metadata | None:
    """The launch metadata of a compile; None if there is none.

    The source is the attribute `tilec.launch` of the ptx module, which has no arguments if the compile started from a
    kernel of tile_gpu without a signature: the PTX of such a kernel is run with a parameter block. For a compile that
    started from PTX it is the launch comment in the text, else the `.launch.json` beside the file.
    """
    lowered = compiled.stage("ptx-mlir")
    if lowered is not None and compiled.ptx:
        fields = Record.parse(_launch_text(lowered.value), LAUNCH).fields()
        return _completed(fields, compiled) if "arguments" in fields else None
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
    raise TilecError(f"the ptx module has no '{LAUNCH}' attribute, which launch metadata require")


def _completed(fields: dict[str, Any], compiled: CompileResult) -> Metadata:
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


def _assembler(compiled: CompileResult) -> str:
    cubin = compiled.stage("cubin")
    return "" if cubin is None else str(cubin.value.assembler)
