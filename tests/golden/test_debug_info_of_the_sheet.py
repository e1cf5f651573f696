"""Locations and names decide nothing in the kernels of the sheet (benchmarks/sheet), which have several loops."""

from __future__ import annotations

import pytest
from debug_info import STAGES, compiled, scatter, strip, with_other_names
from ptx_instructions import instructions
from sheet_kernels import importable_sheet

import tilec

with importable_sheet():
    from sheet.cases import CASES, DENSE, TARGETS, Case
    from sheet.compilers import module_of

# The dense products and attention with all their tiles, and one case of each other kernel.
CHOSEN = (*DENSE, *{(case.module, case.kernel): case for case in CASES if case not in DENSE}.values())


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", CHOSEN, ids=[case.name for case in CHOSEN])
def test_debug_info_changes_no_instruction(case: Case, target: str) -> None:
    with importable_sheet():
        module = module_of(case)
    made = tilec.compile(module, target=target, stop="ptx")
    expected = instructions(made.ptx)
    for stage in STAGES:
        assert compiled(module, None, target, strip, (stage,)) == expected, stage
        renamed = tilec.compile(with_other_names(made.stage(stage).text), target=target, stop="ptx")
        assert instructions(renamed.ptx) == expected, stage
    assert compiled(module, None, target, scatter, STAGES) == expected
