"""cvt of packed floats of 8 bits and fewer, of s2f6, with scale factors and with random bits; values worked by hand."""

from __future__ import annotations

import itertools
import struct

import ml_dtypes
import numpy as np
import pytest
from assemblers import assemblers, refusal, refused_by
from instruction_lines import HEAD

from tilec.runtime.ptxsim import _native

FORMATS = {
    "e4m3x2": (ml_dtypes.float8_e4m3fn, 256),
    "e5m2x2": (ml_dtypes.float8_e5m2, 256),
    "e2m3x2": (ml_dtypes.float6_e2m3fn, 64),
    "e3m2x2": (ml_dtypes.float6_e3m2fn, 64),
    "e2m1x2": (ml_dtypes.float4_e2m1fn, 16),
}


def _bits(value: float) -> int:
    return int.from_bytes(struct.pack("<f", value), "little")


@pytest.fixture
def convert():
    """The value of %r1, whose halves are %h1 and %h2, after one instruction; registers have the given bits."""

    def run(instruction: str, version: str = "9.4", registers: dict[str, int] | None = None, **options: object) -> int:
        out = np.zeros(1, np.uint32)
        lines = [HEAD.format(target="sm_100a", version=version).replace("k()", "k(.param .u64 p)")]
        lines += ["mov.b32 %r1, 0; mov.b32 {%h1, %h2}, %r1; cvt.u8.u32 %b1, %r1; ld.param.u64 %rd1, [p];"]
        for name, bits in (registers or {}).items():
            size = {"f": "f32", "r": "b32", "h": "b16", "b": "b8"}[name[1]]
            value = f"0f{bits:08X}" if size == "f32" else f"{bits:#x}"
            lines += [f"cvt.u8.u32 {name}, {value};" if size == "b8" else f"mov.{size} {name}, {value};"]
        lines += [instruction]
        destination = instruction.split(",")[0].split()[-1]
        if destination == "%h1":
            lines += ["cvt.u32.u16 %r1, %h1;"]
        elif destination == "%b1":
            lines += ["cvt.u32.u8 %r1, %b1;"]
        lines += ["st.global.u32 [%rd1], %r1;", "ret;", "}"]
        program = _native.Program("\n".join(lines))
        address = struct.pack("<Q", out.ctypes.data)
        program.run("k", (1,), (1,), parameters=address, ranges=[(out.ctypes.data, 4, True)], **options)
        return int(out[0])

    return run


# (instruction, registers, result)
CASES = [
    # e2m1 codes 1 (0.5) and 9 (-0.5); bf16 of 0.5 is 0x3F00.
    ("cvt.rn.bf16x2.e2m1x2 %r1, %b2;", {"%b2": 0x91}, 0xBF00_3F00),
    ("cvt.rn.relu.bf16x2.e2m1x2 %r1, %b2;", {"%b2": 0x91}, 0x0000_3F00),
    # e3m2: 0x1F is 28, 0x01 is 1/16; bf16 0x41E0 and 0x3D80.
    ("cvt.rn.bf16x2.e3m2x2 %r1, %h3;", {"%h3": 0x1F01}, 0x41E0_3D80),
    # e2m3: 0x1F is 7.5, 0x28 is -1; bf16 0x40F0 and 0xBF80.
    ("cvt.rn.bf16x2.e2m3x2 %r1, %h3;", {"%h3": 0x1F28}, 0x40F0_BF80),
    # e4m3: 0x7E is 448, 0x7F NaN; bf16 0x43E0 and the canonical NaN.
    ("cvt.rn.bf16x2.e4m3x2 %r1, %h3;", {"%h3": 0x7E7F}, 0x43E0_7FFF),
    # e5m2: 0x7C is infinity, which .satfinite makes the largest bf16.
    ("cvt.rn.bf16x2.e5m2x2 %r1, %h3;", {"%h3": 0x7C3C}, 0x7F80_3F80),
    ("cvt.rn.satfinite.bf16x2.e5m2x2 %r1, %h3;", {"%h3": 0xFC3C}, 0xFF7F_3F80),
    # 1.5 times 2^3 and 2^-1.
    ("cvt.rn.scaled::n2::ue8m0.bf16x2.e4m3x2 %r1, %h3, %h4;", {"%h3": 0x3C3C, "%h4": 0x827E}, 0x4140_3F40),
    # The factor 255 is NaN.
    ("cvt.rn.scaled::n2::ue8m0.bf16x2.e4m3x2 %r1, %h3, %h4;", {"%h3": 0x3C3C, "%h4": 0xFF7F}, 0x7FFF_3FC0),
    # s2f6: 0x80 is -2, 0x21 is 33/64; with the factor 64 they are -128 and 33.
    ("cvt.rn.bf16x2.s2f6x2 %r1, %h3;", {"%h3": 0x8021}, 0xC000_3F04),
    ("cvt.rn.scaled::n2::ue8m0.bf16x2.s2f6x2 %r1, %h3, %h4;", {"%h3": 0x8021, "%h4": 0x8585}, 0xC300_4204),
    # bf16 1.75 and -0.375 to narrower formats.
    ("cvt.rn.satfinite.e4m3x2.bf16x2 %h1, %r2;", {"%r2": 0x3FE0_BEC0}, 0x3E_AC),
    ("cvt.rn.satfinite.e5m2x2.bf16x2 %h1, %r2;", {"%r2": 0x3FE0_BEC0}, 0x3F_B6),
    ("cvt.rn.satfinite.e2m3x2.bf16x2 %h1, %r2;", {"%r2": 0x3FE0_BEC0}, 0x0E_23),
    ("cvt.rn.satfinite.e3m2x2.f16x2 %h1, %r2;", {"%r2": 0x3F00_B600}, 0x0F_26),
    # Halfway between 0.5 and 0, and 1.75 between 1.5 and 2: both to even.
    ("cvt.rn.satfinite.e2m1x2.f16x2 %b1, %r2;", {"%r2": 0x3F00_3400}, 0x40),
    ("cvt.rn.satfinite.e2m1x2.bf16x2 %b1, %r2;", {"%r2": 0x3FE0_3E80}, 0x40),
    # NaN and 1e6 become the largest numbers: 6 in e2m1 and 127/64 in s2f6.
    ("cvt.rn.satfinite.e2m1x2.f32 %b1, %f1, %f2;", {"%f1": 0x7FC00000, "%f2": _bits(-1e6)}, 0x7F),
    ("cvt.rn.satfinite.s2f6x2.f32 %h1, %f1, %f2;", {"%f1": 0x7FC00000, "%f2": _bits(1e6)}, 0x7F7F),
    # 33.5 / 64 rounds to 34; -1.5 is 0xA0, which .relu makes zero.
    ("cvt.rn.satfinite.s2f6x2.f32 %h1, %f1, %f2;", {"%f1": _bits(33.5 / 64), "%f2": _bits(-1.5)}, 0x22A0),
    ("cvt.rn.satfinite.relu.s2f6x2.f32 %h1, %f1, %f2;", {"%f1": _bits(33.5 / 64), "%f2": _bits(-1.5)}, 0x2200),
    # Divided by 64: 33 and 1 of int8.
    (
        "cvt.rn.satfinite.scaled::n2::ue8m0.s2f6x2.f32 %h1, %f1, %f2, %h4;",
        {"%f1": _bits(33.0), "%f2": _bits(1.0), "%h4": 0x8585},
        0x2101,
    ),
    # f16 discards 13 bits: 1 + 2^-11 has 0x1000 of 0x2000 discarded, and carries from 0x1000 random bits on.
    ("cvt.rs.f16x2.f32 %r1, %f1, %f1, %r2;", {"%f1": _bits(1 + 2**-11), "%r2": 0x1000_0FFF}, 0x3C01_3C00),
    # The three upper bits of each half are ignored.
    ("cvt.rs.f16x2.f32 %r1, %f1, %f1, %r2;", {"%f1": _bits(1 + 2**-11), "%r2": 0xF000_E000}, 0x3C01_3C00),
    ("cvt.rs.f16x2.f32 %r1, %f1, %f1, %r2;", {"%f1": _bits(-1 - 2**-11), "%r2": 0x1000_0FFF}, 0xBC01_BC00),
    # bf16 discards 16 bits; an exact value never carries.
    ("cvt.rs.bf16x2.f32 %r1, %f1, %f2, %r2;", {"%f1": 0x3F80_0001, "%f2": 0x3F80_0000, "%r2": 0xFFFF_FFFF},
     0x3F81_3F80),
    ("cvt.rs.bf16x2.f32 %r1, %f1, %f1, %r2;", {"%f1": 0x3F80_8000, "%r2": 0x8000_7FFF}, 0x3F81_3F80),
    ("cvt.rs.relu.bf16x2.f32 %r1, %f1, %f2, %r2;", {"%f1": 0xBF80_8000, "%f2": 0x7FC0_0000, "%r2": 0}, 0x0000_7FFF),
    ("cvt.rs.satfinite.f16x2.f32 %r1, %f1, %f2, %r2;", {"%f1": _bits(-1e6), "%f2": _bits(65535.0), "%r2": 0x1FFF},
     0xFBFF_7BFF),
]  # fmt: skip


@pytest.mark.parametrize(("instruction", "registers", "result"), CASES)
def test_value(convert, instruction, registers, result):
    assert f"{convert(instruction, registers=registers):#010x}" == f"{result:#010x}"


def test_random_bits_of_narrow_floats_are_unconfirmed(convert):
    """e4m3 discards 20 bits: 1 + 2^-4 is halfway between 1 and 1.125, and carries from 0x8000 random bits on."""
    line = "cvt.rs.satfinite.e4m3x4.f32 %r1, {%f1, %f1, %f1, %f1}, %r2;"
    registers = {"%f1": _bits(1 + 2**-4), "%r2": 0x8000_7FFF}
    assert convert(line, registers=registers, allow_unconfirmed=True) == 0x3939_3838
    with pytest.raises(_native.Trap, match="the random bits of cvt.rs") as caught:
        convert(line, registers=registers)
    assert caught.value.kind == "unconfirmed"


def test_least_number_of_s2f6_is_unconfirmed(convert):
    with pytest.raises(_native.Trap, match="below -127/64") as caught:
        convert("cvt.rn.satfinite.s2f6x2.f32 %h1, %f1, %f1;", registers={"%f1": _bits(-2.0)})
    assert caught.value.kind == "unconfirmed"


@pytest.mark.parametrize("name", FORMATS)
def test_every_code_converts_to_bf16(convert, name):
    dtype, count = FORMATS[name]
    for code in range(0, count, 7):
        value = np.array([code], np.uint8).view(dtype)[0] if count == 256 else _value_of(dtype, code)
        register, width = ("%b2", 4) if count == 16 else ("%h3", 8)
        result = convert(f"cvt.rn.bf16x2.{name} %r1, {register};", registers={register: code << width})
        expected = np.array(value, np.float32).astype(ml_dtypes.bfloat16).view(np.uint16)
        assert result >> 16 == (0x7FFF if np.isnan(np.float32(value)) else int(expected))


def _value_of(dtype: type, code: int) -> float:
    return float(np.array([code], np.uint8).view(dtype)[0])


@pytest.mark.parametrize("kind", ["u2", "s2", "u4", "s4", "u8", "s8"])
def test_pack_appends_to_the_third_source(convert, kind):
    """3 and -1 saturate to the range of the type."""
    bits, signed = int(kind[1]), kind[0] == "s"
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    parts = [max(low, min(high, value)) & 2**bits - 1 for value in (3, -1)]
    registers = {"%r2": 3, "%r3": 0xFFFF_FFFF, "%r4": 0x15}
    expected = 0x15 << 2 * bits | parts[0] << bits | parts[1]
    assert convert(f"cvt.pack.sat.{kind}.s32.b32 %r1, %r2, %r3, %r4;", registers=registers) == expected


def test_nan_of_eight_bit_floats_is_canonical(convert):
    """All codes of e4m3 and e5m2 to f16, and all NaN of f16 to them."""
    for name, nans in (("e4m3", {0x7F, 0xFF}), ("e5m2", {0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF})):
        for code in sorted(nans):
            assert convert(f"cvt.rn.f16x2.{name}x2 %r1, %h3;", registers={"%h3": code << 8 | code}) == 0x7FFF_7FFF
        for bits in (0x7C01, 0x7E00, 0x7FFF, 0xFC01, 0xFE00, 0xFFFF):
            registers = {"%r2": bits << 16 | bits}
            assert convert(f"cvt.rn.satfinite.{name}x2.f16x2 %h1, %r2;", registers=registers) == 0x7F7F


def forms() -> list[str]:
    """Conversions between packed types, with every modifier; PTX 9.2."""
    registers = {"f32": "f", "f16x2": "r", "bf16x2": "r", "e2m1x2": "b", "e2m1x4": "h"}
    packed = ["f16x2", "bf16x2", *FORMATS, "ue8m0x2", "s2f6x2"]
    four = [name.replace("x2", "x4") for name in FORMATS]
    lines = []
    for rounding, clamp, scaled, to, source in itertools.product(
        ["rn", "rz", "rp", "rs"],
        ["", ".sat", ".relu", ".satfinite", ".satfinite.relu"],
        ["", ".scaled::n2::ue8m0"],
        [*packed, *four],
        ["f32", *packed],
    ):
        destination = registers.get(to, "r" if to in four else "h")
        kind = registers.get(source, "h")
        sources = [f"%{kind}2", f"%{kind}3"] if source == "f32" and to in packed else [f"%{kind}2"]
        if source == "f32" and to in four:
            sources = ["{%f2, %f3, %f4, %f5}"]
        sources += ["%r6"] * (rounding == "rs") + ["%h4"] * bool(scaled)
        lines.append(f"cvt.{rounding}{clamp}{scaled}.{to}.{source} %{destination}1, {', '.join(sources)};")
    return lines


@pytest.mark.peers
@pytest.mark.parametrize("version", ["9.0", "9.1", "9.2"])
@pytest.mark.parametrize("target", ["sm_100a", "sm_100f", "sm_120a", "sm_90a"])
def test_ptxas_accepts_the_same_forms(target, version, tmp_path):
    """ptxas 13.5 of the package of NVIDIA, which knows the versions."""
    ptxas = assemblers()[0]
    lines = forms()
    refused = refused_by(ptxas, lines, target, tmp_path / "forms.ptx", version)
    assert refused and (len(refused) < len(lines) or target == "sm_90a")
    assert [line for line in lines if (refusal(line, target, version) is None) == (line in refused)] == []
