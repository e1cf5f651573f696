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
    "compute warps 4 registers 232 { } load warps 1 { }": "expected the registers of each of 2 roles, but got 1",
    "compute warps 4 registers 20 { }": "expected the registers of 'compute' to be a multiple of 8 from 24 to 256, "
    "but got 20",
    "compute warps 4 registers 100 { }": "expected the registers of 'compute' to be a multiple of 8 from 24 to 256, "
    "but got 100",
    "compute warps 4 registers 232 { } load warps 1 registers 40 { } mma warps 1 registers 32 { }": "expected equal "
    "registers of 'load' and 'mma', which share a warpgroup",
    # 3 * 176 * 128 threads; 168 registers are the most that 384 threads can have.
    "compute warps 4 registers 256 { } sum warps 4 registers 240 { } load warps 1 registers 24 { }": "the roles need "
    "67584 registers, of 65536",
    "compute warps 4 { } load warps 1 { } compute2 warps 4 { }": "expected the roles compute, compute1, compute2, "
    "compute3 in this order before all others",
    "compute warps 4 { } copy warps 2 { }": "expected 4 warps of 'copy', but got 2",
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


def test_warpgroups_with_budgets_change_their_registers_first() -> None:
    """8 warps of 232, 4 of 40: 168 on average at launch. Warps 10 and 11 only complete their warpgroup."""
    budgets = "load warps 1 registers 40 { } mma warps 1 registers 40 { }"
    text = kernel(f"tile_gpu.roles compute warps 8 registers 232 {{ tile_gpu.barrier }} {budgets}").replace(
        "warps 4", "warps 8", 1
    )
    ptx = emit(convert(read_stage_module(text, "<k>")))
    assert ".reqntid 384, 1, 1\n.maxnreg 168\n" in ptx
    increase, barrier = ptx.index("setmaxnreg.inc.sync.aligned.u32 232;"), ptx.index("bar.sync 1, 256;")
    decrease, load = ptx.index("setmaxnreg.dec.sync.aligned.u32 40;"), ptx.index("elect.sync")
    assert increase < barrier < decrease < load and ptx.count("setmaxnreg") == 2


def test_roles_with_the_registers_of_the_launch_have_no_setmaxnreg() -> None:
    text = kernel("tile_gpu.roles compute warps 4 registers 128 { } load warps 1 registers 128 { }")
    ptx = emit(convert(read_stage_module(text, "<k>")))
    assert ".maxnreg 128" in ptx and "setmaxnreg" not in ptx


def test_example_of_the_readme_is_valid() -> None:
    (example,) = re.findall(r"```mlir\n(.*?)```", README.read_text(), re.DOTALL)
    assert ".entry copy(" in emit(convert(read_stage_module(example, "README.md")))
