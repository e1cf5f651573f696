"""Reports of internal failures: saves the input of the failed stage and a command that reproduces the failure."""

from __future__ import annotations

import shlex
import traceback
from typing import Any

from tilec.driver.compile_result import StageResult
from tilec.driver.failure_folder import new_failure_folder
from tilec.errors import InternalError, Note
from tilec.text_input.source import Source


def internal_error(stage: str, error: Exception, before: StageResult | None, source: Source, job: Any) -> InternalError:
    """The error to raise; saves the input module of the stage and the traceback in a new folder."""
    folder = new_failure_folder()
    (folder / "traceback.txt").write_text("".join(traceback.format_exception(error)))
    saved = str(before.save(folder / "kernel", locations=True)) if before is not None else source.name
    message = f"stage '{stage}' failed on {source.name}: {type(error).__name__}: {error}"
    notes = [
        Note(f"this is a bug in tilec; the input of the stage and the traceback are in {folder}"),
        Note(f"to reproduce: {_command(saved, before, job)}"),
    ]
    return InternalError(message, notes=notes)


def _command(saved: str, before: StageResult | None, job: Any) -> str:
    command = ["tilec", "compile", saved, "--target", job.target]
    if before is None:
        command += ["--sig", str(job.signature)]
    if job.entry:
        command += ["--entry", job.entry]
    for hint in job.options.to_text():
        command += ["--hint", hint]
    return shlex.join(command)
