"""Remarks from the diagnostics of ptxas: register spills, and instructions that it serialized."""

from __future__ import annotations

import re

from tilec.errors import SourceLocation
from tilec.remarks import Remark
from tilec.runtime.cubin.cubin_image import SERIALIZED, Cubin

_LINE = re.compile(r"\bline (\d+)")
_LOCATION = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]+)"', re.MULTILINE)

# What avoids a message, by its number.
_ADVICE = dict.fromkeys(
    ("(C7504)", SERIALIZED), ". nvJitLink compiles relocatable code: install ptxas (pip install tilec[ptxas])"
)


def cubin_remarks(cubin: Cubin, ptx: str) -> list[Remark]:
    """A remark for spills, located at the kernel, and one for each warning of ptxas, at its source line."""
    found = []
    lines = ptx.splitlines()
    files = dict(_FILE.findall(ptx))
    if cubin.spill_bytes:
        message = f"{cubin.registers} registers per thread, {cubin.spill_bytes} bytes spilled: use smaller tiles"
        found.append(Remark("registers", message, _first_location(lines, files)))
    for warning in cubin.warnings:
        match = _LINE.search(warning)
        location = _location_before(lines, int(match[1]), files) if match else _first_location(lines, files)
        found.append(Remark("registers", f"ptxas: {_with_advice(warning)}", location))
    return found


def _with_advice(warning: str) -> str:
    advice = _ADVICE.get(warning[:7])
    return warning if advice is None else warning.rstrip(".") + advice


def _first_location(lines: list[str], files: dict[str, str]) -> SourceLocation | None:
    return next((location for line in lines if (location := _location(line, files)) is not None), None)


def _location_before(lines: list[str], number: int, files: dict[str, str]) -> SourceLocation | None:
    """The source location of a line of PTX: that of the nearest .loc directive before it."""
    before = (_location(line, files) for line in reversed(lines[:number]))
    return next((location for location in before if location is not None), None)


def _location(line: str, files: dict[str, str]) -> SourceLocation | None:
    match = _LOCATION.match(line)
    return SourceLocation(files[match[1]], int(match[2]), int(match[3])) if match and match[1] in files else None
