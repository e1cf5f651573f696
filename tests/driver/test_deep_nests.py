"""Branches nested to the maximum depth that the readers accept are compiled by all stages."""

from __future__ import annotations

import numpy as np
import pytest

import tilec
from tilec.driver import opt_passes as passes
from tilec.text_input.module import Module

# The maximum depth of the readers (tests/dialect/test_hostile_text.py); NVIDIA's disassembler accepts it too.
DEPTH = 500
NEST = f"""cuda_tile.module @kernels {{
  entry @kernel(%pointer: tile<ptr<i32>>, %is_set: tile<i1>) {{
    {"if %is_set { " * DEPTH}
      %seven = constant <i32: 7> : tile<i32>
      %stored = store_ptr_tko weak %pointer, %seven : tile<ptr<i32>>, tile<i32> -> token
    {"} " * DEPTH}
    return
  }}
}}
"""


def test_text_and_bytecode_round_trip() -> None:
    module = Module.parse(NEST)
    assert Module.parse(module.to_text()).to_text() == module.to_text()
    assert Module.parse(module.to_bytecode()).to_text() == module.to_text()
    assert Module.parse(module.to_text(generic=True)).to_text() == module.to_text()


@pytest.mark.parametrize("name", [name for name, each in passes.PASSES.items() if each.level == "tile"])
def test_each_pass_keeps_the_module_valid(name: str) -> None:
    Module(passes.optimise(NEST, [name], "sm_100a")).verify()


@pytest.mark.parametrize("backend", ["interpret", "simulate"])
@pytest.mark.parametrize("is_set", [True, False])
def test_backends_execute_the_innermost_branch(backend: str, is_set: bool) -> None:
    memory = np.zeros(1, np.int32)
    tilec.run(Module.parse(NEST), 1, [memory, is_set], backend=backend)
    assert memory[0] == (7 if is_set else 0)
