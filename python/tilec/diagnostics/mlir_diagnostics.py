"""Diagnostics of the MLIR bindings as errors of tilec."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tilec.dialect.location import UNNAMED, innermost
from tilec.dialect.mlir import ir
from tilec.errors import Note, SourceLocation, VerificationError

# A line that a verifier of ours adds to its diagnostic: the bindings let a verifier say no note.
_NOTE = re.compile(r"^note: (.*) at (loc\(.*\))$", re.MULTILINE)


def verification_error(error: Any, file: str) -> VerificationError:
    """The first diagnostic of an MLIRError with its notes; places in unnamed text are places in `file`."""
    first = next(iter(error.error_diagnostics), None)
    if first is None:
        return VerificationError(str(error).strip().splitlines()[0])
    notes = [Note(_brief(note.message), place(note.location, file)) for note in _notes(first)]
    notes += [Note(text, place(_parsed(where, first), file)) for text, where in _NOTE.findall(first.message)]
    return VerificationError(_brief(first.message), place(first.location, file), notes)


def _notes(diagnostic: Any) -> Iterable[Any]:
    # MLIR adds the whole operation to what a verifier says; the place says it better.
    return [note for note in diagnostic.notes if not note.message.startswith("see current operation")]


def _parsed(location: str, diagnostic: Any) -> ir.Location:
    # The bindings cannot parse a location by itself.
    return ir.Module.parse(f"module {{}} {location}", context=diagnostic.location.context).operation.location


def _brief(message: str) -> str:
    return message.strip().splitlines()[0]


def place(location: Any, file: str) -> SourceLocation | None:
    """The innermost place of a location of MLIR, or None where it tells none; unnamed text is `file`."""
    found = innermost(location)
    if found is None:
        return None
    name = file if found.filename == UNNAMED else str(Path(found.filename))
    return SourceLocation(name, found.start_line, found.start_col)
