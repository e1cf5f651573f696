"""Every operation of tile_gpu has an assembly form."""

from __future__ import annotations

import pytest

from tilec.dialect.operation import OPERATIONS
from tilec.dialect.stage_assembly.syntax import SYNTAX
from tilec.dialect.tile_gpu import dialect  # noqa: F401

NAMES = [name for name in OPERATIONS if name.startswith("tile_gpu.")]


@pytest.mark.parametrize("name", NAMES)
def test_every_operation_has_an_assembly_line(name: str) -> None:
    """Without `assembly` a kernel with the operation is printed in the generic form."""
    declared = OPERATIONS[name]
    assert declared.assembly or not declared.fields or name in SYNTAX
