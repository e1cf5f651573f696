"""The instructions of PTX text with their source lines, operations, roles and blocks, from its comments and labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import PurePath

from tilec.errors import SourceLocation

_FILE = re.compile(r'^\s*\.file\s+(?P<number>\d+)\s+"(?P<name>[^"]*)"')
_LOC = re.compile(r"^\s*\.loc\s+(?P<number>\d+)\s+(?P<line>\d+)\s+(?P<column>\d+)")
_LABEL = re.compile(r"^\s*(\$\w+):")
# Lines of a body that are not instructions: directives, comments, empty lines, the braces of the body.
_NO_INSTRUCTION = re.compile(r"^\s*(\.|//|$)|^[{}]")
# `name  file.py:3 (called at file.py:9)`; operations without a source line have no place.
_COMMENT = re.compile(r"\s*// (?P<name>\S+)?(?:  |^)?(?P<place>\S+:\d+)?(?: \(called at (?P<callers>.*)\))?$")
# The first lane broadcasts the number of the warp, which is compared with the first warp of the following role.
_WARP = re.compile(r"^shfl\.sync\.idx\.b32 (?P<warp>%r\d+), %r\d+, 0, 31, 0xffffffff;")
_COMPARE = re.compile(r"^setp\.lt\.s32 (?P<predicate>%p\d+), (?P<warp>%r\d+), (?P<warps>\d+);")
_BRANCH = re.compile(r"^@!(?P<predicate>%p\d+) bra(?:\.uni)? (?P<label>\$\w+);")
_ROLES_DONE = "$roles_done"


@dataclass(frozen=True)
class PtxLine:
    """An instruction of PTX.

    Attributes:
        number: its first line in the PTX, from 1.
        text: the instruction without its comment; a long one has several lines.
        location: the user's innermost source line.
        callers: the lines that call the function of the location, as `file.py:9`, the innermost first.
        operation: the name of the tile operation that it computes.
        role: the role of the warps that run it; empty if all run it.
        block: the label before it; empty at the start of an entry.
    """

    number: int
    text: str
    location: SourceLocation | None
    callers: tuple[str, ...]
    operation: str
    role: str
    block: str

    def is_of(self, line: int, file: str | None) -> bool:
        """Whether it belongs to a source line or is called from it; `file` is a path, or None for all files."""
        places = [*self.callers]
        if self.location is not None and (file is None or _same_file(self.location.file, file)):
            places.append(f"{PurePath(self.location.file).name}:{self.location.line}")
        if file is None:
            return any(place.endswith(f":{line}") for place in places)
        return f"{PurePath(file).name}:{line}" in places


def _same_file(one: str, other: str) -> bool:
    return PurePath(one).name == PurePath(other).name


def ptx_lines(ptx: str, roles: Sequence[tuple[str, int]] = ()) -> list[PtxLine]:
    """The instructions of PTX that tilec wrote; `roles` are the names and warps of its roles, in their order."""
    statements = list(_statements(ptx))
    named = _role_of_each(statements, roles)
    return [
        PtxLine(each.number, each.text, each.location, each.callers, each.operation, role, each.block)
        for each, role in zip(statements, named, strict=True)
    ]


@dataclass
class _Place:
    """What the marks before a line say about it."""

    location: SourceLocation | None = None
    callers: tuple[str, ...] = ()
    operation: str = ""
    block: str = ""


@dataclass(frozen=True)
class _Statement:
    number: int
    text: str
    location: SourceLocation | None
    callers: tuple[str, ...]
    operation: str
    block: str


def _statements(ptx: str) -> Iterator[_Statement]:
    files: dict[str, str] = {}
    inside, marked, place = False, None, _Place()
    open_lines: list[str] = []
    for number, line in enumerate(ptx.splitlines(), 1):
        if found := _FILE.match(line):
            files[found["number"]] = found["name"]
        elif line.startswith(("{", "}")):
            inside, marked, place = line.startswith("{"), None, _Place()
        elif found := _LOC.match(line):
            marked = SourceLocation(files.get(found["number"], ""), int(found["line"]), int(found["column"]))
        elif found := _LABEL.match(line):
            place.block = found[1]
        elif open_lines or (inside and not _NO_INSTRUCTION.match(line)):
            code, _, comment = line.partition("  // ")
            open_lines.append(code.rstrip())
            if not _is_complete(open_lines):
                continue
            if comment:
                _read_comment(f"// {comment}", marked, place)
            text = "\n".join(each.removeprefix("    ") for each in open_lines)
            first = number - len(open_lines) + 1
            yield _Statement(first, text, place.location, place.callers, place.operation, place.block)
            open_lines = []


def _is_complete(lines: list[str]) -> bool:
    """Whether a statement ends here: at its semicolon, or at the brace that closes its first."""
    if lines[0].strip().startswith("{"):
        return lines[-1].strip().startswith("}")
    return lines[-1].endswith(";")


def _read_comment(comment: str, marked: SourceLocation | None, place: _Place) -> None:
    """Sets the operation and the source line of the instructions from here on."""
    found = _COMMENT.match(comment)
    if found is None:
        return
    place.operation = found["name"] or ""
    place.location = marked if found["place"] else None
    place.callers = tuple(found["callers"].split(", ")) if found["callers"] else ()


def _role_of_each(statements: Sequence[_Statement], roles: Sequence[tuple[str, int]]) -> list[str]:
    """The role of each instruction: the warps of later roles branch to the label at which its code ends."""
    bounds = list(accumulate(warps for _, warps in roles))
    warp = next((shuffle["warp"] for each in statements if (shuffle := _WARP.match(each.text))), "")
    found: list[str] = []
    number, role, end, predicate = 0, "", "", ""
    for statement in statements:
        if role and statement.block == end:
            number += 1
            is_last = number == len(roles) - 1
            role, end = (roles[number][0], _ROLES_DONE) if is_last else ("", "")
        found.append(role)
        if role or number >= len(roles) - 1:
            continue
        compared, branch = _COMPARE.match(statement.text), _BRANCH.match(statement.text)
        if compared and (compared["warp"], int(compared["warps"])) == (warp, bounds[number]):
            predicate = compared["predicate"]
        elif branch and predicate and branch["predicate"] == predicate:
            role, end, predicate = roles[number][0], branch["label"], ""
    return found
