"""tileiras compiles the bytecode of every sample in every version and of whole kernels."""

from __future__ import annotations

from pathlib import Path

import pytest
from sample_modules import joined, samples, writable
from signatures import CASES, KERNELS
from tile_tools import compiled

from tilec.dialect.bytecode.version import VERSIONS, Version
from tilec.lowering.tile.expand.expand_tilex import expand_tilex
from tilec.signature import parse
from tilec.text_input.module import Module

pytestmark = pytest.mark.peers

DISASSEMBLED = sorted((Path(__file__).parents[2] / "dialect" / "disassembly").glob("*.mlir"))


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_tileiras_compiles_each_operation_attribute_and_type(version: Version, tmp_path: Path) -> None:
    modules = [module for module in samples() if writable(module, version)]
    assert len(modules) > 300
    # The first GPU with all types; other GPUs do not have fnv8E5M3FNU.
    cubin = compiled(joined(modules).to_bytecode(str(version)), "sm_107", tmp_path)
    assert all(b".text.k%d\0" % number in cubin for number in range(len(modules)))


@pytest.mark.parametrize("path", DISASSEMBLED, ids=lambda path: path.stem)
def test_kernels_of_nvidias_front_end(path: Path, tmp_path: Path) -> None:
    module = Module.read(path)
    # print_tko with a token needs version 13.2.
    oldest = "13.2" if path.stem == "gat" else "13.1"
    for version in (oldest, "13.5"):
        compiled(module.to_bytecode(version), "sm_90", tmp_path)


@pytest.mark.parametrize(("name", "signature"), CASES)
def test_kernels_of_tilecs_front_end(name: str, signature: str, tmp_path: Path) -> None:
    """expand-tilex runs first: NVIDIA's format lacks the operations of tilex."""
    module = KERNELS[name].to_tile(parse(signature))
    with module.ir.context:
        expand_tilex(module.ir)
    compiled(module.to_bytecode(), "sm_100", tmp_path)
