"""The lines of a stage's text, each with the source location that it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilec.errors import SourceLocation

if TYPE_CHECKING:
    from tilec.driver.compile_result import StageResult


@dataclass(frozen=True)
class Line:
    """A line of a stage's text without its `loc(...)`, and the source location of its operation, if it has one."""

    text: str
    location: SourceLocation | None = None


# An alias of a location or of debug information, which may continue on indented lines: #loc1 = ..., #di_file = ...
_ALIAS = re.compile(r"^#(?P<name>loc\d*|di_\w+) = (?P<value>.*(?:\n[ \t]+.*)*)\n?", re.MULTILINE)
_USE = re.compile(r" loc\((?P<location>#loc\d*|unknown)\)")
# The first position in the text of a location is the innermost one, because a call site names the callee first.
_POSITION = re.compile(r'"(?P<file>(?:[^"\\]|\\.)*)":(?P<line>\d+):(?P<column>\d+)|#(?P<alias>loc\d*)')
_PTX_FILE = re.compile(r'^\s*\.file\s+(?P<index>\d+)\s+"(?P<file>[^"]*)"')
_PTX_LOCATION = re.compile(r"^\s*\.loc\s+(?P<index>\d+)\s+(?P<line>\d+)\s+(?P<column>\d+)")


def lines_of(result: StageResult) -> list[Line]:
    """The lines of a stage; those of PTX without `.loc`, those of the cubin are none."""
    if result.name == "cubin":
        return []
    return list(_ptx_lines(result.text) if result.name == "ptx" else _module_lines(result.located_text))


def _module_lines(text: str) -> Iterator[Line]:
    aliases = {found["name"]: found["value"] for found in _ALIAS.finditer(text)}
    body = _ALIAS.sub("", text).rstrip("\n")
    for line in body.split("\n"):
        uses = _USE.findall(line)
        yield Line(_USE.sub("", line), _resolve(uses[-1], aliases) if uses else None)


def _resolve(location: str, aliases: dict[str, str]) -> SourceLocation | None:
    for found in _POSITION.finditer(location):
        if found["alias"] is None:
            return SourceLocation(found["file"], int(found["line"]), int(found["column"]))
        nested = _resolve(aliases.get(found["alias"], ""), aliases)
        if nested is not None:
            return nested
    return None


def _ptx_lines(text: str) -> Iterator[Line]:
    files: dict[str, str] = {}
    location: SourceLocation | None = None
    for line in text.rstrip("\n").split("\n"):
        if declared := _PTX_FILE.match(line):
            files[declared["index"]] = declared["file"]
        if line.startswith("}"):
            location = None
        if found := _PTX_LOCATION.match(line):
            file = files.get(found["index"], "")
            location = SourceLocation(file, int(found["line"]), int(found["column"])) if file else None
            continue
        yield Line(line, location)
