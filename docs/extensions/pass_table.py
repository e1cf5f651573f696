"""The tables of passes and of heuristics in dialect/tile_gpu/README.md: `python docs/extensions/pass_table.py`."""

from __future__ import annotations

from tilec.lowering.gpu.kernel_pass import KernelPass
from tilec.lowering.gpu.pass_records import RECORDS
from tilec.lowering.gpu.schedule.schedule_loops import HEURISTICS

_HEAD = "| {} | guarantees afterwards | without it | needs | off with | of the unit |\n|---|---|---|---|---|---|\n"


def pass_table() -> str:
    """The table of the passes in Markdown."""
    return _HEAD.format("pass") + "".join(map(_row, RECORDS))


def heuristic_table() -> str:
    """The table of the heuristics of schedule-loops in Markdown."""
    return _HEAD.format("heuristic") + "".join(map(_row, HEURISTICS.values()))


def _row(record: KernelPass) -> str:
    states = ", ".join(state.name.lower() for state in record.needs)
    option = f"`{record.option}=off`" if record.option else ""
    unit = f"`{record.unit}`" if record.unit else ""
    return f"| `{record.name}` | {record.guarantees} | {record.without} | {states} | {option} | {unit} |\n"


if __name__ == "__main__":
    print(pass_table(), heuristic_table(), sep="\n", end="")
