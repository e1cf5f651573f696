"""Names of blocks: those given by the builder, otherwise derived from the control flow."""

from __future__ import annotations

import re

from tilec.lowering.ptx.flow import Flow
from tilec.lowering.ptx.program import Program


def block_labels(program: Program, flow: Flow) -> list[str]:
    """A unique label for each block, such as `$loop_head` or `$block_3`."""
    requested = [""] * len(program.blocks)
    for number in flow.order:
        end = program.blocks[number].end
        for target, label in zip(end.targets, end.labels, strict=False):
            requested[target] = requested[target] or label
    taken: set[str] = set()
    names = [re.sub(r"\W", "_", name, flags=re.ASCII) for name in requested]
    return [_unique(f"${name or _default_name(number, flow)}", taken) for number, name in enumerate(names)]


def _default_name(number: int, flow: Flow) -> str:
    return f"loop_{number}" if number in flow.heads else f"block_{number}"


def _unique(label: str, taken: set[str]) -> str:
    found, count = label, 1
    while found in taken:
        count += 1
        found = f"{label}_{count}"
    taken.add(found)
    return found
