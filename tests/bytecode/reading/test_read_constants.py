"""Constants are read from the bytes of their table."""

from __future__ import annotations

import tracemalloc

import pytest
from file_assembler import NO_ARGUMENTS, Kernel

from tilec.errors import InputError
from tilec.text_input.module import Module

# The tag of each element type.
TAGS = dict(
    [
        *[("i1", "00"), ("i8", "01"), ("i16", "02"), ("i32", "03"), ("i64", "04"), ("f16", "05"), ("bf16", "06")],
        *[("f32", "07"), ("tf32", "08"), ("f64", "09"), ("f8E4M3FN", "0A"), ("f8E5M2", "0B"), ("f8E8M0FNU", "12")],
        *[("f4E2M1FN", "13"), ("i4", "16"), ("fnv8E5M3FNU", "82 01")],
    ]
)


def constant(payload: str, element: str, extent: int | None) -> Kernel:
    dims = "00" if extent is None else "01 " + extent.to_bytes(8, "little").hex()
    types = (NO_ARGUMENTS, TAGS[element], f"0D 01 {dims}")
    return Kernel("10 02 00", types, constants=(payload,), version="13.4")


@pytest.mark.parametrize(
    ("payload", "element", "extent", "literal"),
    [
        ("FF", "i8", None, "-1"),
        ("FF", "i8", 4, "-1"),
        ("01 FF", "i8", 2, "[1, -1]"),
        ("01 80", "i16", None, "-32767"),
        ("01 00 00 00 02 00 00 00", "i32", 2, "[1, 2]"),
        ("FF FF FF FF FF FF FF 7F", "i64", None, "9223372036854775807"),
        ("00 3C", "f16", None, "1.0"),
        ("80 3F 00 40", "bf16", 2, "[1.0, 2.0]"),
        ("00 00 80 3F", "f32", 2, "1.0"),
        ("01 00 C0 7F", "f32", None, "0x7FC00001"),
        ("00 00 00 00 00 00 F0 3F", "f64", None, "1.0"),
        # 19 bits in three bytes: sign, 8 exponent bits, 10 fraction bits; the upper bits are ignored.
        ("00 FC 01", "tf32", None, "1.0"),
        ("00 FC F9", "tf32", None, "1.0"),
        ("00 FC 01 00 00 02", "tf32", 2, "[1.0, 2.0]"),
        ("38", "f8E4M3FN", None, "1.0"),
        ("3C", "f8E5M2", None, "1.0"),
        ("7F", "f8E8M0FNU", None, "1.0"),
        ("80", "f8E8M0FNU", None, "2.0"),
        # One byte per element, of which the upper half is ignored.
        ("02 04", "f4E2M1FN", 2, "[1.0, 2.0]"),
        ("F2 34", "f4E2M1FN", 2, "[1.0, 2.0]"),
        # i1: one byte 00 or FF for a splat, else eight elements per byte, least significant bit first.
        ("00", "i1", 8, "false"),
        ("FF", "i1", 4, "true"),
        ("05", "i1", 4, "[true, false, true, false]"),
        ("F0", "i1", 8, "[false, false, false, false, true, true, true, true]"),
        ("01 80", "i1", 16, f"[true{', false' * 14}, true]"),
        ("01", "i1", None, "true"),
        ("FE", "i1", None, "false"),
    ],
)
def test_elements(payload: str, element: str, extent: int | None, literal: str) -> None:
    shape = "" if extent is None else f"{extent}x"
    text = f"entry @k() {{ %0 = constant <{element}: {literal}> : tile<{shape}{element}> }}"
    read = Module.parse(constant(payload, element, extent).bytes(), "k.tileirbc")
    assert read.to_text(generic=True) == Module.parse(text).to_text(generic=True)


@pytest.mark.parametrize(
    ("payload", "element", "extent", "message"),
    [
        ("00 00", "f32", 4, r"expected 4 bytes \(all elements equal\) or 16 for 'tile<4xf32>', but got 2"),
        ("", "i8", None, r"expected 1 bytes \(all elements equal\) or 1 for 'tile<i8>', but got 0"),
        ("00 FC 01 00", "tf32", 2, r"expected 3 bytes \(all elements equal\) or 6 for 'tile<2xtf32>', but got 4"),
        (
            "01 00 01 00",
            "i1",
            4,
            r"expected one byte 00 or FF \(all elements equal\) or 1 bytes of eight elements each for 'tile<4xi1>', "
            "but got 4",
        ),
    ],
)
def test_invalid_size_is_refused(payload: str, element: str, extent: int | None, message: str) -> None:
    with pytest.raises(InputError, match=rf"byte \d+ \(constants section\): {message}") as caught:
        Module.parse(constant(payload, element, extent).bytes(), "k.tileirbc")
    assert str(caught.value.location) == "k.tileirbc:@k:1"


def test_splat_is_not_expanded() -> None:
    data = constant("00 00 80 3F", "f32", 1 << 24).bytes()
    tracemalloc.start()
    module = Module.parse(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "constant <f32: 1.000000e+00> : tile<16777216xf32>" in module.to_text()
    assert peak < 4 << 20


def test_two_types_may_share_the_bytes_of_a_constant() -> None:
    types = (NO_ARGUMENTS, "03", "0D 01 00", "07", "0D 03 00")
    kernel = Kernel("10 02 00 10 04 00", types, constants=("00 00 80 3F",))
    text = "entry @k() { %0 = constant <i32: 1065353216> : tile<i32> %1 = constant <f32: 1.0> : tile<f32> }"
    assert Module.parse(kernel.bytes()).to_text() == Module.parse(text).to_text()
