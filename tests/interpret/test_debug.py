"""print_tko and assert: output, messages and locations."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.errors import SimulationError


def printed(execute, body, parameters="", *values, **settings):
    lines: list[str] = []
    execute(parameters, body, *values, write=lines.append, **settings)
    return "".join(lines)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (r'"plain 100%%\0A" -> token', "plain 100%\n"),
        (r'"x=%f", %x : tile<f32> -> token', "x=-1.500000"),
        (r'"%+08.3f|%e", %x, %x : tile<f32>, tile<f32> -> token', "-001.500|-1.500000e+00"),
        (r'"%d %5d|", %i, %i : tile<i8>, tile<i8> -> token', "-2    -2|"),
        (r'"%u %x", %i, %i : tile<i8>, tile<i8> -> token', "4294967294 fffffffe"),
        (r'"%hhu %hx %hhd", %i, %i, %i65 : tile<i8>, tile<i8>, tile<i32> -> token', "254 fffe 65"),
        (r'"%d %u", %b, %b : tile<i1>, tile<i1> -> token', "1 1"),
        (r'"%lld", %i : tile<i8> -> token', "-2"),
        (r'"%i", %t : tile<2x2xi32> -> token', "[[1, 2], [3, 4]]"),
        (r'"%c%c", %i65, %i65 : tile<i32>, tile<i32> -> token', "AA"),
        # The bytes of a character in UTF-8, and a byte that is not a character.
        (r'"ü%c%c|%c", %c3, %a9, %a9 : tile<i32>, tile<i32>, tile<i32> -> token', "üé|\ufffd"),
        (r'"%p", %q : tile<ptr<f32>> -> token', "0x1000"),
    ],
)
def test_print(execute, call, expected):
    body = f"""
    %x = constant <f32: -1.5> : tile<f32>
    %i = constant <i8: -2> : tile<i8>
    %b = constant <i1: true> : tile<i1>
    %i65 = constant <i32: 65> : tile<i32>
    %c3 = constant <i32: 0xC3> : tile<i32>
    %a9 = constant <i32: 0xA9> : tile<i32>
    %t = constant <i32: [[1, 2], [3, 4]]> : tile<2x2xi32>
    %k = print_tko {call}"""
    assert printed(execute, body, "%q: tile<ptr<f32>>", 4096) == expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('"%n", %i : tile<i32> -> token', "'%n' is not a printf directive for one number"),
        ('"%*d", %i : tile<i32> -> token', r"'%\*d' is not a printf directive for one number"),
        ('"%!d", %i : tile<i32> -> token', "'%!d' is not a printf directive for one number"),
        ('"%4096d", %i : tile<i32> -> token', "'%4096d' exceeds the limit of 4095 characters"),
        ('"%.4096f", %x : tile<f32> -> token', r"'%.4096f' exceeds the limit of 4095 characters"),
        ('"%d", %x : tile<f32> -> token', "'%d' prints integers, got a float"),
    ],
)
def test_invalid_directive_is_an_error(execute, call, message):
    body = f"""
    %x = constant <f32: 0x7FC00000> : tile<f32>
    %i = constant <i32: -2> : tile<i32>
    %k = print_tko {call}"""
    with pytest.raises(SimulationError, match=message) as caught:
        execute("", body)
    assert caught.value.location.line == 5


def test_tile_blocks_print_in_order_with_x_fastest(execute):
    body = """%x, %y, %z = get_tile_block_id : tile<i32>
    %a, %b, %c = get_num_tile_blocks : tile<i32>
    %k = print_tko "%d%d%d/%d%d%d ", %x, %y, %z, %a, %b, %c
      : tile<i32>, tile<i32>, tile<i32>, tile<i32>, tile<i32>, tile<i32> -> token"""
    assert printed(execute, body, grid=(2, 2)) == "000/221 100/221 010/221 110/221 "


def test_failed_assertion_names_the_elements(execute):
    body = """%t = constant <i32: [[1, 2], [3, 4]]> : tile<2x2xi32>
    %two = constant <i32: 2> : tile<2x2xi32>
    %c = cmpi not_equal %t, %two, signed : tile<2x2xi32> -> tile<2x2xi1>
    assert %c, "never two" : tile<2x2xi1>"""
    with pytest.raises(SimulationError, match=r"assertion failed: never two \(at \[0, 1\]\)") as caught:
        execute("", body)
    assert caught.value.location.line == 5


def test_assertion_that_holds_has_no_effect(execute):
    result = np.zeros(1, np.float32)
    body = """%c = constant <i1: true> : tile<i1>
    assert %c, "fine" : tile<i1>
    %x = constant <f32: 1.0> : tile<f32>
    %k = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token"""
    execute("%p: tile<ptr<f32>>", body, result)
    assert result[0] == 1
