"""Each operation of Tile IR is read, verified and printed unchanged, in assembly and in generic form."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilec.dialect.mlir import context, ir
from tilec.dialect.operation import OPERATIONS
from tilec.text_input.module import Module

FILES = sorted((Path(__file__).parent / "assembly").glob("*.mlir"))
files = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


@files
def test_assembly_is_printed_unchanged(path: Path) -> None:
    assert Module.read(path).to_text() == path.read_text()


@files
def test_generic_form_round_trip(path: Path) -> None:
    generic = Module.read(path).to_text(generic=True)
    assert "cuda_tile.module" not in generic
    assert Module.parse(generic).to_text() == path.read_text()


@files
def test_locations_round_trip(path: Path) -> None:
    module = Module.read(path)
    again = Module.parse(module.to_text(locations=True), "elsewhere.mlir")
    with context():
        kept, expected = (each.ir.operation.get_asm(enable_debug_info=True) for each in (again, module))
    assert kept == expected
    assert "elsewhere.mlir" not in kept


def test_every_operation_has_a_round_trip() -> None:
    seen: set[str] = set()

    def visit(operation: ir.Operation) -> ir.WalkResult:
        seen.add(operation.name)
        return ir.WalkResult.ADVANCE

    for path in FILES:
        Module.read(path).ir.operation.walk(visit)
    assert {name for name in OPERATIONS if name.startswith("cuda_tile.")} <= seen
    # The operations of Tile IR 13.5 without `module`, which is an MLIR module, and one preview operation.
    assert len([name for name in OPERATIONS if name.startswith("cuda_tile.")]) == 108
