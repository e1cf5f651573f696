"""Instructions and forms are refused on the targets on which ptxas refuses them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from assemblers import program, refusal, refused_by
from instruction_lines import LINES, TARGETS

from tilec.runtime.ptxsim import _native


def _rows_of(lines: list[str]) -> set[str]:
    rows = sorted(_native.opcodes(), key=len, reverse=True)
    names = [line.split()[0].rstrip(";") for line in lines]
    return {row for name in names for row in rows[:] if name == row or name.startswith(row + ".")}


def test_the_lines_have_every_row():
    """call, ret and exit end a function, and trap a program."""
    control = {"bra", "brx.idx", "call", "ret", "exit", "trap", "brkpt", "prefetch.tensormap"}
    assert set(_native.opcodes()) - _rows_of(list(LINES)) <= control


@pytest.mark.parametrize("target", TARGETS)
def test_lines_exist_on_their_targets(target):
    wrong = [line for line, targets in LINES.items() if (refusal(line, target) is None) != (target in targets)]
    assert wrong == []


@pytest.mark.parametrize(
    ("line", "target", "message"),
    [
        ("add.rn.f32x2 %rd1, %rd2, %rd3;", "sm_90a", "does not exist on target sm_90a, only on sm_100 and later"),
        ("max.f32 %f1, %f2, %f3, %f4;", "sm_90a", "only on sm_100 and later"),
        ("cvt.rn.satfinite.e2m1x2.f32 %b1, %f2, %f3;", "sm_100", "only on sm_100a"),
        ("setmaxnreg.inc.sync.aligned.u32 64;", "sm_90", "only on sm_90a"),
        ("min.xorsign.abs.f32 %f1, %f2, %f3;", "sm_80", "only on sm_86 and later"),
        ("cvt.rn.f16x2.e5m2x2 %r1, %h2;", "sm_86", "only on sm_89 and later"),
        ("mbarrier.try_wait.shared::cta.b64 %p1, [%r1], %rd1;", "sm_80", "only on sm_90 and later"),
    ],
)
def test_message_names_the_target(line, target, message):
    with pytest.raises(_native.PtxError) as caught:
        program(line, target)
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("cvt.rn.bf16x2.e4m3x2 %r1, %h2;", "9.2"),
        ("cvt.rn.satfinite.e2m1x2.bf16x2 %b1, %r2;", "9.1"),
        ("cvt.rn.satfinite.s2f6x2.f32 %h1, %f2, %f3;", "9.1"),
    ],
)
def test_forms_need_their_version(line, version):
    assert refusal(line, "sm_100a", version) is None
    assert f"needs .version {version}, found 9.0" in (refusal(line, "sm_100a", "9.0") or "")


@pytest.mark.peers
@pytest.mark.parametrize("target", TARGETS)
def test_ptxas_accepts_the_lines_on_their_targets(target, tmp_path):
    """ptxas 13.0 of the PATH: later ones have more forms. A function uses one of .cta_group::1 and ::2."""
    ptxas = shutil.which("ptxas")
    assert ptxas
    for pair in (False, True):
        lines = [line for line in LINES if ("cta_group::2" in line) == pair]
        refused = refused_by(Path(ptxas), lines, target, tmp_path / "lines.ptx")
        assert [line for line in lines if (target in LINES[line]) == (line in refused)] == []
