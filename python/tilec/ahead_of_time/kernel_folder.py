"""Writes a folder of compiled kernels and its index atomically."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tilec.ahead_of_time.request import Request
from tilec.errors import InputError, UsageError
from tilec.runtime.artifact import artifact as artifacts
from tilec.runtime.artifact.artifact import Artifact
from tilec.runtime.artifact.kernel_index import INDEX_FILE, Variant, to_text
from tilec.version import VERSION

# The names of files and of functions of a C header contain that of the kernel.
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def names_of(requests: Sequence[Request]) -> list[str]:
    """The name of each request: its kernel, followed by a number if the kernel has several signatures.

    Raises UsageError if two sources have kernels of one name, a request occurs twice, or a name is not valid in C.
    """
    sources: dict[str, str] = {}
    signatures: dict[str, list[object]] = {}
    for request in requests:
        if not _IDENTIFIER.fullmatch(request.kernel):
            raise UsageError(
                f"the name '{request.kernel}' of {request.source} is not one of ASCII letters, digits and underscores, "
                f"as files and C functions need: give the kernel another name in a manifest"
            )
        other = sources.setdefault(request.kernel, request.source)
        if other != request.source:
            raise UsageError(
                f"{other} and {request.source} both have a kernel '{request.kernel}': compile them to two folders, or "
                f"give one another name in a manifest"
            )
        known = signatures.setdefault(request.kernel, [])
        if _signature(request) not in known:
            known.append(_signature(request))
    names = [_name(request, signatures[request.kernel]) for request in requests]
    _check_unique([f"{name} for {request.target}" for name, request in zip(names, requests, strict=True)])
    return names


def _signature(request: Request) -> object:
    return request.signature, request.entry, sorted(request.hints.items())


def _name(request: Request, signatures: list[object]) -> str:
    if len(signatures) == 1:
        return request.kernel
    return f"{request.kernel}_{signatures.index(_signature(request))}"


def _check_unique(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{name} is to be compiled twice: remove the repeated signature or name")


def check_destination(folder: Path) -> None:
    """Raises UsageError if the folder has content that is not that of an earlier compile."""
    artifacts.check_folder(folder)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: expected a folder")
    if folder.exists() and any(folder.iterdir()) and not (folder / INDEX_FILE).exists():
        raise UsageError(f"{folder} is not empty and has no {INDEX_FILE}: use a new folder, which a compile replaces")


def write_folder(
    folder: Path,
    requests: Sequence[Request],
    compiled: Sequence[Artifact],
    more: Callable[[Path, Sequence[Variant]], None] = lambda folder, variants: None,
) -> list[Variant]:
    """Writes artifacts and index to a temporary folder, which then replaces `folder`; returns the variants.

    `more` writes further files to the temporary folder. Raises InputError if the folder cannot be written.
    """
    names = names_of(requests)
    try:
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise InputError(f"cannot write {folder}: {error.strerror}") from None
    try:
        variants = [_save(temporary, *each) for each in zip(requests, names, compiled, strict=True)]
        artifacts.write(temporary / INDEX_FILE, to_text(tuple(variants), VERSION).encode())
        more(temporary, variants)
        # Temporary folders are readable by their owner only.
        temporary.chmod(0o777 & ~_umask())
        _replace(folder, temporary)
    except OSError as error:
        raise InputError(f"cannot write {folder}: {error.strerror}") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return variants


def _save(folder: Path, request: Request, name: str, compiled: Artifact) -> Variant:
    stem = folder / f"{name}.{request.target}"
    saved = artifacts.save(compiled, stem)
    files = {"metadata": f"{stem.name}{artifacts.METADATA_SUFFIX}", "ptx": f"{stem.name}.ptx"}
    metadata = saved.metadata
    return Variant(
        kernel=request.kernel,
        name=name,
        signature=request.signature or "",
        target=request.target,
        entry=metadata.entry,
        files={**files, **({"cubin": f"{stem.name}.cubin"} if compiled.cubin else {})},
        hints=dict(request.hints),
        source=request.source,
        versions={"tilec": VERSION, "ptx": metadata.ptx_version, "assembler": metadata.assembler},
    )


def _replace(folder: Path, temporary: Path) -> None:
    """Renames `temporary` to `folder`, after an existing folder is moved aside: rename replaces empty folders only."""
    aside = temporary.with_name(f"{temporary.name}.old")
    if folder.exists():
        folder.rename(aside)
    try:
        temporary.rename(folder)
    except OSError:
        if aside.exists():
            aside.rename(folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
