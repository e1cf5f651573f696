"""One compile of a batch: a value that can be sent to another process, and its outcome."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field

from tilec.driver.stages import compile as compile_entry
from tilec.errors import TilecError
from tilec.process.time_limit import compiler_timeout
from tilec.remarks import Remark
from tilec.runtime.artifact.artifact import Artifact


@dataclass(frozen=True)
class Request:
    """A kernel to compile for one signature and one target.

    Attributes:
        kernel: the name of the kernel in the folder.
        source: `file.py:kernel`, the path of the file of a stage, or the text of a stage.
        signature: the text of the signature of a Python kernel, None for other sources.
        entry: the entry of a module that has several.
        hints: compile options by name.
        stop: the last stage, "ptx" or "cubin".
        timeout_s: the limit of the compile in seconds, None for that of the process that compiles.
    """

    kernel: str
    source: str
    target: str
    signature: str | None = None
    entry: str | None = None
    hints: Mapping[str, bool | int] = field(default_factory=dict)
    stop: str = "cubin"
    timeout_s: float | None = None

    def __str__(self) -> str:
        hints = "".join(f" {name}={value}" for name, value in self.hints.items())
        return f"{self.kernel} ({self.signature or self.entry}) {self.target}{hints}"


@dataclass(frozen=True)
class Outcome:
    """The artifact of a request, or the error that its compile raised; `seconds` is the time of the compile."""

    artifact: Artifact | None = None
    error: TilecError | None = None
    all_remarks: tuple[Remark, ...] = ()
    seconds: float = 0.0


def execute(request: Request) -> Outcome:
    """Compiles; an error that the source causes is part of the outcome and is not raised."""
    start = time.perf_counter()
    try:
        with nullcontext() if request.timeout_s is None else compiler_timeout(request.timeout_s):
            compiled = compile_entry(
                request.source,
                entry=request.entry,
                target=request.target,
                signature=request.signature,
                hints=request.hints,
                stop=request.stop,
            )
        artifact = compiled.artifact
    except TilecError as error:
        return Outcome(error=error, seconds=time.perf_counter() - start)
    return Outcome(artifact, None, compiled.all_remarks, time.perf_counter() - start)
