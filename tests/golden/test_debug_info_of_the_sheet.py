"""Locations and names decide nothing in the kernels of the sheet (benchmarks/sheet), which have several loops."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest
from debug_info import STAGES, compiled, scatter, strip, with_other_names
from ptx_instructions import instructions

import tilec
from tilec import compilation

TESTS = Path(__file__).parents[1]
# The names of the modules that the kernels import.
OTHERS = ("cuda.tile", "sheet", "cutile")


@contextmanager
def importable_sheet() -> Iterator[None]:
    """The kernels are written in cuTile Python, which tilec stands for; later imports of both are unchanged."""
    path, hidden = list(sys.path), _without_others()
    sys.path[:0] = [str(TESTS.parent / "benchmarks"), str(TESTS / "peers")]
    sys.modules |= {"cuda.tile": tilec, "cuda.tile.compilation": compilation}
    try:
        yield
    finally:
        _without_others()
        sys.modules |= hidden
        sys.path[:] = path


def _without_others() -> dict[str, ModuleType]:
    """Forgets the modules of the kernels; returns them."""
    return {name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith(OTHERS)}


with importable_sheet():
    from sheet.cases import CASES, TARGETS, Case
    from sheet.compilers import bytecode


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_debug_info_changes_no_instruction(case: Case, target: str) -> None:
    with importable_sheet():
        module = bytecode(case)
    made = tilec.compile(module, target=target, stop="ptx")
    expected = instructions(made.ptx)
    for stage in STAGES:
        assert compiled(module, None, target, strip, (stage,)) == expected, stage
        renamed = tilec.compile(with_other_names(made.stage(stage).text), target=target, stop="ptx")
        assert instructions(renamed.ptx) == expected, stage
    assert compiled(module, None, target, scatter, STAGES) == expected
