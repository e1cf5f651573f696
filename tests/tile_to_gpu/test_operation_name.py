"""Diagnostics name the function that a Python kernel calls, and the operation of Tile IR input."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilec
from tilec.errors import UnsupportedError

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
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_python_kernels_are_named_by_their_function(name: str, tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL.format(statement=STATEMENTS[name]))
    with pytest.raises(UnsupportedError, match=f"'{name}' cannot be compiled for sm_100a") as raised:
        tilec.compile(path, signature="x: f32[?], y: i32[?], b: i8[?, ?]", target="sm_100a", stop="ptx")
    assert raised.value.location is not None and raised.value.location.line == 7


def test_tile_ir_keeps_the_name_of_the_operation(tmp_path: Path) -> None:
    path = tmp_path / "kernel.mlir"
    path.write_text("cuda_tile.module @kernels { entry @kernel() { %t = gdc_wait_tko -> token return } }")
    with pytest.raises(UnsupportedError, match="'cuda_tile.gdc_wait_tko' cannot be compiled for sm_100a"):
        tilec.compile(path, target="sm_100a", stop="ptx")
