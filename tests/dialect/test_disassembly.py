"""Output of NVIDIA's disassembler (tileirdisasm 13.5) is read, verified, and printed unchanged.

`disassembly/` has its output for six kernels, without an enclosing module; `located.mlir` is printed with `-g`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tilec.text_input.module import Module

FOLDER = Path(__file__).parent / "disassembly"
KERNELS = sorted(path for path in FOLDER.glob("*.mlir") if path.stem != "located")


def bare(text: str) -> list[str]:
    """The lines inside the module without indentation, as the disassembler prints them."""
    return [line[2:].rstrip() for line in text.splitlines()[1:-1]]


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_text_is_printed_unchanged(path: Path) -> None:
    assert bare(Module.read(path).to_text()) == path.read_text().splitlines()


def test_debug_info_becomes_locations() -> None:
    module = Module.read(FOLDER / "located.mlir")
    (entry,) = module.ir.body.operations
    operations = list(entry.body.blocks[0].operations)
    assert '"kernels.py":12:' in str(operations[0].location)
    # The disassembler prints no location for the return.
    assert all('"kernels.py":' in str(operation.location) for operation in operations[:-1])
    assert bare(module.to_text()) == bare(Module.read(FOLDER / "matmul.mlir").to_text())


def test_locations_with_scopes_round_trip() -> None:
    module = Module.read(FOLDER / "located.mlir")
    again = Module.parse(module.to_text(locations=True))
    (before,), (after,) = module.ir.body.operations, again.ir.body.operations
    assert str(before.location) == str(after.location)
    pairs = zip(before.body.blocks[0].operations, after.body.blocks[0].operations, strict=True)
    assert all(str(first.location) == str(second.location) for first, second in pairs)
