"""The roles of a kernel have names, and the verifier checks the invariants that the lowering requires."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from tilec.errors import VerificationError
from tilec.lowering.gpu_to_ptx.kernel import convert
from tilec.lowering.ptx.emit import emit
from tilec.text_input.stage_module import read_stage_module

README = files("tilec.dialect.tile_gpu") / "README.md"


def kernel(roles: str) -> str:
    return f'tile_gpu.kernel @k(%n: i32) target "sm_100a" warps 4 {{\n{roles}\n}}'


REFUSALS = {
    "compute warps 4 { } compute warps 1 { }": "expected a name for each role, but got compute, compute",
    "load warps 1 { } compute warps 4 { }": "expected the role 'compute' first, but got 'load'",
    "compute warps 8 { }": "expected 4 warps of 'compute', as the kernel has, but got 8",
    "compute warps 4 { } load warps 0 { }": "expected a positive number of warps for each of 2 roles, but got [4, 0]",
}


@pytest.mark.parametrize("roles", REFUSALS)
def test_invalid_roles_are_rejected(roles: str) -> None:
    with pytest.raises(VerificationError) as caught:
        read_stage_module(kernel(f"tile_gpu.roles {roles}"), "<k>")
    assert caught.value.message == f"'tile_gpu.roles' op {REFUSALS[roles]}"


def test_roles_must_be_at_the_top_level_of_the_kernel() -> None:
    inside = "%c = arith.constant true\nscf.if %c {\ntile_gpu.roles compute warps 4 { }\n}"
    with pytest.raises(VerificationError, match="expected roles in a kernel, outside of loops and branches"):
        read_stage_module(kernel(inside), "<k>")


def test_roles_with_any_names_are_lowered_in_order() -> None:
    text = kernel("tile_gpu.roles compute warps 4 { tile_gpu.barrier } correction warps 2 { } epilogue warps 1 { }")
    ptx = emit(convert(read_stage_module(text, "<k>")))
    assert re.findall(r"^(?:\$\w*|L\w*)?role_(\w+):", ptx, re.MULTILINE) or "role_correction" in ptx
    assert ".reqntid 224, 1, 1" in ptx


def test_example_of_the_readme_is_valid() -> None:
    (example,) = re.findall(r"```mlir\n(.*?)```", README.read_text(), re.DOTALL)
    assert ".entry copy(" in emit(convert(read_stage_module(example, "README.md")))
