"""A fault of the compiler: what it was working on is saved, and the message says how to see it again."""

from __future__ import annotations

import shlex
import traceback
from typing import Any

from tilec.driver.compiled import StageResult
from tilec.driver.failure_folder import new_failure_folder
from tilec.errors import InternalError, Note
from tilec.text_input.source import Source


def internal_error(stage: str, error: Exception, before: StageResult | None, source: Source, job: Any) -> InternalError:
    """The error to raise; the module that the stage was given and the traceback lie in a new folder."""
    folder = new_failure_folder()
    (folder / "traceback.txt").write_text("".join(traceback.format_exception(error)))
    saved = str(before.save(folder / "kernel", locations=True)) if before is not None else source.name
    message = f"stage '{stage}' failed on {source.name}: {type(error).__name__}: {error}"
    notes = [
        Note(f"this is a fault of the compiler; its input and the traceback are in {folder}"),
        Note(f"it is repeated by: {_command(saved, before, job)}"),
    ]
    return InternalError(message, notes=notes)


def _command(saved: str, before: StageResult | None, job: Any) -> str:
    words = ["tilec", "compile", saved, "--target", job.target]
    if before is None:
        words += ["--sig", str(job.signature)]
    if job.entry:
        words += ["--entry", job.entry]
    for hint in job.options.to_text():
        words += ["--hint", hint]
    return shlex.join(words)
