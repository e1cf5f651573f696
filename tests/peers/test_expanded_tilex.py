"""tileiras compiles modules after the pass expand-tilex: tensor views whose rows overlap are Tile IR."""

from __future__ import annotations

from pathlib import Path

import pytest
from im2col_accesses import random_case
from tile_tools import compiled

from tilec.lowering.tile.passes import DEFAULT, run
from tilec.runtime.interpret.evaluate import evaluate
from tilec.text_input.module import Module

pytestmark = pytest.mark.peers


@pytest.mark.parametrize("gpu", ["sm_90", "sm_100"])
@pytest.mark.parametrize("seed", range(8))
def test_tileiras_compiles_expanded_accesses(seed: int, gpu: str, tmp_path: Path) -> None:
    case = random_case(seed)
    for text in (case.loads(), case.stores((0,) * len(case.window)), case.shapes()):
        module = Module.parse(text)
        run(module.ir, ("expand-tilex", *DEFAULT), evaluate=evaluate)
        compiled(module.to_bytecode(), gpu, tmp_path)
