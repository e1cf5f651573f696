"""tileiras compiles modules after the pass expand-tilex: views of rows that overlap, and accesses of bytes."""

from __future__ import annotations

from pathlib import Path

import interleaved_accesses
import packed_accesses
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
        assert_compiled(text, gpu, tmp_path)


@pytest.mark.parametrize("gpu", ["sm_90", "sm_100"])
@pytest.mark.parametrize("seed", range(4))
def test_tileiras_compiles_expanded_packed_views(seed: int, gpu: str, tmp_path: Path) -> None:
    case = packed_accesses.random_case(seed)
    for text in (case.loads(), case.stores(), case.shapes()):
        assert_compiled(text, gpu, tmp_path)


@pytest.mark.parametrize("gpu", ["sm_90", "sm_100"])
@pytest.mark.parametrize("seed", range(4))
def test_tileiras_compiles_expanded_views_of_slices(seed: int, gpu: str, tmp_path: Path) -> None:
    case = interleaved_accesses.random_case(seed)
    for text in (case.tensor.loads(), case.tensor.stores((0,) * len(case.case.window)), case.tensor.shapes()):
        assert_compiled(text, gpu, tmp_path)


def assert_compiled(text: str, gpu: str, folder: Path) -> None:
    module = Module.parse(text)
    run(module.ir, ("expand-tilex", *DEFAULT), evaluate=evaluate)
    compiled(module.to_bytecode(), gpu, folder)
