"""The PTX and the machine code of a source line, and the source line of an instruction of PTX."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeVar

from tilec.dialect.tile_gpu.operations.kernel import RolesOp
from tilec.dialect.walk import operations_named
from tilec.errors import SourceLocation, UsageError
from tilec.explain.machine_code import MachineLine
from tilec.explain.ptx_lines import PtxLine, ptx_lines

if TYPE_CHECKING:
    from tilec.driver.compiled import Compiled

_L = TypeVar("_L")
_K = TypeVar("_K")

_ALL_WARPS = "all warps"
_START = "the start of the kernel"


@dataclass(frozen=True)
class SourceLineCode:
    """What a source line became.

    Attributes:
        location: the line.
        ptx: its instructions of PTX, in order.
        machine_code: its instructions of machine code, in order; None without a disassembler.
    """

    location: SourceLocation
    ptx: tuple[PtxLine, ...]
    machine_code: tuple[MachineLine, ...] | None

    def text(self) -> str:
        """The line, then its PTX by role and block with line numbers, and its machine code by block with addresses."""
        operations = ", ".join(dict.fromkeys(line.operation for line in self.ptx if line.operation))
        return "\n".join([f"{self.location}: {operations}", self.location.excerpt(), *self._ptx(), *self._machine()])

    def _ptx(self) -> Iterator[str]:
        for (role, block), lines in _groups(self.ptx, lambda line: (line.role, line.block)):
            yield f"\nPTX, {_warps(role)}, {block or _START}"
            for line in lines:
                first, *rest = line.text.split("\n")
                yield from (f"{line.number:>6}  {first}", *(f"{'':8}{each}" for each in rest))

    def _machine(self) -> Iterator[str]:
        for block, lines in _groups(self.machine_code or (), lambda line: line.block):
            yield f"\nmachine code, {block or _START}"
            yield from (f"{line.address:>#6x}  {line.text}" for line in lines)

    def fields(self) -> dict[str, Any]:
        """The same as JSON."""
        machine = None if self.machine_code is None else [_machine_fields(line) for line in self.machine_code]
        return {
            "location": _location_fields(self.location),
            "ptx": [_ptx_fields(line) for line in self.ptx],
            "machine_code": machine,
        }


@dataclass(frozen=True)
class PtxLineSource:
    """The source of an instruction of PTX."""

    line: PtxLine

    def text(self) -> str:
        """The instruction, its operation, role and block, and its source line with the calls around it."""
        line = self.line
        where = f"{line.operation or 'no operation'}, {_warps(line.role)}, {line.block or _START}"
        parts = [f"PTX {line.number}: {line.text}", f"{line.location or 'no source line'}: {where}"]
        if line.location is not None:
            parts.append(line.location.excerpt())
        return "\n".join([*filter(None, parts), *(f"called at {caller}" for caller in line.callers)])

    def fields(self) -> dict[str, Any]:
        """The same as JSON; `source` is the text of the line."""
        place = self.line.location
        source = linecache.getline(place.file, place.line).strip() if place is not None else None
        return {"location": _location_fields(place), "source": source, "instruction": _ptx_fields(self.line)}


def code_of_line(
    compiled: Compiled, line: int, file: str | None, machine_code: Sequence[MachineLine] | None
) -> SourceLineCode:
    """What a line of a file became; raises UsageError with the nearest lines that have code if it has none."""
    lines = _ptx_of(compiled)
    found = tuple(each for each in lines if each.is_of(line, file))
    if not found:
        raise UsageError(_no_code(lines, line, file))
    place = next((each.location for each in found if each.location and each.location.line == line), None)
    path = place.file if place is not None else file or compiled.source.name
    machine = None if machine_code is None else tuple(each for each in machine_code if each.is_of(line, file))
    return SourceLineCode(SourceLocation(path, line), found, machine)


def source_of_ptx(compiled: Compiled, number: int) -> PtxLineSource:
    """The source of a line of the PTX; raises UsageError with the nearest instruction if it is in none."""
    lines = _ptx_of(compiled)
    found = next(
        (each for each in lines if number in range(each.number, each.number + each.text.count("\n") + 1)), None
    )
    if found is None:
        nearest = min(lines, key=lambda each: abs(each.number - number)).number
        raise UsageError(f"line {number} of the PTX is not an instruction: the nearest one is line {nearest}")
    return PtxLineSource(found)


def _ptx_of(compiled: Compiled) -> list[PtxLine]:
    gpu = compiled.stage("gpu")
    roles = operations_named(gpu.value, (RolesOp.OPERATION_NAME,)) if gpu is not None else ()
    names = [(name.value, warps) for found in roles for name, warps in zip(found.names, found.warps, strict=True)]
    return ptx_lines(compiled.ptx, names)


def _no_code(lines: Sequence[PtxLine], line: int, file: str | None) -> str:
    places = [each.location for each in lines if each.location is not None]
    name = PurePath(file).name if file is not None else "the source"
    of_file = {place.line for place in places if file is None or PurePath(place.file).name == name}
    if not of_file:
        files = ", ".join(sorted({place.file for place in places})) or "none"
        return f"no instruction comes from {name}: files with code: {files}"
    before = max((each for each in of_file if each < line), default=None)
    after = min((each for each in of_file if each > line), default=None)
    nearest = " and ".join(str(each) for each in (before, after) if each is not None)
    return f"line {line} of {name} has no instructions of its own: the nearest lines that have are {nearest}"


def _warps(role: str) -> str:
    return f"role {role}" if role else _ALL_WARPS


def _groups(lines: Iterable[_L], key: Callable[[_L], _K]) -> Iterator[tuple[_K, list[_L]]]:
    """The runs of lines with one key."""
    for found, group in groupby(lines, key):
        yield found, list(group)


def _ptx_fields(line: PtxLine) -> dict[str, Any]:
    return {
        "line": line.number,
        "text": line.text,
        "operation": line.operation or None,
        "role": line.role or None,
        "block": line.block or None,
        "callers": list(line.callers),
    }


def _machine_fields(line: MachineLine) -> dict[str, Any]:
    return {"address": line.address, "text": line.text, "block": line.block or None}


def _location_fields(place: SourceLocation | None) -> dict[str, Any] | None:
    return None if place is None else {"file": place.file, "line": place.line, "column": place.column}
