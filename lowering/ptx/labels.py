"""Names of blocks: what the builder called them, else their place in the control flow."""

from __future__ import annotations

import re

from tilec.lowering.ptx.flow import Flow
from tilec.lowering.ptx.program import Program


def block_labels(program: Program, flow: Flow) -> list[str]:
    """A label for each block, `$loop_head` or `$block_3`, without doubles."""
    wished = [""] * len(program.blocks)
    for number in flow.order:
        end = program.blocks[number].end
        for target, label in zip(end.targets, end.labels, strict=False):
            wished[target] = wished[target] or label
    taken: set[str] = set()
    words = [re.sub(r"\W", "_", wish, flags=re.ASCII) or _place(number, flow) for number, wish in enumerate(wished)]
    return [_free(f"${word}", taken) for word in words]


def _place(number: int, flow: Flow) -> str:
    return f"loop_{number}" if number in flow.heads else f"block_{number}"


def _free(label: str, taken: set[str]) -> str:
    found, count = label, 1
    while found in taken:
        count += 1
        found = f"{label}_{count}"
    taken.add(found)
    return found
