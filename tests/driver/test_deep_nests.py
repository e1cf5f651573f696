"""Branches nested as deep as the readers take them compile through all stages."""

from __future__ import annotations

import numpy as np
import pytest

import tilec
from tilec.driver import opt_passes as passes
from tilec.text_input.module import Module

# NVIDIA's disassembler takes them too; readers refuse more (tests/dialect/test_hostile_text.py).
DEPTH = 500
NEST = f"""cuda_tile.module @kernels {{
  entry @kernel(%place: tile<ptr<i32>>, %is_set: tile<i1>) {{
    {"if %is_set { " * DEPTH}
      %seven = constant <i32: 7> : tile<i32>
      %stored = store_ptr_tko weak %place, %seven : tile<ptr<i32>>, tile<i32> -> token
    {"} " * DEPTH}
    return
  }}
}}
"""


def test_text_and_bytecode() -> None:
    module = Module.parse(NEST)
    assert Module.parse(module.to_text()).to_text() == module.to_text()
    assert Module.parse(module.to_bytecode()).to_text() == module.to_text()
    assert Module.parse(module.to_text(generic=True)).to_text() == module.to_text()


@pytest.mark.parametrize("name", [name for name, one in passes.PASSES.items() if one.level == "tile"])
def test_passes(name: str) -> None:
    Module(passes.optimise(NEST, [name], "sm_100a")).verify()


@pytest.mark.parametrize("backend", ["interpret", "simulate"])
@pytest.mark.parametrize("is_set", [True, False])
def test_runs(backend: str, is_set: bool) -> None:
    place = np.zeros(1, np.int32)
    tilec.run(Module.parse(NEST), 1, [place, is_set], backend=backend)
    assert place[0] == (7 if is_set else 0)
