"""Diagnostics name the function that a Python kernel calls, and the operation of Tile IR input."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilec
from tilec.dialect.location import source_location
from tilec.dialect.walk import operations_below
from tilec.lowering.tile_to_gpu.access.operation_name import operation_name

KERNEL = """\
import tilec as ct

@ct.kernel
def kernel(x, y, b):
    tile = ct.load(x, (0,), (16,))
    bytes = ct.load(b, (0, 0), (16, 32))
    {statement}
"""
STATEMENTS = {
    "ct.assert_": "ct.assert_(ct.bid(0) < 4)",
    "ct.insert": "ct.store(x, (0,), ct.insert(tile, (0,), ct.zeros((4,), ct.float32)))",
    "ct.mma": "ct.store(y, (0,), ct.reshape(ct.mma(bytes, ct.transpose(bytes), ct.zeros((16, 16), ct.int32)), (256,)))",
    "print": "print(tile)",
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_python_kernels_are_named_by_their_function(name: str, tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL.format(statement=STATEMENTS[name]))
    compiled = tilec.compile(path, signature="x: f32[?], y: i32[?], b: i8[?, ?]", stop="tile")
    tile = compiled.stage("tile")
    assert tile is not None
    operations = list(operations_below(tile.value.body.operations[0]))
    lines = [source_location(op.operation.location) for op in operations]
    statement = [op for op, at in zip(operations, lines, strict=True) if at is not None and at.line == 7]
    assert name in map(operation_name, statement)


def test_tile_ir_keeps_the_name_of_the_operation() -> None:
    module = tilec.Module.parse("entry @kernel() { %t = gdc_wait_tko -> token return }")
    names = [operation_name(op) for op in operations_below(module.ir.body.operations[0])]
    assert "cuda_tile.gdc_wait_tko" in names
