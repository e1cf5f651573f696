"""The example of dialect/ptx/README.md shows the emitted text."""

from __future__ import annotations

import re
from importlib.resources import files

from tilec.dialect.mlir import ir
from tilec.lowering.ptx.emit import emit


def test_example(module: ir.Module) -> None:
    text = (files("tilec.dialect.ptx") / "README.md").read_text()
    (given,) = re.findall(r"```mlir\n(.*?)```", text, re.DOTALL)
    (expected,) = re.findall(r"```ptx\n(.*?)```", text, re.DOTALL)
    assert emit(ir.Module.parse(given)) == expected
