"""The tables of passes and of heuristics in dialect/tile_gpu/README.md: `python docs/extensions/pass_table.py`.

The words of a pass stand in the README alone; the order and the other columns are those of the records.
"""

from __future__ import annotations

import re
from pathlib import Path

import tilec
from tilec.lowering.gpu.kernel_pass import KernelPass
from tilec.lowering.gpu.pass_records import RECORDS
from tilec.lowering.gpu.schedule.schedule_loops import HEURISTICS

README = Path(tilec.__file__).parent / "dialect" / "tile_gpu" / "README.md"
_HEAD = "| {} | guarantees afterwards | without it | needs | off with | of the unit |\n|---|---|---|---|---|---|\n"
_WORDS = re.compile(r"^\| `([a-z-]+)` \| ([^|]+) \| ([^|]+) \|(?:[^|]*\|){3}$", re.MULTILINE)


def pass_words() -> dict[str, tuple[str, str]]:
    """By the name of a pass, the properties of a kernel after it, and the kernel without it, which is correct too."""
    return {name: (guarantees, without) for name, guarantees, without in _WORDS.findall(README.read_text())}


def pass_table() -> str:
    """The table of the passes in Markdown."""
    return _HEAD.format("pass") + "".join(map(_row, RECORDS))


def heuristic_table() -> str:
    """The table of the heuristics of schedule-loops in Markdown."""
    return _HEAD.format("heuristic") + "".join(map(_row, HEURISTICS.values()))


def _row(record: KernelPass) -> str:
    guarantees, without = pass_words()[record.name]
    states = ", ".join(state.name.lower() for state in record.needs)
    option = f"`{record.option}=off`" if record.option else ""
    unit = f"`{record.unit}`" if record.unit else ""
    return f"| `{record.name}` | {guarantees} | {without} | {states} | {option} | {unit} |\n"


if __name__ == "__main__":
    print(pass_table(), heuristic_table(), sep="\n", end="")
