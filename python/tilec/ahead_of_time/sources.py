"""The requests of a batch, from files and directories."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tilec.ahead_of_time.request import Request
from tilec.errors import CompileError, InputError, UsageError
from tilec.language.declared_signatures import DeclaredSignature, signatures_of
from tilec.language.kernel import Kernel, kernels_of
from tilec.text_input.source import STANDARD_INPUT, Source, open_source

# The files of a directory that are compiled: Python, text of any stage before PTX, and Tile IR bytecode.
SUFFIXES = (".py", ".mlir", ".tileirbc")


@dataclass(frozen=True)
class Selection:
    """The variants to compile of each kernel of a source.

    Attributes:
        targets: the targets.
        signatures: the texts of signatures; without any, those that `@ct.signatures` declares.
        hints: compile options by name; they take precedence over declared ones.
        kernel: the name in the folder, in place of that of the kernel.
        entry: the entry of a module, or the kernel of a Python file; without it, all of them.
    """

    targets: Sequence[str]
    signatures: Sequence[str] = ()
    hints: Mapping[str, Any] = field(default_factory=dict)
    kernel: str | None = None
    entry: str | None = None

    def name(self, default: str) -> str:
        """The name of a kernel in the folder, whose own name is `default`."""
        return default if self.kernel is None else self.kernel


def requests_of(path: str, selection: Selection) -> list[Request]:
    """The requests of a directory, `file.py`, `file.py:kernel`, or the file of a stage.

    A source that is invalid has a request too, which fails with the error of the source.
    Raises UsageError if the path has no kernel, or a signature is given for a module.
    """
    if path == STANDARD_INPUT:
        raise UsageError("--folder reads files and directories, not standard input")
    files = _files(Path(path)) if Path(path).is_dir() else [path]
    requests = [request for file in files for request in _of_file(str(file), selection)]
    if not requests:
        raise UsageError(f"{path} has no kernel: expected files with kernels or with entries of Tile IR")
    return requests


def _files(folder: Path) -> list[Path]:
    """The files of the directory and its subdirectories, without hidden ones, in the order of their names."""
    return sorted(
        file
        for file in folder.rglob("*")
        if file.suffix in SUFFIXES
        and file.is_file()
        and not any(part.startswith((".", "__pycache__")) for part in file.relative_to(folder).parts)
    )


def _of_file(path: str, selection: Selection) -> list[Request]:
    if path.endswith(".py") and selection.entry is not None:
        path = f"{path}:{selection.entry}"
    file, colon, name = path.rpartition(":")
    try:
        if colon and file.endswith(".py"):
            return list(_of_kernel(file, _named(file, name), selection))
        if path.endswith(".py"):
            return [made for kernel in kernels_of(path).values() for made in _of_kernel(path, kernel, selection)]
        return list(_of_module(path, selection))
    except (InputError, CompileError):
        return [Request(selection.name(_name_of(path)), path, selection.targets[0])]


def _name_of(path: str) -> str:
    """The name of a module whose entry is not known, from its file."""
    return re.sub(r"\W", "_", Path(path).name.partition(".")[0], flags=re.ASCII)


def _named(file: str, name: str) -> Kernel:
    kernels = kernels_of(file)
    if name not in kernels:
        known = ", ".join(f"'{found}'" for found in kernels) or "none"
        raise InputError(f"{file} has no kernel '{name}', its kernels are: {known}")
    return kernels[name]


def _of_kernel(file: str, kernel: Kernel, selection: Selection) -> Iterator[Request]:
    """The requests of a kernel; one without a signature, which fails, if the kernel has none."""
    given = tuple(DeclaredSignature(text) for text in selection.signatures) or signatures_of(kernel)
    for signature in given or (None,):
        hints = {**dict(signature.hints if signature else ()), **selection.hints}
        for target in selection.targets:
            source = f"{file}:{kernel.function.__name__}"
            text = signature.text if signature else None
            yield Request(selection.name(kernel.name), source, target, text, None, hints)


def _of_module(path: str, selection: Selection) -> Iterator[Request]:
    source = open_source(path)
    if selection.signatures:
        raise UsageError(f"{path} is not a Python file, and a signature is for Python kernels: remove --sig")
    targets = selection.targets if source.target is None else [source.target]
    for entry in _entries(source, selection.entry):
        for target in targets:
            yield Request(selection.name(entry or _name_of(path)), path, target, None, entry, selection.hints)


def _entries(source: Source, entry: str | None) -> Sequence[str | None]:
    """The entries of a Tile IR module; modules of later stages have one, which needs no name."""
    if entry is not None or source.stage != "tile":
        return [entry]
    from tilec.driver.entries import entries

    return list(entries(source.value))
