"""Operations encoded by hand are read as the same module as their text."""

from __future__ import annotations

from typing import Any

import pytest
from file_assembler import NO_ARGUMENTS, Kernel, number

from tilec.text_input.module import Module

VERSIONS = ("13.1", "13.2", "13.3", "13.4", "13.5")
# Types 1 and 2 are i32 and tile<i32>; the kernel has one argument of tile<i32>, value 0.
INTEGER = ("10 01 02 00", "03", "0D 01 00")
FLOAT = ("10 01 02 00", "07", "0D 01 00")
# Types 3, 5, 6 and 7 are tile<ptr<f32>>, tile<i1>, tile<f32> and token; arguments 0 and 1 have types 3 and 5.
POINTER = ("10 02 03 05 00", "07", "0C 01", "0D 02 00", "00", "0D 04 00", "0D 01 00", "11", "04")


def entry(arguments: str, body: str, rest: str = "") -> str:
    return f"entry @k({arguments}) {rest} {{ {body} }}"


def check_equal(kernel: Kernel, text: str) -> None:
    read, expected = Module.parse(kernel.bytes(), "k.tileirbc"), Module.parse(text)
    assert read.to_text(generic=True) == expected.to_text(generic=True)


@pytest.mark.parametrize("version", VERSIONS)
def test_empty_kernel(version: str) -> None:
    check_equal(Kernel(version=version), entry("", ""))


CASES: dict[str, tuple[Any, str, str, str]] = {
    "addi: type, overflow, values": (INTEGER, "13.1", "03 02 03 00 00", "%0 = addi %a, %a overflow<no_wrap>"),
    "results are numbered consecutively": (
        INTEGER,
        "13.1",
        "01 02 00 03 02 00 01 00",
        "%0 = absi %a : tile<i32> %1 = addi %0, %a",
    ),
    "over-long number": (INTEGER, "13.1", "81 80 00 02 80 80 00", "%0 = absi %a"),
    "negi has no overflow before 13.2": (INTEGER, "13.1", "50 02 00", "%0 = negi %a"),
    "negi has overflow since 13.2": (INTEGER, "13.2", "50 02 01 00", "%0 = negi %a overflow<no_signed_wrap>"),
    "addf: flags, rounding": (FLOAT, "13.1", "02 02 01 01 00 00", "%0 = addf %a, %a rounding<zero> flush_to_zero"),
    "unknown flags are ignored": (FLOAT, "13.1", "02 02 7E 01 00 00", "%0 = addf %a, %a rounding<zero>"),
    "two flags": (FLOAT, "13.1", "45 02 03 00 00", "%0 = maxf %a, %a flush_to_zero propagate_nan"),
    "tanh has no rounding mode before 13.2": (FLOAT, "13.1", "6A 02 00", "%0 = tanh %a"),
    "tanh has a rounding mode since 13.2": (FLOAT, "13.2", "6A 02 04 00", "%0 = tanh %a rounding<approx>"),
    "exp has no rounding mode before 13.3": (FLOAT, "13.2", "17 02 00", "%0 = exp %a"),
    "exp has a rounding mode since 13.3": (FLOAT, "13.3", "17 02 04 00", "%0 = exp %a rounding<approx>"),
}


@pytest.mark.parametrize("name", CASES)
def test_elementwise_operations(name: str) -> None:
    types, version, body, text = CASES[name]
    tile = "tile<i32>" if types is INTEGER else "tile<f32>"
    check_equal(Kernel(body, types, version=version), entry(f"%a: {tile}", f"{text} : {tile}"))


@pytest.mark.parametrize(("version", "flags"), [("13.1", ""), ("13.3", ""), ("13.4", "00"), ("13.4", "01")])
def test_ftoi_has_saturating_since_13_4(version: str, flags: str) -> None:
    types = ("10 01 02 00", "07", "0D 01 00", "03", "0D 03 00")
    saturating = " saturating" if flags == "01" else ""
    text = f"%0 = ftoi %a signed rounding<nearest_int_to_zero>{saturating} : tile<f32> -> tile<i32>"
    check_equal(Kernel(f"2B 04 {flags} 01 06 00", types, version=version), entry("%a: tile<f32>", text))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("3D 06 07 00 00 00", "load_ptr_tko weak %p : tile<ptr<f32>>"),
        ("3D 06 07 15 01 01 00 01 02", "load_ptr_tko relaxed device %p, %m token=%t : tile<ptr<f32>>, tile<i1>"),
        # A 64-bit hint, and a boolean as it is encoded by each of the two writers.
        (
            "3D 06 07 02 00 01 01 0A 02 02 03 00 03 01 08 03 00",
            "load_ptr_tko weak %p optimization_hints = <sm_100 = {allow_tma = false, latency = 3 : i64}>"
            " : tile<ptr<f32>>",
        ),
        (
            "3D 06 07 02 00 01 01 0A 02 02 01 04 00 03 01 08 03 00",
            "load_ptr_tko weak %p optimization_hints = <sm_100 = {allow_tma = false, latency = 3 : i64}>"
            " : tile<ptr<f32>>",
        ),
    ],
)
def test_optional_members_have_a_flag(body: str, text: str) -> None:
    strings = ("k", "sm_100", "allow_tma", "latency")
    lines = f"%t = make_token : token %r, %u = {text} -> tile<f32>, token"
    check_equal(Kernel(f"44 07 {body}", POINTER, strings), entry("%p: tile<ptr<f32>>, %m: tile<i1>", lines))


def test_print_has_no_token_before_13_2() -> None:
    # No results, the string, the number of tiles, the tiles.
    kernel = Kernel("55 00 01 01 00", INTEGER, ("k", "n=%i"))
    check_equal(kernel, entry("%a: tile<i32>", '%0 = print_tko "n=%i", %a : tile<i32> -> token'))


def test_print_before_13_2_has_no_result_number() -> None:
    # The operation after the print has result 1, not 2.
    kernel = Kernel("55 00 01 01 00 01 02 00 03 02 00 01 01", INTEGER, ("k", "n=%i"))
    lines = '%0 = print_tko "n=%i", %a : tile<i32> -> token %1 = absi %a : tile<i32> %2 = addi %1, %1 : tile<i32>'
    check_equal(kernel, entry("%a: tile<i32>", lines))


def test_print_has_tokens_since_13_2() -> None:
    kernel = Kernel("44 03 55 01 03 01 01 01 00 01", (*INTEGER, "11"), ("k", "n=%i"), version="13.2")
    lines = '%t = make_token : token %0 = print_tko "n=%i", %a token=%t : tile<i32> -> token'
    check_equal(kernel, entry("%a: tile<i32>", lines))


@pytest.mark.parametrize(
    ("version", "flags", "keyword"), [("13.1", "", ""), ("13.2", "00", ""), ("13.2", "01", "unsigned")]
)
def test_value_numbers_of_a_region_are_reused(version: str, flags: str, keyword: str) -> None:
    # for: one result; four operands; one region of one block with two arguments (values 1 and 2) and one operation.
    # The result of the loop is also value 1.
    body = f"29 01 02 {flags} 04 00 00 00 00 01  01 02 02 02 01 11 00 01 02  01 02 01"
    lines = f"""%r = for {keyword} %i in (%a to %a, step %a) : tile<i32> iter_values(%x = %a) -> (tile<i32>) {{
      continue %x : tile<i32>
    }} %0 = absi %r : tile<i32>"""
    check_equal(Kernel(body, INTEGER, version=version), entry("%a: tile<i32>", lines))


def test_loop_with_break() -> None:
    body = "41 01 02 01 00 01  01 01 02 01 0A 00 01 01"
    lines = "%r = loop iter_values(%x = %a) : tile<i32> -> tile<i32> { break %x : tile<i32> }"
    check_equal(Kernel(body, INTEGER), entry("%a: tile<i32>", lines))


def test_absent_else_has_no_block() -> None:
    types = ("10 01 02 00", "00", "0D 01 00")
    without = "32 00 00 02  01 00 01 6D 00 00  00"
    both = "32 01 02 00 02  01 00 01 6D 00 01 00  01 00 01 6D 00 01 00"
    lines = """if %c { } %r = if %c -> (tile<i1>) { yield %c : tile<i1> } else { yield %c : tile<i1> }"""
    check_equal(Kernel(without + both, types), entry("%c: tile<i1>", lines))


def test_identity_is_the_bit_pattern_of_a_float() -> None:
    # A tile of ones; reduce: one result, dimension 0, an array of one float of type 1, one operand, the body.
    infinity = number(0xFF800000 << 1).hex(" ")
    types = (NO_ARGUMENTS, "07", "0D 01 01 08 00 00 00 00 00 00 00", "0D 01 00")
    body = f"10 02 00  58 01 03 00 01 02 01 {infinity} 01 00 01  01 02 03 03 02 45 03 00 01 02 6D 00 01 03"
    lines = """%c = constant <f32: 1.0> : tile<8xf32>
    %r = reduce %c dim=0 identities=[0xFF800000 : f32] : tile<8xf32> -> tile<f32> (%x: tile<f32>, %y: tile<f32>) {
      %m = maxf %x, %y : tile<f32>
      yield %m : tile<f32>
    }"""
    check_equal(Kernel(body, types, constants=("00 00 80 3F",)), entry("", lines))


@pytest.mark.parametrize(
    ("predicate", "text", "tile"),
    [
        ("0C 01 00", "bounded<0, ?>", "tile<i32>"),
        ("0C 02 07", "bounded<?, -4>", "tile<i32>"),
        ("0C 00", "bounded<?, ?>", "tile<i32>"),
        ("08 10 00", "div_by<16>", "tile<i32>"),
        ("08 10 03 08 02", "div_by<16, every 4 along 1>", "tile<8x16xi32>"),
        ("09 02 08 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00", "same_elements<[8, 1]>", "tile<8x16xi32>"),
    ],
)
def test_predicates_of_assume(predicate: str, text: str, tile: str) -> None:
    # The operand is a constant of tile<8x16xi32>, type 3, or the argument.
    types = (*INTEGER, "0D 01 02 08 00 00 00 00 00 00 00 10 00 00 00 00 00 00 00")
    type, value = ("02", "00") if tile == "tile<i32>" else ("03", "01")
    lines = f"%c = constant <i32: 0> : tile<8x16xi32> %0 = assume {text}, {'%a' if value == '00' else '%c'} : {tile}"
    kernel = Kernel(f"10 03 00 06 {type} {predicate} {value}", types, constants=("00 00 00 00",))
    check_equal(kernel, entry("%a: tile<i32>", lines))


VIEW = "tensor_view<64x64xf32, strides=[64,1]>"
# Types 4 and 5 are the views, 6 is tile<8x8xf32>, 7 is token, 9 is tile<i32>. Since 13.3 and 13.4 options come first.
EXTENT, ONE, TILE = "40 00 00 00 00 00 00 00", "01 00 00 00 00 00 00 00", "08 00 00 00"


def _view_types(version: str) -> tuple[str, ...]:
    pointer, tile = ("00" if version >= "13.4" else ""), ("00" if version >= "13.3" else "")
    return (
        *("10 02 03 09 00", "07", f"0C {pointer} 01", "0D 02 00"),
        f"0E {pointer} 01 02 {EXTENT} {EXTENT} 02 {EXTENT} {ONE}",
        f"0F {tile} 02 {TILE} {TILE} 04 02 00 00 00 00 01 00 00 00" + ("" if tile else "00"),
        *("0D 01 02" + " 08 00 00 00 00 00 00 00" * 2, "11", "03", "0D 08 00"),
    )


@pytest.mark.parametrize(
    ("version", "inbounds", "text"),
    [
        ("13.1", "", ""),
        ("13.3", "", ""),
        ("13.4", "02 00 00", ""),
        ("13.4", "02 01 00", " inbounds = [true, false]"),
        ("13.5", "02 01 01", " inbounds = [true, true]"),
    ],
)
def test_load_has_inbounds_since_13_4(version: str, inbounds: str, text: str) -> None:
    # The number of results and their types, no flags, weak, the view, two indices.
    body = f"43 01 04 00 00 00 42 05 02 3E 02 06 07 00 00 {inbounds} 03 02 01 01"
    lines = f"""%tv = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : {VIEW}
    %pv = make_partition_view %tv : partition_view<tile=(8x8), {VIEW}>
    %0, %1 = load_view_tko weak %pv[%i, %i]{text} : partition_view<tile=(8x8), {VIEW}>, tile<i32>
      -> tile<8x8xf32>, token
    """
    kernel = Kernel(body, _view_types(version), version=version)
    check_equal(kernel, entry("%p: tile<ptr<f32>>, %i: tile<i32>", lines))


@pytest.mark.parametrize(
    ("version", "qualifiers", "keywords"),
    [
        ("13.1", "", ""),
        ("13.3", "00 00", ""),
        ("13.3", "01 01", "private constant "),
        ("13.3", "00 05", "constant "),
    ],
)
def test_global_record(version: str, qualifiers: str, keywords: str) -> None:
    pointer = "0C 00 01" if version >= "13.4" else "0C 01"
    types = (NO_ARGUMENTS, "07", "0D 01 01 02 00 00 00 00 00 00 00", pointer, "0D 03 00")
    values = ("00 00 80 3F 00 00 00 40",)
    kernel = Kernel("2C 04 01", types, ("k", "g"), values, f"01 01 02 00 10 {qualifiers}", version=version)
    check_equal(
        kernel,
        f"global {keywords}@g alignment = 16 <f32: [1.0, 2.0]> : tile<2xf32>"
        + entry("", "%0 = get_global @g : tile<ptr<f32>>"),
    )


HINTS = "0B 01 01 0A 01 02 01 03 02"


@pytest.mark.parametrize(
    ("version", "flags", "hints", "text"),
    [
        ("13.1", 6, HINTS, "optimization_hints=<sm_100 = {num_cta_in_cga = 2 : i64}>"),
        ("13.1", 6, "0B 00", ""),
        ("13.5", 2, HINTS, "optimization_hints=<sm_100 = {num_cta_in_cga = 2 : i64}>"),
        # Unknown flags are ignored in old files.
        ("13.3", 0xFA, "", ""),
    ],
)
def test_hints_of_a_kernel(version: str, flags: int, hints: str, text: str) -> None:
    types, strings = (NO_ARGUMENTS, "03", "0D 01 00", "04"), ("k", "sm_100", "num_cta_in_cga")
    check_equal(Kernel("", types, strings, version=version, flags=flags, hints=hints), entry("", "", text))


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ("06 00", "%a: tile<i32>"),
        ("06 01 0A 00", "%a: tile<i32>"),
        ("06 01 0A 01 01 01 01 03", "%a: tile<i32> {my.fact = 3 : i32}"),
        # The number of dictionaries may differ from the number of arguments.
        ("06 02 0A 01 01 01 01 03 0A 00", "%a: tile<i32> {my.fact = 3 : i32}"),
    ],
)
def test_attributes_of_arguments(attributes: str, text: str) -> None:
    kernel = Kernel("", INTEGER, ("k", "my.fact"), version="13.5", arguments=attributes)
    check_equal(kernel, entry(text, ""))


def test_producer_is_an_attribute_of_the_module() -> None:
    kernel = Kernel(strings=("k", "me 1.0"), producer="01", version="13.3")
    check_equal(kernel, f'cuda_tile.module @kernels attributes {{producer = "me 1.0"}} {{ {entry("", "")} }}')


def test_producer_is_ignored_before_13_3() -> None:
    check_equal(Kernel(strings=("k", "me 1.0"), producer="01", version="13.2"), entry("", ""))


def test_preview_call_with_the_preview_tag() -> None:
    # Opcode 0x4002: no results, no optional members, the name, no constants, one operand.
    kernel = Kernel("82 80 01 00 00 01 00 01 00", INTEGER, ("k", "f"), version="13.5", tag=1)
    check_equal(kernel, entry("%a: tile<i32>", "preview$call @f(%a) : (tile<i32>) -> ()"))
