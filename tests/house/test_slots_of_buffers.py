"""Passes over tile_gpu look for the channel of a buffer in one place, which knows all operations that return buffers.

A buffer may be a slot, a view of a slot, a staging buffer, a placed tile, or carried by a loop.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import util
from pathlib import Path

# The module that reads the operations that define buffers, and the names of values that are buffers.
READER = "slots.py"
BUFFERS = ("buffer", "slot")


def _modules() -> Iterator[Path]:
    spec = util.find_spec("tilec.lowering.gpu")
    assert spec is not None and spec.submodule_search_locations
    yield from sorted(Path(spec.submodule_search_locations[0]).rglob("*.py"))


def owners_of_buffers(text: str) -> Iterator[int]:
    """The lines that read the operation that defines a buffer."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and node.attr == "owner":
            value = node.value
            name = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
            if name in BUFFERS:
                yield node.lineno


def test_only_one_module_reads_the_operations_that_define_buffers() -> None:
    found = [
        f"{path.name}:{line}: call step_of_buffer or channel_of_buffer of {READER}"
        for path in _modules()
        if path.name != READER
        for line in owners_of_buffers(path.read_text())
    ]
    assert not found, "\n".join(found)


def test_a_line_that_reads_the_owner_of_a_buffer_is_found() -> None:
    text = "def channel(op, slot):\n    a = op.buffer.owner.operands[0]\n    return slot.owner, op.channel.owner\n"
    assert sorted(owners_of_buffers(text)) == [2, 3]
