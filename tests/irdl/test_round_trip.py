"""mlir-opt does not change generic text, except for the operations listed in docs/irdl.md."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from every_type import attributes, types
from irdl_samples import example, in_separate_modules, tile_modules, tile_operations

from tilec.dialect.cuda_tile.element import ELEMENT_BITS
from tilec.dialect.mlir import context, ir
from tilec.dialect.operation import OPERATIONS
from tilec.dialect.ptx.dialect import Ptx
from tilec.dialect.tile_gpu.dialect import TileGpu
from tilec.driver.stage_text import read_module
from tilec.driver.stages import compile

MlirOpt = Callable[..., "subprocess.CompletedProcess[str]"]
ROOT = Path(__file__).parents[2]
# The rows of the first table of docs/irdl.md.
REJECTED = sorted(re.findall(r"^\| `(cuda_tile\.\w+)` \|", (ROOT / "docs" / "irdl.md").read_text(), re.MULTILINE))
# Options that skip MLIR's verifier, which does not know the terminators of the dialects.
UNVERIFIED = ("--mlir-very-unsafe-disable-verifier-on-parsing", "--verify-each=0")
# LLVM 22 does not have this type.
NEWEST_ELEMENT = "fnv8E5M3FNU"
KERNELS = {
    "matmul": "A: f16[?,?], B: f16[?,?], C: f16[?,?], tm=128, tn=128, tk=64, use_tf32=False, half_accumulator=False",
    "softmax": "x: f32[?,?], y: f32[?,?], TILE=256",
}


def assert_unchanged(mlir_opt: MlirOpt, text: str, *options: str) -> None:
    outcome = mlir_opt(text, *options)
    assert outcome.stderr == ""
    assert outcome.returncode == 0
    assert outcome.stdout.strip() == text.strip()


def test_unlisted_operations_are_verified_and_unchanged(mlir_opt: MlirOpt) -> None:
    accepted = [operation for operation in tile_operations() if operation.name not in REJECTED]
    assert {operation.name for operation in accepted} | set(REJECTED) == {
        name for name in OPERATIONS if name.startswith("cuda_tile.")
    }
    assert_unchanged(mlir_opt, in_separate_modules(accepted))


@pytest.mark.parametrize("name", REJECTED)
def test_listed_operations_are_rejected_because_of_their_terminator(mlir_opt: MlirOpt, name: str) -> None:
    sample = next(operation for operation in tile_operations() if operation.name == name)
    outcome = mlir_opt(in_separate_modules([sample]))
    assert outcome.returncode == 1
    assert re.search(r'error: block with no terminator, has "cuda_tile\.(yield|continue|break|return)"', outcome.stderr)


def test_kernels_are_unchanged_without_verification(mlir_opt: MlirOpt) -> None:
    for module in tile_modules():
        assert_unchanged(mlir_opt, module.to_text(generic=True), *UNVERIFIED)


def test_locations_are_unchanged(mlir_opt: MlirOpt) -> None:
    for module in tile_modules():
        text = module.to_text(generic=True, locations=True)
        assert_unchanged(mlir_opt, text, "--mlir-print-debuginfo", *UNVERIFIED)


def text_of_types(elements: set[str]) -> str:
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            found = types(elements)
            ir.Operation.create("builtin.unrealized_conversion_cast", found, [])
        module.operation.attributes["tilec.all"] = ir.ArrayAttr.get(attributes())
        return module.operation.get_asm(print_generic_op_form=True)


def test_every_type_and_attribute_is_unchanged(mlir_opt: MlirOpt) -> None:
    text = text_of_types(ELEMENT_BITS.keys() - {NEWEST_ELEMENT})
    for kind in ("tile", "ptr", "tensor_view", "partition_view", "strided_view", "gather_scatter_view", "token"):
        assert f"!cuda_tile.{kind}" in text
    assert_unchanged(mlir_opt, text)


def test_newest_element_type_needs_a_newer_mlir(mlir_opt: MlirOpt, tool: str) -> None:
    version = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
    text = text_of_types({NEWEST_ELEMENT})
    if "LLVM version 22." in version:
        assert "f8E5M3FNU" in mlir_opt(text).stderr
    else:
        assert_unchanged(mlir_opt, text)


@pytest.mark.parametrize("dialect", [TileGpu, Ptx], ids=["tile_gpu", "ptx"])
def test_operations_of_the_other_dialects_are_unchanged(mlir_opt: MlirOpt, dialect: type) -> None:
    """Their definitions do not constrain the types of values, so the values have type i32."""
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        for operation_class in dialect.operations:  # type: ignore[attr-defined]
            if not operation_class._ODS_REGIONS[0]:
                example(operation_class, ir.InsertionPoint(module.body))
        text = module.operation.get_asm(print_generic_op_form=True)
    assert_unchanged(mlir_opt, text)


@pytest.mark.peers
@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("name", KERNELS)
def test_every_stage_is_unchanged_without_verification(mlir_opt_22: MlirOpt, name: str, target: str) -> None:
    source = f"{ROOT / 'examples' / name}.py:{name}_kernel"
    compiled = compile(source, target=target, signature=KERNELS[name], stop="ptx-mlir")
    assert [stage.name for stage in compiled.stages] == ["tile", "tile-opt", "gpu-raw", "gpu", "ptx-mlir"]
    for stage in compiled.stages:
        module = read_module(stage.content(), stage.name.removesuffix("-opt"), stage.name)
        assert_unchanged(mlir_opt_22, module.operation.get_asm(print_generic_op_form=True), *UNVERIFIED)
