"""`tilec explain`: the PTX and the machine code of a source line, and the source of a line of PTX."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import line_kernels
import pytest

import tilec as ct
from tilec.commands.command_line import main
from tilec.driver.compiled import Compiled
from tilec.errors import UsageError
from tilec.explain import machine_code
from tilec.explain.machine_code import machine_lines
from tilec.explain.ptx_lines import ptx_lines
from tilec.explain.source_line import code_of_line, source_of_ptx

FILE = str(Path(__file__).with_name("line_kernels.py"))
SIGNATURE = "A: f16[?,?], B: f16[?,?], C: f16[?,?%8], tm=128, tn=128, tk=64"
LOAD_A, LOAD_B, MMA, CALL, STORE = 10, 11, 12, 18, 19
TARGETS = ("sm_100a", "sm_90a")


@cache
def compiled(target: str = "sm_100a") -> Compiled:
    return ct.compile(line_kernels.matmul, signature=SIGNATURE, target=target, stop="ptx")


def roles_with(line: int, instruction: str, target: str) -> set[str]:
    """The roles that have an instruction which comes from a line."""
    found = code_of_line(compiled(target), line, FILE, None)
    return {each.role for each in found.ptx if instruction in each.text}


@pytest.mark.parametrize("target", TARGETS)
def test_a_load_is_a_copy_by_tma_of_the_role_that_loads(target: str) -> None:
    for line in (LOAD_A, LOAD_B):
        assert roles_with(line, "cp.async.bulk.tensor.2d.shared::", target) == {"load"}


@pytest.mark.parametrize(
    ("target", "instruction", "role"), [("sm_100a", "tcgen05.mma", "mma"), ("sm_90a", "wgmma.mma_async", "compute")]
)
def test_a_multiply_belongs_to_the_role_that_issues_it(target: str, instruction: str, role: str) -> None:
    assert roles_with(MMA, instruction, target) == {role}


@pytest.mark.parametrize("target", TARGETS)
def test_a_store_is_a_copy_by_tma_of_the_role_that_computes(target: str) -> None:
    assert roles_with(STORE, "cp.async.bulk.tensor.2d.global.shared::cta", target) == {"compute"}


def test_the_line_of_a_call_has_the_code_of_the_function() -> None:
    of_call = {each.number for each in code_of_line(compiled(), CALL, FILE, None).ptx}
    of_multiply = code_of_line(compiled(), MMA, FILE, None).ptx
    assert of_call >= {each.number for each in of_multiply}
    assert {each.callers for each in of_multiply} == {(f"line_kernels.py:{CALL}",)}


def test_each_instruction_is_found_from_its_own_line_again() -> None:
    for each in code_of_line(compiled(), MMA, FILE, None).ptx:
        back = source_of_ptx(compiled(), each.number)
        assert back.line == each
        assert f"line_kernels.py:{MMA}:" in back.text() and "total = ct.mma(a, b, total)" in back.text()


def test_numbers_are_those_of_the_lines_of_the_ptx() -> None:
    lines = compiled().ptx.splitlines()
    found = code_of_line(compiled(), LOAD_A, FILE, None)
    assert all(lines[each.number - 1].strip().startswith(each.text.split("\n")[0]) for each in found.ptx)
    assert found.location.line == LOAD_A and found.text().splitlines()[1].strip().startswith("a = ct.load(A")


def test_a_line_without_code_names_the_nearest_ones() -> None:
    with pytest.raises(UsageError) as error:
        code_of_line(compiled(), 13, FILE, None)
    assert error.value.message == (
        "line 13 of line_kernels.py has no instructions of its own: the nearest lines that have are 12 and 17"
    )


def test_a_file_without_code_names_those_that_have_some() -> None:
    with pytest.raises(UsageError, match=r"no instruction comes from other.py: files with code: .*line_kernels.py"):
        code_of_line(compiled(), 13, "other.py", None)


def test_a_line_of_ptx_that_is_not_an_instruction_names_the_nearest_one() -> None:
    first = ptx_lines(compiled().ptx)[0].number
    with pytest.raises(UsageError, match=f"line 1 of the PTX is not an instruction: the nearest one is line {first}"):
        source_of_ptx(compiled(), 1)


PTX = """
.file 1 "k.py"
.visible .entry k()
.reqntid 192, 1, 1
{
    .reg .pred %p<3>;

    .loc 1 3 1
    shfl.sync.idx.b32 %r1, %r4, 0, 31, 0xffffffff;     // entry  k.py:3
    setp.lt.s32 %p1, %r1, 4;
    @!%p1 bra.uni $after_role_compute;
    .loc 1 5 2
    mma.sync.aligned.m16n8k16 {%r1,
        %r2};                    // mmaf  k.py:5 (called at k.py:9, k.py:12)
    bra.uni $roles_done;
$after_role_compute:
    setp.lt.s32 %p2, %r1, 5;
    @!%p2 bra $block_4;
    mov.b32 %r3, 0;              // arith.constant
    bra.uni $roles_done;
$block_4:
    mov.b32 %r3, 1;
$roles_done:
    ret;
}
"""


def test_roles_end_at_the_label_to_which_the_other_warps_branch() -> None:
    found = [(each.role, each.text.split(" ")[0]) for each in ptx_lines(PTX, (("compute", 4), ("load", 1), ("mma", 1)))]
    assert found == [
        ("", "shfl.sync.idx.b32"), ("", "setp.lt.s32"), ("", "@!%p1"),
        ("compute", "mma.sync.aligned.m16n8k16"), ("compute", "bra.uni"),
        ("", "setp.lt.s32"), ("", "@!%p2"),
        ("load", "mov.b32"), ("load", "bra.uni"), ("mma", "mov.b32"), ("", "ret;"),
    ]  # fmt: skip


def test_an_instruction_of_two_lines_has_one_number_and_the_mark_behind_it() -> None:
    multiply = ptx_lines(PTX)[3]
    assert (multiply.number, multiply.operation) == (13, "mmaf")
    assert multiply.text == "mma.sync.aligned.m16n8k16 {%r1,\n    %r2};"
    assert multiply.location is not None and (multiply.location.line, multiply.location.column) == (5, 2)
    assert multiply.callers == ("k.py:9", "k.py:12")


def test_an_operation_without_a_source_line_has_none() -> None:
    constant = ptx_lines(PTX)[7]
    assert (constant.operation, constant.location) == ("arith.constant", None)


DISASSEMBLY = """
	.section	.text.k,"ax",@progbits
        /*0000*/                   LDC R1, c[0x0][0x37c] ;
	//## File "/home/k.py", line 6 inlined at "/home/k.py", line 9
        /*0010*/                   FMUL R5, R6, 2 ;
.L_x_1:
        /*0020*/              @!P0 STG.E desc[UR4][R2.64], R5 ;
.L_x_2:
        /*0030*/                   BRA `(.L_x_2) ;
        /*0040*/                   NOP ;
"""


def test_machine_code_has_the_lines_and_labels_of_nvdisasm() -> None:
    found = [(each.address, each.text, each.line, each.block) for each in machine_lines(DISASSEMBLY)]
    assert found == [(16, "FMUL R5, R6, 2", 6, ""), (32, "@!P0 STG.E desc[UR4][R2.64], R5", 6, ".L_x_1")]


def test_machine_code_follows_the_ptx() -> None:
    lines = list(machine_lines(DISASSEMBLY.replace("/home/k.py", FILE).replace("line 6", f"line {MMA}")))
    text = code_of_line(compiled(), MMA, FILE, lines).text()
    assert text.endswith("machine code, .L_x_1\n  0x20  @!P0 STG.E desc[UR4][R2.64], R5")


def test_without_nvdisasm_the_command_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_code.shutil, "which", lambda name: None)
    monkeypatch.setattr(machine_code, "find_spec", lambda name: None)
    assert main(["explain", f"{FILE}:matmul", "--sig", SIGNATURE, "--line", str(MMA)]) == 0
    shown = capsys.readouterr()
    assert "PTX, role mma, $" in shown.out and "machine code" not in shown.out
    assert shown.err == "note: no machine code without nvdisasm: install nvidia-cuda-nvdisasm\n"


@pytest.mark.parametrize("text", ["0", "k.py", "k.py:", "-3", "x"])
def test_what_is_no_line_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", f"{FILE}:matmul", f"--line={text}"]) == 2
    assert f"--line: expected a line number such as 17 or file.py:17, got '{text}'" in capsys.readouterr().err
