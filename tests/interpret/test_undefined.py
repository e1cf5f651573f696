"""Undefined behaviour of Tile IR: each case has a result without checking, and an error or poison with checking.

The first column of the table in docs/checking.md names the same cases.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tilec.errors import SimulationError

DOCUMENT = Path(__file__).parents[2] / "docs" / "checking.md"

PARAMETERS = "%p: tile<ptr<i32>>, %a: tile<i32>, %b: tile<i32>"
STORE = "%done = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token"
TENSOR = "tensor_view<12xi32, strides=[1]>"
ZERO = "%zero = constant <i32: 0> : tile<i32>"
FOUR = f"""%one = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
    %four = broadcast %one : tile<1xptr<i32>> -> tile<4xptr<i32>>
    {ZERO}
    %numbers = iota : tile<4xi32>"""


def viewed(kind: str, maker: str, rest: str) -> str:
    return f"""{ZERO} %t = make_tensor_view %p, shape = [12], strides = [1] : {TENSOR}
    %v = {maker} %t : {kind}
    %x, %k = load_view_tko weak %v[%a]{rest} : {kind}, tile<i32> -> tile<4xi32>, token"""


class Case(NamedTuple):
    """A name, a body on PARAMETERS with undefined behaviour, the values of %a and %b, and the message of checking."""

    name: str
    body: str
    a: int
    b: int
    message: str


def arithmetic(operation: str) -> str:
    return f"%r = {operation} : tile<i32> {STORE}"


PARTITION = f"partition_view<tile=(4), padding_value = zero, {TENSOR}>"
STRIDED = f"strided_view<tile=(4), traversal_strides=[3], padding_value = zero, {TENSOR}>"
LEAST, GREATEST = -(2**31), 2**31 - 1

CASES = [
    Case("division by zero", arithmetic("divi %a, %b signed"), 7, 0, "division by zero is undefined"),
    Case("division by zero", arithmetic("remi %a, %b unsigned"), 7, 0, "division by zero is undefined"),
    Case("a quotient that does not fit its type", arithmetic("divi %a, %b signed"), LEAST, -1, "dividing the most negative i32"),  # noqa: E501
    Case("a shift amount of the bit width or more", arithmetic("shli %a, %b"), 1, 32, "must be below 32, got 32"),
    Case("a shift amount of the bit width or more", arithmetic("shri %a, %b signed"), 1, -1, "below 32, got 4294967295"),  # noqa: E501
    Case(
        "a violated `overflow` assumption", arithmetic("addi %a, %b overflow<no_signed_wrap>"), GREATEST, 1,
        "the result 2147483648 does not fit signed i32, which violates no_signed_wrap",
    ),
    Case(
        "a violated `assume`", f"%r = assume bounded<0, ?>, %a : tile<i32> {STORE}", -1, 0,
        r"the assumption bounded<0, \?> does not hold: the value is -1",
    ),
    Case(
        "a float that the integer type cannot represent",
        f"%x = constant <f32: 3.0e9> : tile<f32> %r = ftoi %x signed : tile<f32> -> tile<i32> {STORE}", 0, 0,
        "converting 3000000000.0 to signed i32 is undefined",
    ),
    Case(
        "a sub-tile index out of range",
        f"%t = iota : tile<4xi32> %u = extract %t[%a] : tile<4xi32> -> tile<1xi32> "
        f"%r = reshape %u : tile<1xi32> -> tile<i32> {STORE}", 4, 0,
        "dimension 0 has 4 sub-tiles of 1, got index 4",
    ),
    Case(
        "a sub-tile index out of range",
        "%t = iota : tile<4xi32> %u = iota : tile<2xi32> "
        "%r = insert %u, %t[%a] : tile<2xi32>, tile<4xi32>", -1, 0,
        "dimension 0 has 2 sub-tiles of 2, got index 4294967295",
    ),
    Case(
        "a tile index outside of the index space of a view", viewed(PARTITION, "make_partition_view", ""), 3, 0,
        "index 0 of the view must be at least 0 and below 3, got 3",
    ),
    Case(
        "a tile index outside of the index space of a view", viewed(STRIDED, "make_strided_view", ""), -1, 0,
        "index 0 of the view must be at least 0 and below 4, got -1",
    ),
    Case(
        "a violated `inbounds`", viewed(STRIDED, "make_strided_view", " inbounds = [true]"), 3, 0,
        "index 0 is marked as within bounds of 12 elements, got 12",
    ),
    Case(
        "an extent that does not fit its type",
        """%t = make_tensor_view %p, shape = [%a], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
        %r = get_tensor_shape %t : tensor_view<?xi32, strides=[1]> -> tile<i8>""", 300, 0,
        "the extent 300 does not fit i8",
    ),
    Case(
        "an address outside of the address space",
        "%big = constant <i64: 0x2000000000000000> : tile<i64> "
        "%q = offset %p, %big : tile<ptr<i32>>, tile<i64> -> tile<ptr<i32>>", 0, 0,
        "2305843009213693952 elements from 0x[0-9a-f]+ exceeds the 64-bit address space",
    ),
    Case(
        "an address outside of the address space",
        "%null = constant <i64: 8> : tile<i64> %q = int_to_ptr %null : tile<i64> -> tile<ptr<i32>> "
        "%s = offset %q, %a : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>", -3, 0,
        "-3 elements from 0x8 exceeds the 64-bit address space",
    ),
    Case(
        "an address outside of the address space",
        """%far = constant <i64: 0x4000000000000000> : tile<i64>
        %t = make_tensor_view %p, shape = [12], strides = [%far] : tile<i64> -> tensor_view<12xi32, strides=[?]>
        %v = make_partition_view %t : partition_view<tile=(4), tensor_view<12xi32, strides=[?]>>
        %x, %k = load_view_tko weak %v[%a]
          : partition_view<tile=(4), tensor_view<12xi32, strides=[?]>>, tile<i32> -> tile<4xi32>, token""", 1, 0,
        f"the offset of {7 * 2**62} elements from the start of the tensor",
    ),
    Case(
        "several stores to one address in one operation",
        f"{FOUR} %k = store_ptr_tko weak %four, %numbers : tile<4xptr<i32>>, tile<4xi32> -> token", 0, 0,
        r"element \[1\]: two elements of this store write different values to one address",
    ),
    Case(
        "unordered accesses",
        "%k = store_ptr_tko weak %p, %a : tile<ptr<i32>>, tile<i32> -> token "
        "%x, %l = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token", 0, 0,
        "unordered access: no token or value orders it after 'cuda_tile.store_ptr_tko' on the same memory",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[f"{number} {case.name}" for number, case in enumerate(CASES)])
def test_checking_reports_undefined_behaviour(execute, case):
    execute(PARAMETERS, case.body, np.zeros(12, np.int32), case.a, case.b)
    with pytest.raises(SimulationError, match=case.message) as caught:
        execute(PARAMETERS, case.body, np.zeros(12, np.int32), case.a, case.b, check=True)
    assert caught.value.location.file == "kernel.mlir"


# Undefined values: poison when checking.
POISONED = {
    "elements outside of a tensor": f"""{ZERO} %two = constant <i32: 2> : tile<i32>
    %t = make_tensor_view %p, shape = [10], strides = [1] : tensor_view<10xi32, strides=[1]>
    %v = make_partition_view %t : partition_view<tile=(4), tensor_view<10xi32, strides=[1]>>
    %x, %k = load_view_tko weak %v[%two]
      : partition_view<tile=(4), tensor_view<10xi32, strides=[1]>>, tile<i32> -> tile<4xi32>, token""",
    "elements that a mask excludes": f"""{FOUR} %mask = constant <i1: [true, true, false, false]> : tile<4xi1>
    %at = offset %four, %numbers : tile<4xptr<i32>>, tile<4xi32> -> tile<4xptr<i32>>
    %x, %k = load_ptr_tko weak %at, %mask : tile<4xptr<i32>>, tile<4xi1> -> tile<4xi32>, token""",
    "memory of `alloca` before the first store": """%memory = alloca num_elem = 4, alignment = 16 : tile<ptr<i32>>
    %rt = make_tensor_view %memory, shape = [4], strides = [1] : tensor_view<4xi32, strides=[1]>
    %rv = make_partition_view %rt : partition_view<tile=(4), tensor_view<4xi32, strides=[1]>>
    %none = constant <i32: 0> : tile<i32>
    %x, %k = load_view_tko weak %rv[%none]
      : partition_view<tile=(4), tensor_view<4xi32, strides=[1]>>, tile<i32> -> tile<4xi32>, token""",
}
KEPT = """%start = constant <i32: 0> : tile<i32>
    %dt = make_tensor_view %q, shape = [4], strides = [1] : tensor_view<4xi32, strides=[1]>
    %dv = make_partition_view %dt : partition_view<tile=(4), tensor_view<4xi32, strides=[1]>>
    %e = store_view_tko weak %x, %dv[%start]
      : tile<4xi32>, partition_view<tile=(4), tensor_view<4xi32, strides=[1]>>, tile<i32> -> token"""


@pytest.mark.parametrize("name", POISONED)
def test_undefined_value_is_zero_or_poison_when_checking(execute, name):
    source, result = np.full(12, 7, np.int32), np.zeros(4, np.int32)
    body = f"{POISONED[name]} {KEPT}"
    execute("%p: tile<ptr<i32>>, %q: tile<ptr<i32>>", body, source, result)
    assert result[3] == 0
    execute("%p: tile<ptr<i32>>, %q: tile<ptr<i32>>", body, source, result, check=True)
    assert result.view(np.uint32)[3] in (0xAAAAAAAA, 0xFFFFFFFF)


INFINITE_LOOPS = {
    "a loop that never ends": "%r = loop iter_values(%i = %a) : tile<i32> -> tile<i32> { continue %i : tile<i32> }",
    # The lock is taken and never released.
    "a wait for another tile block": """%free = constant <i32: 0> : tile<i32> %taken = constant <i32: 1> : tile<i32>
    %t0 = make_token : token
    %end = loop iter_values(%t = %t0) : token -> token {
      %old, %u = atomic_cas_tko acquire device %p, %free, %taken token=%t
        : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
      %mine = cmpi equal %old, %free, signed : tile<i32> -> tile<i1>
      if %mine { break %u : token }
      continue %u : token
    }""",
}


@pytest.mark.parametrize("name", INFINITE_LOOPS)
def test_infinite_loop_is_always_an_error(execute, name):
    for check in (False, True):
        with pytest.raises(SimulationError, match="infinite loop: an iteration changed neither"):
            execute(PARAMETERS, INFINITE_LOOPS[name], np.ones(1, np.int32), 3, 0, check=check)


def test_the_message_of_an_infinite_loop_describes_compiled_code(execute):
    with pytest.raises(SimulationError, match="a loop without effects is assumed to end"):
        execute(PARAMETERS, INFINITE_LOOPS["a loop that never ends"], np.ones(1, np.int32), 3, 0)


COUNT = """%s = constant <i32: 4> : tile<i32>
    %n = for {sign}%i in (%a to %b, step %s) : tile<i32> iter_values(%c = %a) -> (tile<i32>) {{
      continue %i : tile<i32>
    }}
    %t = store_ptr_tko weak %p, %n : tile<ptr<i32>>, tile<i32> -> token"""


@pytest.mark.parametrize(
    ("sign", "lower", "upper", "overflows"),
    [
        ("", 2**31 - 8, 2**31 - 1, "2147483644 \\+ 4 does not fit signed i32"),
        ("", 2**31 - 9, 2**31 - 5, None),
        ("", 5, 2, None),
        ("unsigned ", -8, -1, "4294967292 \\+ 4 does not fit unsigned i32"),
        ("unsigned ", 2**31 - 8, -(2**31) + 1, None),
    ],
)
def test_overflow_of_a_loop_counter_is_an_error_when_checking(execute, sign, lower, upper, overflows):
    body, out = COUNT.format(sign=sign), np.zeros(1, np.int32)
    execute(PARAMETERS, body, out, lower, upper)
    if overflows is None:
        execute(PARAMETERS, body, out, lower, upper, check=True)
        return
    with pytest.raises(SimulationError, match=f"the counter of this loop overflows: .* {overflows}"):
        execute(PARAMETERS, body, out, lower, upper, check=True)


def test_loop_that_updates_memory_is_not_infinite(execute):
    """The first kernel counts in memory, the second one waits for a lock that is free."""
    body = """%one = constant <i32: 1> : tile<i32> %t0 = make_token : token
    %end = loop iter_values(%t = %t0) : token -> token {
      %old, %u = atomic_rmw_tko relaxed device %p, add, %one token=%t
        : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
      %enough = cmpi greater_than_or_equal %old, %a, signed : tile<i32> -> tile<i1>
      if %enough { break %u : token }
      continue %u : token
    }"""
    counter = np.zeros(1, np.int32)
    execute(PARAMETERS, body, counter, 9, 0, check=True)
    assert counter[0] == 10
    execute(PARAMETERS, INFINITE_LOOPS["a wait for another tile block"], np.zeros(1, np.int32), 0, 0, check=True)


def test_lifetime_of_alloca_ends_with_its_region(execute):
    """Memory that a branch allocates is not accessible after the branch."""
    body = f"""%yes = constant <i1: true> : tile<i1>
    %q = if %yes -> (tile<ptr<i32>>) {{
      %memory = alloca num_elem = 4, alignment = 16 : tile<ptr<i32>>
      %k = store_ptr_tko weak %memory, %a : tile<ptr<i32>>, tile<i32> -> token
      yield %memory : tile<ptr<i32>>
    }} else {{ yield %p : tile<ptr<i32>> }}
    %r, %l = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token
    {STORE}"""
    with pytest.raises(
        SimulationError, match="load of 4 bytes at 0x[0-9a-f]+ is outside all arrays of the launch"
    ) as caught:
        execute(PARAMETERS, body, np.zeros(1, np.int32), 5, 0)
    assert caught.value.location.line == 8


def test_document_names_every_case():
    """The page also has the conditions that tests/checks shows for the compiler."""
    rows = re.findall(r"^\| ([^|]+?) \|", DOCUMENT.read_text(), re.MULTILINE)
    alone = ("memory of `alloca` after its lifetime", "an overflow of the loop counter")
    tested = {*(case.name for case in CASES), *POISONED, *INFINITE_LOOPS, *alone}
    assert not {name for name in tested if not any(row.startswith(name) for row in rows)}


GATHER = """%none = constant <i32: -1> : tile<4xi32>
    %i = iota : tile<4xi64>
    %four64 = constant <i64: 4> : tile<4xi64>
    %inside = cmpi less_than %indices, %four64, unsigned : tile<4xi64> -> tile<4xi1>
    %source = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
    %sources = broadcast %source : tile<1xptr<i32>> -> tile<4xptr<i32>>
    %at = offset %sources, %indices : tile<4xptr<i32>>, tile<4xi64> -> tile<4xptr<i32>>
    %x, %k = load_ptr_tko weak %at, {mask}, %none : tile<4xptr<i32>>, tile<4xi1>, tile<4xi32> -> tile<4xi32>, token
    %out = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
    %outs = broadcast %out : tile<1xptr<i32>> -> tile<4xptr<i32>>
    %addresses = offset %outs, %i : tile<4xptr<i32>>, tile<4xi64> -> tile<4xptr<i32>>
    %k2 = store_ptr_tko weak %addresses, %x : tile<4xptr<i32>>, tile<4xi32> -> token"""
ALL = "%all = constant <i1: true> : tile<4xi1>\n"


@pytest.mark.parametrize("far", [1000, -5, 2**40, 2**61, -(2**62), -(2**63), 2**63 - 1])
def test_masked_off_addresses_may_be_invalid(execute, far):
    source, out = np.array([10, 11, 12, 13], np.int32), np.zeros(4, np.int32)
    indices = f"%indices = constant <i64: [3, {far}, 0, {far}]> : tile<4xi64>\n"
    execute("%p: tile<ptr<i32>>, %q: tile<ptr<i32>>", indices + GATHER.format(mask="%inside"), source, out, check=True)
    assert out.tolist() == [13, -1, 10, -1]


@pytest.mark.parametrize("far", [2**61, -(2**62)])
def test_invalid_unmasked_address_is_reported_with_its_element(execute, far):
    indices = f"{ALL}%indices = constant <i64: [3, 1, {far}, 0]> : tile<4xi64>\n"
    with pytest.raises(
        SimulationError, match=rf"element \[2\]: {far} elements from 0x[0-9a-f]+ exceeds the 64-bit address space\n"
    ):
        body = indices + GATHER.format(mask="%all")
        execute(
            "%p: tile<ptr<i32>>, %q: tile<ptr<i32>>", body, np.zeros(4, np.int32), np.zeros(4, np.int32), check=True
        )


@pytest.mark.parametrize("pattern", [-0x5555555555555556, -0x55555556], ids=["i64", "extended i32"])
def test_message_names_poison_as_an_index(execute, pattern):
    indices = f"{ALL}%indices = constant <i64: [3, 1, {pattern}, 0]> : tile<4xi64>\n"
    with pytest.raises(SimulationError, match=r"element \[2\]: .*; the index has the bits of poison"):
        body = indices + GATHER.format(mask="%all")
        execute(
            "%p: tile<ptr<i32>>, %q: tile<ptr<i32>>", body, np.zeros(4, np.int32), np.zeros(4, np.int32), check=True
        )


def test_message_names_poison_as_an_index_of_a_view(execute):
    body = viewed(STRIDED, "make_strided_view", "")
    with pytest.raises(
        SimulationError, match="index 0 of the view .* got -1431655766; the index has the bits of poison"
    ):
        execute(PARAMETERS, body, np.zeros(12, np.int32), -0x55555556, 0, check=True)
