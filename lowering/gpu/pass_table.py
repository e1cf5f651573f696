"""The table of the passes in dialect/tile_gpu/README.md: `python -m tilec.lowering.gpu.pass_table` prints it."""

from __future__ import annotations

from tilec.lowering.gpu.kernel_pass import KernelPass
from tilec.lowering.gpu.pass_records import RECORDS

_HEAD = "| pass | guarantees afterwards | without it | needs | off with | of the unit |\n|---|---|---|---|---|---|\n"


def pass_table() -> str:
    """The table in Markdown."""
    return _HEAD + "".join(map(_row, RECORDS))


def _row(record: KernelPass) -> str:
    states = ", ".join(state.name.lower() for state in record.needs)
    option = f"`{record.option}=off`" if record.option else ""
    unit = f"`{record.unit}`" if record.unit else ""
    return f"| `{record.name}` | {record.guarantees} | {record.without} | {states} | {option} | {unit} |\n"


if __name__ == "__main__":
    print(pass_table(), end="")
