"""Kernels compiled by ct.launch and tilec.run, kept on disk, so that a later process starts them without the compiler.

The key of an entry is the identity of the kernel and of everything that it reads, the signature, target, options and
last stage of the compile, and the fingerprint of the installation. An entry is one file, which holds PTX, cubin, launch
metadata and remarks.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tilec import cache_files, options
from tilec.compile_options import CompileOptions
from tilec.driver.compile_result import StageResult
from tilec.driver.compiled import Compiled
from tilec.driver.identity import Unidentified, digest
from tilec.errors import SourceLocation, TilecError
from tilec.frozen import Frozen, replace
from tilec.installation import fingerprint
from tilec.language.kernel import Kernel
from tilec.remarks import Remark
from tilec.runtime.artifact import metadata as launch_metadata
from tilec.runtime.cubin.cubin_image import Cubin
from tilec.runtime.json_record import Record
from tilec.signature import Signature
from tilec.text_input.source import Source

if TYPE_CHECKING:
    from pathlib import Path

SUFFIX = ".kernel"
# The version of the format of an entry.
_FORM = 1
# The stages whose result an entry can hold.
_STAGES = ("ptx", "cubin")


class Request(Frozen):
    """A compile of a kernel, as ct.launch needs it."""

    kernel: Kernel
    signature: Signature
    target: str
    options: CompileOptions
    stop: str


def kept_or_compiled(request: Request, compile: Callable[[], Compiled]) -> Compiled:
    """The compiled kernel from the disk cache, or from `compile`, whose result is then kept.

    A kernel that reads a value without an identity is compiled in every process, with a remark that names the value.
    """
    settings = options.from_environment()
    # TILEC_DUMP needs all stages.
    if request.stop not in _STAGES or not options.cache_size_bytes() or settings.dump is not None:
        return compile()
    if (kernels := folder()) is None:
        return compile()
    try:
        key = _key(request)
    except Unidentified as problem:
        compiled = compile()
        message = f"the compiled kernel is not kept on disk: {problem}"
        remark = Remark("cache", message, request.kernel.location)
        return replace(compiled, found_remarks=(*compiled.found_remarks, remark))
    path = os.path.join(kernels, key + SUFFIX)
    return _read(path, request) or _compile_and_keep(path, key, request, compile)


def folder() -> str | None:
    """The folder of the entries; None, with a warning, if other users could write it."""
    return cache_files.folder("kernels")


def _key(request: Request) -> str:
    parts = (request.kernel, request.signature, request.target, request.options, request.stop)
    return digest(_FORM, fingerprint(), options.cuda_folders(), *parts)


def _compile_and_keep(path: str, key: str, request: Request, compile: Callable[[], Compiled]) -> Compiled:
    compiled = compile()
    # If the compile changes a value that the kernel reads, such as a counter, the result does not belong to the key.
    with contextlib.suppress(Unidentified):
        if _key(request) == key:
            _write(path, _content(compiled, request))
    return compiled


def _write(path: str, content: bytes) -> None:
    try:
        cache_files.write(path, content)
        evict(options.cache_size_bytes())
    except OSError as error:
        message = f"compiled kernels are not kept on disk: cannot write {os.path.dirname(path)}: {error.strerror}"
        cache_files.warn_once(message)


def _content(compiled: Compiled, request: Request) -> bytes:
    assert compiled.metadata is not None
    ptx = compiled.ptx.encode()
    cubin = compiled.stage("cubin")
    header = {
        "kernel": request.kernel.name,
        "signature": str(request.signature),
        "target": compiled.target,
        "ptx_bytes": len(ptx),
        "metadata": launch_metadata.to_line(compiled.metadata),
        "remarks": [_remark_to_json(remark) for remark in compiled.all_remarks],
        "cubin": None if cubin is None else _cubin_to_json(cubin.value),
    }
    return json.dumps(header).encode() + b"\n" + ptx + compiled.cubin


def _read(path: str, request: Request) -> Compiled | None:
    content = cache_files.read(path)
    if content is None:
        return None
    line, _, body = content.partition(b"\n")
    header = json.loads(line)
    ptx, cubin = body[: header["ptx_bytes"]].decode(), body[header["ptx_bytes"] :]
    try:
        metadata = launch_metadata.read(Record.parse(header["metadata"], path))
    except TilecError:
        return None
    with contextlib.suppress(OSError):
        # The time of modification is that of the last use.
        os.utime(path)
    stages = [StageResult("ptx", ".ptx", 0.0, ptx, ptx)]
    if header["cubin"] is not None:
        stages.append(StageResult("cubin", ".cubin", 0.0, Cubin(content=cubin, **_cubin_from_json(header["cubin"]))))
    source = Source(ptx, "ptx", request.kernel.name, ptx, request.target, metadata=metadata)
    remarks = tuple(_remark_from_json(remark) for remark in header["remarks"])
    return Compiled(request.target, None, tuple(stages), source, remarks)


def _cubin_to_json(cubin: Cubin) -> dict[str, Any]:
    fields = ("log", "registers", "spill_bytes", "warnings", "assembler")
    return {name: getattr(cubin, name) for name in fields}


def _cubin_from_json(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "warnings": tuple(fields["warnings"])}


def _remark_to_json(remark: Remark) -> list[Any]:
    at = remark.location
    return [
        remark.topic,
        remark.message,
        None if at is None else [at.file, at.line, at.column, at.end_column],
        remark.percent,
    ]


def _remark_from_json(fields: list[Any]) -> Remark:
    topic, message, at, percent = fields
    return Remark(topic, message, None if at is None else SourceLocation(*at), percent=percent)


class Entry(Frozen):
    """A file of the cache."""

    path: Path
    size_bytes: int
    used_ns: int

    def header(self) -> dict[str, Any] | None:
        """The name, signature and target of the kernel; None for a damaged file."""
        content = cache_files.read(self.path)
        return None if content is None else json.loads(content.partition(b"\n")[0])


def entries() -> list[Entry]:
    """The entries, the least recently used one first."""
    # Imported here because a process that finds its kernel does not list the others.
    from pathlib import Path

    found: list[Entry] = []
    if (kernels := folder()) is None:
        return found
    with contextlib.suppress(OSError):
        for item in os.scandir(kernels):
            # Another process may remove the file meanwhile.
            with contextlib.suppress(OSError):
                if not item.name.endswith((SUFFIX, cache_files.TEMPORARY_SUFFIX)):
                    continue
                status = item.stat()
                found.append(Entry(Path(item.path), status.st_size, status.st_mtime_ns))
    return sorted(found, key=lambda entry: entry.used_ns)


def evict(limit_bytes: int) -> int:
    """Removes the least recently used entries until the others fit into the limit; returns the number removed."""
    found = entries()
    total, removed = sum(entry.size_bytes for entry in found), 0
    for entry in found:
        if total <= limit_bytes:
            break
        with contextlib.suppress(OSError):
            entry.path.unlink(missing_ok=True)
        total -= entry.size_bytes
        removed += 1
    return removed
