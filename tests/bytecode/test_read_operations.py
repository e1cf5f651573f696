"""Operations out of bytes written by hand: what each means is what its text means."""

from __future__ import annotations

from typing import Any

import pytest
from file_assembler import NO_ARGUMENTS, Kernel, number

from tilec.text_input.module import Module

VERSIONS = ("13.1", "13.2", "13.3", "13.4", "13.5")
# Types 1 and 2: i32 and tile<i32>; the kernel has one argument of the latter, which is value 0.
INTEGER = ("10 01 02 00", "03", "0D 01 00")
FLOAT = ("10 01 02 00", "07", "0D 01 00")
# Types 3, 5, 6 and 7: tile<ptr<f32>>, tile<i1>, tile<f32> and token; arguments 0 and 1 have the first two.
POINTER = ("10 02 03 05 00", "07", "0C 01", "0D 02 00", "00", "0D 04 00", "0D 01 00", "11", "04")


def entry(arguments: str, body: str, rest: str = "") -> str:
    return f"entry @k({arguments}) {rest} {{ {body} }}"


def means_the_same(kernel: Kernel, text: str) -> None:
    read, expected = Module.parse(kernel.bytes(), "k.tileirbc"), Module.parse(text)
    assert read.to_text(generic=True) == expected.to_text(generic=True)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_kernel_that_does_nothing(version: str) -> None:
    means_the_same(Kernel(version=version), entry("", ""))


CASES: dict[str, tuple[Any, str, str, str]] = {
    "addi: type, overflow, values": (INTEGER, "13.1", "03 02 03 00 00", "%0 = addi %a, %a overflow<no_wrap>"),
    "values count on": (INTEGER, "13.1", "01 02 00 03 02 00 01 00", "%0 = absi %a : tile<i32> %1 = addi %0, %a"),
    "an over-long number": (INTEGER, "13.1", "81 80 00 02 80 80 00", "%0 = absi %a"),
    "negi had no overflow at first": (INTEGER, "13.1", "50 02 00", "%0 = negi %a"),
    "negi has it since 13.2": (INTEGER, "13.2", "50 02 01 00", "%0 = negi %a overflow<no_signed_wrap>"),
    "addf: flags, rounding": (FLOAT, "13.1", "02 02 01 01 00 00", "%0 = addf %a, %a rounding<zero> flush_to_zero"),
    "unknown flags mean nothing": (FLOAT, "13.1", "02 02 7E 01 00 00", "%0 = addf %a, %a rounding<zero>"),
    "two flags": (FLOAT, "13.1", "45 02 03 00 00", "%0 = maxf %a, %a flush_to_zero propagate_nan"),
    "tanh rounds fully before 13.2": (FLOAT, "13.1", "6A 02 00", "%0 = tanh %a"),
    "tanh says it since 13.2": (FLOAT, "13.2", "6A 02 04 00", "%0 = tanh %a rounding<approx>"),
    "exp rounds fully before 13.3": (FLOAT, "13.2", "17 02 00", "%0 = exp %a"),
    "exp says it since 13.3": (FLOAT, "13.3", "17 02 04 00", "%0 = exp %a rounding<approx>"),
}


@pytest.mark.parametrize("name", CASES)
def test_straight_code(name: str) -> None:
    types, version, body, text = CASES[name]
    tile = "tile<i32>" if types is INTEGER else "tile<f32>"
    means_the_same(Kernel(body, types, version=version), entry(f"%a: {tile}", f"{text} : {tile}"))


@pytest.mark.parametrize(("version", "flags"), [("13.1", ""), ("13.3", ""), ("13.4", "00"), ("13.4", "01")])
def test_ftoi_saturates_since_13_4(version: str, flags: str) -> None:
    types = ("10 01 02 00", "07", "0D 01 00", "03", "0D 03 00")
    saturating = " saturating" if flags == "01" else ""
    text = f"%0 = ftoi %a signed rounding<nearest_int_to_zero>{saturating} : tile<f32> -> tile<i32>"
    means_the_same(Kernel(f"2B 04 {flags} 01 06 00", types, version=version), entry("%a: tile<f32>", text))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("3D 06 07 00 00 00", "load_ptr_tko weak %p : tile<ptr<f32>>"),
        ("3D 06 07 15 01 01 00 01 02", "load_ptr_tko relaxed device %p, %m token=%t : tile<ptr<f32>>, tile<i1>"),
        # A hint of 64 bits, and a boolean in the form of each of the two writers.
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
def test_members_that_may_be_absent_have_a_bit(body: str, text: str) -> None:
    strings = ("k", "sm_100", "allow_tma", "latency")
    lines = f"%t = make_token : token %r, %u = {text} -> tile<f32>, token"
    means_the_same(Kernel(f"44 07 {body}", POINTER, strings), entry("%p: tile<ptr<f32>>, %m: tile<i1>", lines))


def test_printing_gave_no_token_at_first() -> None:
    # No results, the string, then the number of tiles and each.
    kernel = Kernel("55 00 01 01 00", INTEGER, ("k", "n=%i"))
    means_the_same(kernel, entry("%a: tile<i32>", '%0 = print_tko "n=%i", %a : tile<i32> -> token'))


def test_nothing_can_use_the_token_of_an_old_print() -> None:
    # The sum after it is value 1, not 2.
    kernel = Kernel("55 00 01 01 00 01 02 00 03 02 00 01 01", INTEGER, ("k", "n=%i"))
    lines = '%0 = print_tko "n=%i", %a : tile<i32> -> token %1 = absi %a : tile<i32> %2 = addi %1, %1 : tile<i32>'
    means_the_same(kernel, entry("%a: tile<i32>", lines))


def test_printing_takes_and_gives_tokens_since_13_2() -> None:
    kernel = Kernel("44 03 55 01 03 01 01 01 00 01", (*INTEGER, "11"), ("k", "n=%i"), version="13.2")
    lines = '%t = make_token : token %0 = print_tko "n=%i", %a token=%t : tile<i32> -> token'
    means_the_same(kernel, entry("%a: tile<i32>", lines))


@pytest.mark.parametrize(
    ("version", "flags", "word"), [("13.1", "", ""), ("13.2", "00", ""), ("13.2", "01", "unsigned")]
)
def test_values_of_a_region_end_with_it(version: str, flags: str, word: str) -> None:
    # for: one result; four operands; one region of one block of two arguments (values 1 and 2) and one operation.
    # Its result is value 1, too.
    body = f"29 01 02 {flags} 04 00 00 00 00 01  01 02 02 02 01 11 00 01 02  01 02 01"
    lines = f"""%r = for {word} %i in (%a to %a, step %a) : tile<i32> iter_values(%x = %a) -> (tile<i32>) {{
      continue %x : tile<i32>
    }} %0 = absi %r : tile<i32>"""
    means_the_same(Kernel(body, INTEGER, version=version), entry("%a: tile<i32>", lines))


def test_a_loop_is_left_by_break() -> None:
    body = "41 01 02 01 00 01  01 01 02 01 0A 00 01 01"
    lines = "%r = loop iter_values(%x = %a) : tile<i32> -> tile<i32> { break %x : tile<i32> }"
    means_the_same(Kernel(body, INTEGER), entry("%a: tile<i32>", lines))


def test_an_else_that_is_not_there_has_no_block() -> None:
    types = ("10 01 02 00", "00", "0D 01 00")
    without = "32 00 00 02  01 00 01 6D 00 00  00"
    both = "32 01 02 00 02  01 00 01 6D 00 01 00  01 00 01 6D 00 01 00"
    lines = """if %c { } %r = if %c -> (tile<i1>) { yield %c : tile<i1> } else { yield %c : tile<i1> }"""
    means_the_same(Kernel(without + both, types), entry("%c: tile<i1>", lines))


def test_an_identity_is_the_bits_of_a_float() -> None:
    # A tile of ones; reduce: a result, dimension 0, an array of one float of type 1, an operand, the body.
    infinity = number(0xFF800000 << 1).hex(" ")
    types = (NO_ARGUMENTS, "07", "0D 01 01 08 00 00 00 00 00 00 00", "0D 01 00")
    body = f"10 02 00  58 01 03 00 01 02 01 {infinity} 01 00 01  01 02 03 03 02 45 03 00 01 02 6D 00 01 03"
    lines = """%c = constant <f32: 1.0> : tile<8xf32>
    %r = reduce %c dim=0 identities=[0xFF800000 : f32] : tile<8xf32> -> tile<f32> (%x: tile<f32>, %y: tile<f32>) {
      %m = maxf %x, %y : tile<f32>
      yield %m : tile<f32>
    }"""
    means_the_same(Kernel(body, types, constants=("00 00 80 3F",)), entry("", lines))


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
def test_promises_of_assume(predicate: str, text: str, tile: str) -> None:
    # The value is a constant of tile<8x16xi32>, type 3, or the argument.
    types = (*INTEGER, "0D 01 02 08 00 00 00 00 00 00 00 10 00 00 00 00 00 00 00")
    type, value = ("02", "00") if tile == "tile<i32>" else ("03", "01")
    lines = f"%c = constant <i32: 0> : tile<8x16xi32> %0 = assume {text}, {'%a' if value == '00' else '%c'} : {tile}"
    kernel = Kernel(f"10 03 00 06 {type} {predicate} {value}", types, constants=("00 00 00 00",))
    means_the_same(kernel, entry("%a: tile<i32>", lines))


VIEW = "tensor_view<64x64xf32, strides=[64,1]>"
# Types 4 and 5: the views; 6: tile<8x8xf32>; 7: token; 9: tile<i32>. From 13.3 and 13.4 on, options come first.
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
def test_a_load_says_what_is_inbounds_since_13_4(version: str, inbounds: str, text: str) -> None:
    # Results and their number, no flags, weak, the view, two indices.
    body = f"43 01 04 00 00 00 42 05 02 3E 02 06 07 00 00 {inbounds} 03 02 01 01"
    lines = f"""%tv = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : {VIEW}
    %pv = make_partition_view %tv : partition_view<tile=(8x8), {VIEW}>
    %0, %1 = load_view_tko weak %pv[%i, %i]{text} : partition_view<tile=(8x8), {VIEW}>, tile<i32>
      -> tile<8x8xf32>, token
    """
    kernel = Kernel(body, _view_types(version), version=version)
    means_the_same(kernel, entry("%p: tile<ptr<f32>>, %i: tile<i32>", lines))


@pytest.mark.parametrize(
    ("version", "qualifiers", "words"),
    [
        ("13.1", "", ""),
        ("13.3", "00 00", ""),
        ("13.3", "01 01", "private constant "),
        ("13.3", "00 05", "constant "),
    ],
)
def test_a_global_is_a_record(version: str, qualifiers: str, words: str) -> None:
    pointer = "0C 00 01" if version >= "13.4" else "0C 01"
    types = (NO_ARGUMENTS, "07", "0D 01 01 02 00 00 00 00 00 00 00", pointer, "0D 03 00")
    values = ("00 00 80 3F 00 00 00 40",)
    kernel = Kernel("2C 04 01", types, ("k", "g"), values, f"01 01 02 00 10 {qualifiers}", version=version)
    means_the_same(
        kernel,
        f"global {words}@g alignment = 16 <f32: [1.0, 2.0]> : tile<2xf32>"
        + entry("", "%0 = get_global @g : tile<ptr<f32>>"),
    )


HINTS = "0B 01 01 0A 01 02 01 03 02"


@pytest.mark.parametrize(
    ("version", "flags", "hints", "text"),
    [
        ("13.1", 6, HINTS, "optimization_hints=<sm_100 = {num_cta_in_cga = 2 : i64}>"),
        ("13.1", 6, "0B 00", ""),
        ("13.5", 2, HINTS, "optimization_hints=<sm_100 = {num_cta_in_cga = 2 : i64}>"),
        # Unknown flags of old files.
        ("13.3", 0xFA, "", ""),
    ],
)
def test_hints_of_a_kernel(version: str, flags: int, hints: str, text: str) -> None:
    types, strings = (NO_ARGUMENTS, "03", "0D 01 00", "04"), ("k", "sm_100", "num_cta_in_cga")
    means_the_same(Kernel("", types, strings, version=version, flags=flags, hints=hints), entry("", "", text))


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ("06 00", "%a: tile<i32>"),
        ("06 01 0A 00", "%a: tile<i32>"),
        ("06 01 0A 01 01 01 01 03", "%a: tile<i32> {my.fact = 3 : i32}"),
        # Their number need not be that of the arguments.
        ("06 02 0A 01 01 01 01 03 0A 00", "%a: tile<i32> {my.fact = 3 : i32}"),
    ],
)
def test_attributes_of_arguments(attributes: str, text: str) -> None:
    kernel = Kernel("", INTEGER, ("k", "my.fact"), version="13.5", arguments=attributes)
    means_the_same(kernel, entry(text, ""))


def test_the_producer_is_an_attribute_of_the_module() -> None:
    kernel = Kernel(strings=("k", "me 1.0"), producer="01", version="13.3")
    means_the_same(kernel, f'cuda_tile.module @kernels attributes {{producer = "me 1.0"}} {{ {entry("", "")} }}')


def test_older_files_have_no_producer() -> None:
    means_the_same(Kernel(strings=("k", "me 1.0"), producer="01", version="13.2"), entry("", ""))


def test_preview_calls_need_the_tag_of_the_preview() -> None:
    # Opcode 0x4002: no results, no optional members, the name, no constants, one operand.
    kernel = Kernel("82 80 01 00 00 01 00 01 00", INTEGER, ("k", "f"), version="13.5", tag=1)
    means_the_same(kernel, entry("%a: tile<i32>", "preview$call @f(%a) : (tile<i32>) -> ()"))
