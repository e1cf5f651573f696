"""TMA copies the slices of kernels whose Tile IR is from cuTile's front end, with the hint slices_in_bounds."""

from __future__ import annotations

import re

import pytest
from sheet.case import SLICES, TARGETS, Case
from sheet.cases import CASES
from sheet.compilers import bytecode

import tilec

pytestmark = pytest.mark.peers


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", [case for case in CASES if case.hints == SLICES], ids=lambda case: case.name)
def test_tma_copies_all_tiles_of_slices(case: Case, target: str) -> None:
    compiled = tilec.compile(bytecode(case), target=target, stop="ptx", hints=case.hints)
    assert len(re.findall(r"cp\.async\.bulk\.tensor\.\dd\.shared", compiled.ptx)) >= 2
    assert re.search(r"cp\.async\.bulk\.tensor\.\dd\.global\.shared::cta", compiled.ptx)
    assert not [remark for remark in compiled.all_remarks if "slice" in remark.message]
