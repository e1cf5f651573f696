"""Converts diagnostics of the MLIR bindings to errors of tilec."""

from __future__ import annotations

import re
from pathlib import Path

from tilec.dialect.location import UNNAMED, innermost
from tilec.dialect.mlir import ir
from tilec.errors import Note, SourceLocation, VerificationError

# The form of a note in a diagnostic of tilec's verifiers: a line of the message, as the bindings cannot attach notes.
_NOTE = re.compile(r"^note: (.*) at (loc\(.*\))$", re.MULTILINE)


def verification_error(error: ir.MLIRError, file: str) -> VerificationError:
    """The first diagnostic of an MLIRError with its notes; locations without a file name are in `file`."""
    first = next(iter(error.error_diagnostics), None)
    if first is None:
        return VerificationError(str(error).strip().splitlines()[0])
    notes = [Note(_brief(note.message), source_location(note.location, file)) for note in _notes(first)]
    notes += [Note(text, source_location(_parsed(where, first), file)) for text, where in _NOTE.findall(first.message)]
    return VerificationError(_brief(first.message), source_location(first.location, file), notes)


def _notes(diagnostic: ir.DiagnosticInfo) -> list[ir.DiagnosticInfo]:
    # MLIR attaches a note with the text of the operation, which is longer than its location and repeats it.
    return [note for note in diagnostic.notes if not note.message.startswith("see current operation")]


def _parsed(location: str, diagnostic: ir.DiagnosticInfo) -> ir.Location:
    # The bindings cannot parse a location outside of a module.
    return ir.Module.parse(f"module {{}} {location}", context=diagnostic.location.context).operation.location


def _brief(message: str) -> str:
    return message.strip().splitlines()[0]


def source_location(location: ir.Location, file: str) -> SourceLocation | None:
    """The innermost file location of an MLIR location, or None; a location without a file name is in `file`."""
    found = innermost(location)
    if found is None:
        return None
    name = file if found.filename == UNNAMED else str(Path(found.filename))
    return SourceLocation(name, found.start_line, found.start_col)
