"""Invalid forms of cvt, setp, set, atom and red, and matrix instructions of another architecture, are refused."""

from __future__ import annotations

import itertools
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from tilec.runtime.ptxsim import _native

HEAD = """.version 9.0
.target {target}
.address_size 64
.visible .entry k()
{{
.reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<8>; .reg .f64 %fd<8>;
"""
_HEAD_LINES = HEAD.count("\n")
REGISTERS = {
    "h": ["u8", "s8", "u16", "s16", "b16", "f16", "bf16", "e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "ue8m0x2"],
    "r": ["u32", "s32", "b32", "tf32", "f16x2", "bf16x2"],
    "rd": ["u64", "s64", "b64"],
    "f": ["f32"],
    "fd": ["f64"],
}
REGISTER_OF = {type_name: register for register, names in REGISTERS.items() for type_name in names}
SCALARS = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "f16", "bf16", "f32", "f64"]
PACKED = ["f16x2", "bf16x2", "e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "ue8m0x2"]
ROUNDINGS = ["", "rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi"]
CLAMPS = ["", "sat", "relu", "satfinite", "relu.satfinite"]
COMPARISONS = "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan".split()
COMPARED = "b16 b32 b64 u8 s8 u16 u32 u64 s16 s32 s64 f16 bf16 f32 f64".split()


def _line(*modifiers: str, registers: tuple[str, ...]) -> str:
    return ".".join(filter(None, modifiers)) + " " + ", ".join(registers) + ";"


def _register(type_name: str, number: int) -> str:
    return f"%{REGISTER_OF[type_name]}{number}"


def conversions() -> list[str]:
    lines = []
    for rounding, ftz, clamp, to, source in itertools.product(
        ROUNDINGS, ["", "ftz"], CLAMPS, [*SCALARS, "tf32", *PACKED], [*SCALARS, *PACKED]
    ):
        sources = [_register(source, 2)] + [_register(source, 3)] * (source == "f32" and to in PACKED)
        lines.append(_line("cvt", rounding, ftz, clamp, to, source, registers=(_register(to, 1), *sources)))
    return lines


def comparisons() -> list[str]:
    lines = []
    for comparison, ftz, source in itertools.product(COMPARISONS, ["", "ftz"], [*COMPARED, "f16x2", "bf16x2"]):
        sources = (_register(source, 2), _register(source, 3))
        to = "%p1|%p2" if source in PACKED else "%p1"
        lines.append(_line("setp", comparison, ftz, source, registers=(to, *sources)))
        lines.append(_line("setp", comparison, "and", ftz, source, registers=(to, *sources, "%p3")))
    for comparison, ftz, to, source in itertools.product(
        COMPARISONS, ["", "ftz"], ["u32", "s32", "f32", "u16", "f16", "bf16", "b16", "u64"], COMPARED
    ):
        sources = (_register(source, 2), _register(source, 3))
        lines.append(_line("set", comparison, ftz, to, source, registers=(_register(to, 1), *sources)))
    return lines


def atomics() -> list[str]:
    lines = []
    for name, space, operation, flush, count, element in itertools.product(
        ("atom", "red"),
        ("", "global", "shared"),
        "and or xor exch cas add inc dec min max".split(),
        ("", "noftz"),
        (1, 2, 4, 8),
        "u32 s32 u64 s64 b16 b32 b64 f16 bf16 f16x2 bf16x2 f32 f64".split(),
    ):
        old, operand = (
            _vector([_register(element, number) for number in numbers]) for numbers in (range(count), [2] * count)
        )
        operands = ["[%rd1]", operand] + [operand] * (operation == "cas")
        registers = (*[old] * (name == "atom"), *operands)
        vector = f"v{count}" if count > 1 else ""
        lines.append(_line(name, space, operation, flush, vector, element, registers=registers))
    return lines


def _vector(registers: list[str]) -> str:
    return registers[0] if len(registers) == 1 else "{" + ", ".join(registers) + "}"


def _accepts(line: str, target: str = "sm_100a") -> bool:
    try:
        return not _native.Program(HEAD.format(target=target) + line + "\nret;\n}\n").unsupported
    except _native.PtxError:
        return False


def _ptxas() -> Path:
    spec = find_spec("nvidia")
    folders = spec.submodule_search_locations if spec else None
    return next(path for folder in folders or () for path in Path(folder).glob("*/bin/ptxas"))


@pytest.mark.peers
@pytest.mark.parametrize("forms", [conversions, comparisons, atomics])
def test_ptxas_accepts_the_same_forms(forms, tmp_path):
    ptxas = _ptxas()
    lines = forms()
    source = tmp_path / "forms.ptx"
    source.write_text(HEAD.format(target="sm_100a") + "\n".join(lines) + "\nret;\n}\n")
    done = subprocess.run([ptxas, "-arch=sm_100a", source, "-o", "/dev/null"], capture_output=True, text=True)
    refused = {int(number) - _HEAD_LINES - 1 for number in re.findall(r"line (\d+); error", done.stderr)}
    assert refused and len(refused) < len(lines)
    assert [line for number, line in enumerate(lines) if _accepts(line) == (number in refused)] == []


REFUSED = [
    "cvt.rn.u32.s32 %r1, %r2;",
    "cvt.f16.f32 %h1, %f2;",
    "cvt.rni.f32.s32 %f1, %r2;",
    "cvt.sat.u32.u16 %r1, %h2;",
    "cvt.rn.rz.f16.f32 %h1, %f2;",
    "cvt.rn.e4m3x2.f32 %h1, %f2, %f3;",
    "setp.lt.b32 %p1, %r2, %r3;",
    "setp.lo.s32 %p1, %r2, %r3;",
    "setp.equ.u32 %p1, %r2, %r3;",
    "setp.eq.ftz.f64 %p1, %fd2, %fd3;",
    "set.eq.f32.f16 %f1, %h2, %h3;",
    "red.global.exch.b32 [%rd1], %r2;",
    "atom.global.add.s64 %rd1, [%rd1], %rd2;",
    "atom.global.add.f16 %h1, [%rd1], %h2;",
    "atom.global.min.f32 %f1, [%rd1], %f2;",
    "red.shared.add.v2.f32 [%rd1], {%f1, %f2};",
]


@pytest.mark.parametrize("line", REFUSED)
def test_invalid_form_is_refused(line):
    with pytest.raises(_native.PtxError, match="not a form|two rounding modes") as caught:
        _native.Program(HEAD.format(target="sm_100a") + line + "\nret;\n}\n")
    assert caught.value.line == _HEAD_LINES + 1


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ("wgmma.fence.sync.aligned;", "sm_90a"),
        ("tcgen05.fence::before_thread_sync;", "sm_100a"),
        ("tcgen05.fence::before_thread_sync;", "sm_103a"),
    ],
)
def test_matrix_instructions_require_their_architecture(line, target):
    assert _accepts(line, target)
    for other in {"sm_90", "sm_90a", "sm_100a", "sm_120a"} - {target}:
        if target != "sm_103a" or other != "sm_100a":
            with pytest.raises(_native.PtxError, match=f"does not exist on target {other}"):
                _native.Program(HEAD.format(target=other) + line + "\nret;\n}\n")
