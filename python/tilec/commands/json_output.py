"""The option --json of every command: its result or its error as one JSON object on stdout (docs/formats/json.md)."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from tilec.errors import Note, SourceLocation, TilecError
from tilec.remarks import Remark

# The version of the fields; it is incremented when a field is removed or changes its meaning, not when one is added.
VERSION = 1


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the option --json."""
    parser.add_argument(
        "--json", action="store_true", help="print the result or the error as JSON (docs/formats/json.md)"
    )


def write(command: str, fields: Mapping[str, Any]) -> None:
    """Prints the result of a command; the first field names its form."""
    json.dump({"schema": f"tilec.{command}/{VERSION}", **fields}, sys.stdout, indent=2)
    sys.stdout.write("\n")


def write_error(error: TilecError) -> None:
    """Prints an error of a command."""
    write("error", {"kind": type(error).__name__, **_message(error), "notes": list(map(_message, error.notes))})


def remarks(found: Iterable[Remark]) -> list[dict[str, Any]]:
    """Remarks as JSON."""
    return [{"topic": remark.topic, "percent": _rounded(remark.percent), **_message(remark)} for remark in found]


def _rounded(percent: float | None) -> float | None:
    return None if percent is None else round(percent, 1)


def _message(item: TilecError | Note | Remark) -> dict[str, Any]:
    return {"message": item.message, "location": location(item.location)}


def location(place: SourceLocation | None) -> dict[str, Any] | None:
    """A source location as JSON; column 0 is unknown."""
    return None if place is None else {"file": place.file, "line": place.line, "column": place.column}
