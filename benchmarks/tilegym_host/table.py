"""The table of TileGym's kernels as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tilegym_host.kernel_records import KernelRecord

# The instructions of PTX that show a unit, in the order of their speed.
_UNITS = {"tcgen05": r"\btcgen05\.mma", "wgmma": r"\bwgmma\.mma_async", "mma.sync": r"\bmma\.sync"}
_TMA = {
    "loads": r"cp\.async\.bulk\.tensor\S*\.shared::\w+\.global",
    "stores": r"cp\.(?:reduce\.)?async\.bulk\.tensor\S*\.global\.shared",
}
_ELEMENTS = re.compile(r"\b(?:f|bf|tf|i|u)\d+\w*(?=\[)")
_CONSTANT = re.compile(r"(\w+)=(-?[\w.]+)")
_HEADER = (
    "kernel", "target", "types, tiles and hints", "compiles", "right", "unit", "TMA", "not by TMA", "LDL+STL",
    "share", "bound", "tilec s", "tileiras s", "tileiras LDL+STL",
)  # fmt: skip
_INTRODUCTION = (
    "TileGym's own tests ran in the simulator, with shrunk sizes and the first configuration of each search.",
    "",
    "- `right`: the tests that launched the kernel and passed with TileGym's tolerances.",
    "- All other columns have figures of the kernel's first launch. A dash stands for a figure that was not measured.",
    "- `unit` and `TMA`: the instructions in the PTX. `not by TMA`: the numbers of the reasons that are listed below.",
    "- `LDL+STL`: loads and stores of local memory in the machine code: spills, and arrays of divisions outside of the",
    "  fast range.",
    "- `share`: the modelled part of the main loop's time in which the tensor pipe multiplies, or in which HBM",
    "  transfers if nothing multiplies.",
    "- `bound`: the unit with the most work.",
    "- `tilec s` and `tileiras s`: seconds for the same bytecode. tilec compiles in warm processes, tileiras in a new",
    "  process each time. The machine had much other work, so that only their ratio counts.",
)


@dataclass
class KernelRow:
    """A kernel on a target; `figures` are those of its first launch, empty if it was refused."""

    kernel: str
    target: str
    record: KernelRecord
    figures: dict[str, Any] = field(default_factory=dict)


class _Notes:
    """Numbers the texts that many rows have in common."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers) + 1)


def document(rows: Sequence[KernelRow], versions: dict[str, str], revision: str) -> str:
    """The page: what it shows, a summary per target, the table, and the texts that its numbers stand for."""
    notes = _Notes()
    lines = [_line(_HEADER), _line(["---"] * len(_HEADER)), *(_line(_cells(row, notes)) for row in rows)]
    return "\n".join(
        [
            "# Kernels of TileGym",
            "",
            f"Made by `python benchmarks/tilegym_kernels.py`: TileGym {revision}, tilec {versions['tilec']} with ptxas "
            f"{versions['ptxas']}, tileiras {versions['tileiras']}. No GPU took part.",
            "",
            *_INTRODUCTION,
            "",
            *_summary(rows),
            "",
            *lines,
            "",
            "## Reasons and messages",
            "",
            *(f"{number}. {text}" for text, number in notes.numbers.items()),
            "",
        ]
    )


def _summary(rows: Sequence[KernelRow]) -> Iterator[str]:
    for target in dict.fromkeys(row.target for row in rows):
        own = [row for row in rows if row.target == target]
        signatures = sum(row.record.signatures for row in own)
        refused = sum(len(row.record.refused) for row in own)
        wrong = sum(bool(row.record.failed) for row in own)
        yield (
            f"- `{target}`: {len(own)} kernels, {signatures} signatures, {refused} of them refused; {wrong} kernels in "
            "tests that failed."
        )


def _cells(row: KernelRow, notes: _Notes) -> list[str]:
    record, figures = row.record, row.figures
    first = [f"`{row.kernel.replace('.py:', '.').rpartition('/')[2]}`", row.target, _configuration(record)]
    error = record.error or figures.get("error", "")
    compiled = f"no: {notes.number(_message(error))}" if error else "yes"
    if record.refused and not error:
        count = record.signatures - len(record.refused)
        compiled = f"{count} of {record.signatures}: {notes.number(_message(record.refused[0]))}"
    launched = record.passed + len(record.failed)
    right = f"{record.passed} of {launched}"
    if record.failed:
        right += f": {notes.number(_message(record.failed[0]))}"
    if error:
        return [*first, compiled, right, *["-"] * 9]
    return [*first, compiled, right, *_figures(figures, notes)]


def _figures(figures: dict[str, Any], notes: _Notes) -> list[str]:
    ptx, model = figures["ptx"], figures["model"]
    units = [name for name, pattern in _UNITS.items() if re.search(pattern, ptx)]
    tma = [f"{count} {name}" for name, pattern in _TMA.items() if (count := len(re.findall(pattern, ptx)))]
    reasons = dict.fromkeys(message.partition(": ")[2] for topic, message in figures["remarks"] if topic == "tma")
    share = (model["tensor_share"] or model["memory_share"]) if model else None
    return [
        " ".join(units) or "-",
        ", ".join(tma) or "-",
        " ".join(str(notes.number(reason)) for reason in reasons) or "-",
        _spills(figures["counts"]),
        f"{share:.2f}" if share is not None else "-",
        model["bound"] if model else "-",
        f"{figures['seconds']:.2f}",
        _tileiras(figures, notes),
        _spills(figures["tileiras_counts"]) if "tileiras_counts" in figures else "-",
    ]


def _spills(counts: dict[str, int]) -> str:
    return f"{counts.get('ldl', 0)}+{counts.get('stl', 0)}"


def _tileiras(figures: dict[str, Any], notes: _Notes) -> str:
    if "tileiras_error" in figures:
        return f"no: {notes.number(_message(figures['tileiras_error']))}"
    return f"{figures['tileiras_seconds']:.2f}" if "tileiras_seconds" in figures else "-"


def _configuration(record: KernelRecord) -> str:
    """The element types of the arrays, and the integer constants and hints."""
    types = " ".join(dict.fromkeys(_ELEMENTS.findall(record.signature)))
    found = _CONSTANT.findall(record.signature)
    constants = [f"{name}={value}" for name, value in found if value.lstrip("-").isdigit()]
    hints = [f"{name}={value}" for name, value in record.hints.items()]
    return ", ".join([types, *constants, *hints])


def _message(error: str) -> str:
    """The first line of an error without its place."""
    return error.strip().splitlines()[0].partition("error: ")[2] or error.strip().splitlines()[0]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
