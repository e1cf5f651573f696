"""Undefined behaviour has the result of a GPU without checking, and is an error at the user's line with checking."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.errors import SimulationError

STORE = "%k = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token"
PARAMETERS = "%p: tile<ptr<i32>>, %a: tile<i32>, %b: tile<i32>"
LEAST, GREATEST = -(2**31), 2**31 - 1

CASES = [
    ("divi %a, %b signed", 7, 0, -1, "division by zero is undefined"),
    ("divi %a, %b signed", LEAST, -1, LEAST, "dividing the most negative i32 by -1 is undefined"),
    ("remi %a, %b unsigned", 7, 0, 7, "division by zero is undefined"),
    ("shli %a, %b", 1, 32, 0, "shift amount of i32 must be below 32, got 32"),
    ("shri %a, %b signed", -8, 99, -1, "must be below 32, got 99"),
    ("shri %a, %b unsigned", -8, 40, 0, "must be below 32, got 40"),
    ("addi %a, %b overflow<no_signed_wrap>", GREATEST, 1, LEAST, "the result 2147483648 does not fit signed i32"),
    ("addi %a, %b overflow<no_unsigned_wrap>", -1, 2, 1, "the result 4294967297 does not fit unsigned i32"),
    ("subi %a, %b overflow<no_unsigned_wrap>", 1, 2, -1, "the result -1 does not fit unsigned i32"),
    ("muli %a, %b overflow<no_wrap>", 65536, 65536, 0, "which violates no_wrap"),
    ("shli %a, %b overflow<no_signed_wrap>", 2**30, 1, LEAST, "the result 2147483648 does not fit signed i32"),
]


@pytest.mark.parametrize(("operation", "a", "b", "value", "message"), CASES)
def test_integer_operations(execute, operation, a, b, value, message):
    result = np.zeros(1, np.int32)
    body = f"%r = {operation} : tile<i32> {STORE}"
    execute(PARAMETERS, body, result, a, b)
    assert result[0] == value
    with pytest.raises(SimulationError, match=message) as caught:
        execute(PARAMETERS, body, result, a, b, check=True)
    assert caught.value.location.line == 2


def test_overflow_assumption_that_holds_is_not_an_error(execute):
    result = np.zeros(1, np.int32)
    execute(PARAMETERS, f"%r = addi %a, %b overflow<no_signed_wrap> : tile<i32> {STORE}", result, -5, 2, check=True)
    assert result[0] == -3


def test_negation_of_the_least_integer(execute):
    body = f"%r = negi %a overflow<no_signed_wrap> : tile<i32> {STORE}"
    execute(PARAMETERS, body, np.zeros(1, np.int32), LEAST, 0)
    with pytest.raises(SimulationError, match="does not fit signed i32"):
        execute(PARAMETERS, body, np.zeros(1, np.int32), LEAST, 0, check=True)


def test_truncation_that_loses_bits(execute):
    body = f"""%n = trunci %a overflow<no_signed_wrap> : tile<i32> -> tile<i8>
    %r = exti %n signed : tile<i8> -> tile<i32> {STORE}"""
    result = np.zeros(1, np.int32)
    execute(PARAMETERS, body, result, -128, 0, check=True)
    execute(PARAMETERS, body, result, 128, 0)
    assert result[0] == -128
    with pytest.raises(SimulationError, match="the result 128 does not fit signed i8"):
        execute(PARAMETERS, body, result, 128, 0, check=True)


@pytest.mark.parametrize(("value", "expected"), [(3e9, GREATEST), (-3e9, LEAST), (float("nan"), 0), (-1.5, -1)])
def test_conversion_of_a_float_out_of_range(execute, value, expected):
    result = np.zeros(1, np.int32)
    parameters, body = "%p: tile<ptr<i32>>, %x: tile<f32>", f"%r = ftoi %x signed : tile<f32> -> tile<i32> {STORE}"
    execute(parameters, body, result, value)
    assert result[0] == expected
    execute(parameters, body.replace("signed", "signed saturating"), result, value, check=True)
    assert result[0] == expected
    if value != -1.5:
        with pytest.raises(SimulationError, match="to signed i32 is undefined"):
            execute(parameters, body, result, value, check=True)


def test_sub_tile_index_out_of_range(execute):
    body = f"""%t = constant <i32: [1, 2, 3, 4]> : tile<4xi32>
    %u = extract %t[%a] : tile<4xi32> -> tile<1xi32>
    %r = reshape %u : tile<1xi32> -> tile<i32> {STORE}"""
    result = np.zeros(1, np.int32)
    execute(PARAMETERS, body, result, 2, 0, check=True)
    assert result[0] == 3
    execute(PARAMETERS, body, result, 4, 0)
    with pytest.raises(SimulationError, match="dimension 0 has 4 sub-tiles of 1, got index 4"):
        execute(PARAMETERS, body, result, 4, 0, check=True)


def test_extent_that_does_not_fit_its_type(execute):
    parameters = "%p: tile<ptr<i8>>, %n: tile<i32>"
    body = """%t = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xi8, strides=[1]>
    %r = get_tensor_shape %t : tensor_view<?xi8, strides=[1]> -> tile<i8>
    %k = store_ptr_tko weak %p, %r : tile<ptr<i8>>, tile<i8> -> token"""
    result = np.zeros(1, np.int8)
    execute(parameters, body, result, 200, check=True)
    assert result[0] == 200 - 256
    with pytest.raises(SimulationError, match="the extent 300 does not fit i8"):
        execute(parameters, body, result, 300, check=True)


ASSUMED = [
    ("div_by<16>", "tile<i32>", 48, 40),
    ("div_by<4>", "tile<i32>", -8, -6),
    ("div_by<2147483648>", "tile<i32>", -(2**31), 2**30),
    ("div_by<4611686018427387904>", "tile<i32>", 0, -(2**31)),
    ("bounded<0, ?>", "tile<i32>", 0, -1),
    ("bounded<?, 9>", "tile<i32>", 9, 10),
    ("bounded<-3, 3>", "tile<i32>", -3, -4),
]


@pytest.mark.parametrize(("predicate", "kind", "valid", "invalid"), ASSUMED)
def test_assumption_about_a_scalar(execute, predicate, kind, valid, invalid):
    body = f"%r = assume {predicate}, %a : {kind} {STORE}"
    result = np.zeros(1, np.int32)
    execute(PARAMETERS, body, result, valid, 0, check=True)
    assert result[0] == valid
    execute(PARAMETERS, body, result, invalid, 0)
    with pytest.raises(
        SimulationError, match=f"the assumption {predicate.replace('?', '.')} does not hold: the value is {invalid}"
    ):
        execute(PARAMETERS, body, result, invalid, 0, check=True)


TILES = [
    ("div_by<4, every 2 along 0>", "[4, 5, 8, 9]", "[4, 6, 8, 9]"),
    ("div_by<4, every 2 along 0>", "[4, 5, 8, 9]", "[5, 6, 8, 9]"),
    ("div_by<4, every 3 along 0>", "[4, 5, 6, 8]", "[4, 5, 6, 7]"),
    ("div_by<4, every 0 along 0>", "[4, 0, 12, 8]", "[4, 5, 8, 9]"),
    ("same_elements<[2]>", "[4, 4, 8, 8]", "[4, 4, 4, 8]"),
    ("same_elements<[0]>", "[4, 5, 8, 7]", None),
    ("bounded<1, 8>", "[1, 2, 3, 8]", "[1, 2, 3, 9]"),
]


@pytest.mark.parametrize(("predicate", "valid", "invalid"), TILES)
def test_assumption_about_a_tile(execute, predicate, valid, invalid):
    body = f"%t = constant <i32: VALUES> : tile<4xi32> %r = assume {predicate}, %t : tile<4xi32>"
    execute("", body.replace("VALUES", valid), check=True)
    if invalid is not None:
        execute("", body.replace("VALUES", invalid))
        with pytest.raises(SimulationError, match="does not hold"):
            execute("", body.replace("VALUES", invalid), check=True)


def test_assumption_about_an_address_is_in_bytes(execute):
    storage = np.zeros(64, np.uint8)
    start = -storage.ctypes.data % 32
    body = "%r = assume div_by<32>, %p : tile<ptr<f32>>"
    execute("%p: tile<ptr<f32>>", body, storage.ctypes.data + start, check=True)
    with pytest.raises(SimulationError, match="div_by<32>"):
        execute("%p: tile<ptr<f32>>", body, storage.ctypes.data + start + 16, check=True)
