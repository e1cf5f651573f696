"""Atomic updates, including several elements that update one address."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

ADDRESSES = """
  %p1 = reshape %p : tile<ptr<ELEMENT>> -> tile<1xptr<ELEMENT>>
  %p4 = broadcast %p1 : tile<1xptr<ELEMENT>> -> tile<4xptr<ELEMENT>>
  %at = offset %p4, %o : tile<4xptr<ELEMENT>>, tile<4xi32> -> tile<4xptr<ELEMENT>>
  %q1 = reshape %q : tile<ptr<ELEMENT>> -> tile<1xptr<ELEMENT>>
  %q4 = broadcast %q1 : tile<1xptr<ELEMENT>> -> tile<4xptr<ELEMENT>>
  %i = iota : tile<4xi32>
  %to = offset %q4, %i : tile<4xptr<ELEMENT>>, tile<4xi32> -> tile<4xptr<ELEMENT>>
"""
STORED = "%e = store_ptr_tko weak %to, %old : tile<4xptr<ELEMENT>>, tile<4xELEMENT> -> token"
POINTERS = "%p: tile<ptr<ELEMENT>>, %q: tile<ptr<ELEMENT>>"


def update(execute, element, offsets, operation, memory):
    """Runs an atomic operation on memory at offsets and returns the old values."""
    old = np.zeros(4, memory.dtype)
    text = f"%o = constant <i32: {offsets}> : tile<4xi32> {ADDRESSES} {operation} {STORED}".replace("ELEMENT", element)
    execute(POINTERS.replace("ELEMENT", element), text, memory, old)
    return old


def rmw(mode, values, mask=""):
    given = ", %mask" if mask else ""
    kind = ", tile<4xi1>" if mask else ""
    return f"""%x = constant <ELEMENT: {values}> : tile<4xELEMENT> {mask}
    %old, %k = atomic_rmw_tko relaxed device %at, {mode}, %x{given}
      : tile<4xptr<ELEMENT>>, tile<4xELEMENT>{kind} -> tile<4xELEMENT>, token"""


def test_elements_at_one_address_are_added_in_order(execute):
    memory = np.array([10, 20], np.int32)
    old = update(execute, "i32", [0, 1, 0, 0], rmw("add", [1, 2, 3, 4]), memory)
    assert memory.tolist() == [18, 22]
    assert old.tolist() == [10, 20, 11, 14]


def test_many_elements_at_one_address_are_updated_in_row_major_order(execute):
    """The elements of an 8x8 tile exchange alternately at two addresses, so each yields the element two before it."""
    memory, old = np.array([-2, -1], np.int32), np.zeros(64, np.int32)
    body = """
    %i = iota : tile<64xi32>
    %x = reshape %i : tile<64xi32> -> tile<8x8xi32>
    %p1 = reshape %p : tile<ptr<i32>> -> tile<1x1xptr<i32>>
    %p0 = broadcast %p1 : tile<1x1xptr<i32>> -> tile<8x8xptr<i32>>
    %one = constant <i32: 1> : tile<8x8xi32>
    %parity = andi %x, %one : tile<8x8xi32>
    %p64 = offset %p0, %parity : tile<8x8xptr<i32>>, tile<8x8xi32> -> tile<8x8xptr<i32>>
    %old, %k = atomic_rmw_tko relaxed device %p64, xchg, %x
      : tile<8x8xptr<i32>>, tile<8x8xi32> -> tile<8x8xi32>, token
    %q1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
    %q64 = broadcast %q1 : tile<1xptr<i32>> -> tile<64xptr<i32>>
    %to = offset %q64, %i : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
    %r = reshape %old : tile<8x8xi32> -> tile<64xi32>
    %e = store_ptr_tko weak %to, %r : tile<64xptr<i32>>, tile<64xi32> -> token"""
    execute("%p: tile<ptr<i32>>, %q: tile<ptr<i32>>", body, memory, old)
    assert old.tolist() == list(range(-2, 62))
    assert memory.tolist() == [62, 63]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("add", [5 - 3, -7 - 3, 2**31 - 1 - 3, 0 - 3]),
        ("and", [5 & -3, -7 & -3, (2**31 - 1) & -3, 0]),
        ("or", [5 | -3, -7 | -3, -1, -3]),
        ("xor", [5 ^ -3, -7 ^ -3, (2**31 - 1) ^ -3, -3]),
        ("max", [5, -3, 2**31 - 1, 0]),
        ("min", [-3, -7, -3, -3]),
        ("umax", [-3, -3, -3, -3]),
        ("umin", [5, -7, 2**31 - 1, 0]),
        ("xchg", [-3, -3, -3, -3]),
    ],
)
def test_each_mode(execute, mode, expected):
    memory = np.array([5, -7, 2**31 - 1, 0], np.int32)
    before = memory.tolist()
    old = update(execute, "i32", [0, 1, 2, 3], rmw(mode, -3), memory)
    assert memory.tolist() == expected
    assert old.tolist() == before


def test_adding_wraps(execute):
    memory = np.array([2**63 - 1], np.int64)
    update(execute, "i64", [0, 0, 0, 0], rmw("add", [1, 0, 0, 0]), memory)
    assert memory.tolist() == [-(2**63)]


@pytest.mark.parametrize(("element", "dtype"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16), ("f32", np.float32)])
def test_each_addition_of_floats_rounds(execute, element, dtype):
    """1 plus half a unit in the last place is a tie that rounds to 1, so four additions do not change 1."""
    half = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24}[element]
    memory = np.array([1.0], dtype)
    old = update(execute, element, [0, 0, 0, 0], rmw("addf", f"{half:.30f}"), memory)
    assert memory.tolist() == [1.0]
    assert old.tolist() == [1.0] * 4


def test_masked_off_elements_are_not_updated(execute):
    memory = np.array([1, 2, 3, 4], np.int32)
    mask = "%mask = constant <i1: [true, false, false, true]> : tile<4xi1>"
    old = update(execute, "i32", [0, 1, 2, 3], rmw("add", 10, mask), memory)
    assert memory.tolist() == [11, 2, 3, 14]
    assert old[[0, 3]].tolist() == [1, 4]


CAS = """%c = constant <ELEMENT: COMPARED> : tile<4xELEMENT>
  %x = constant <ELEMENT: VALUES> : tile<4xELEMENT>
  %mask = constant <i1: [true, true, true, false]> : tile<4xi1>
  %old, %k = atomic_cas_tko acq_rel device %at, %c, %x, %mask
    : tile<4xptr<ELEMENT>>, tile<4xELEMENT>, tile<4xi1> -> tile<4xELEMENT>, token"""


def test_compare_and_swap_updates_in_order(execute):
    """The first element replaces 7 by 8, so the second one, which expects 7, fails, and the third one succeeds."""
    memory = np.array([7], np.int32)
    operation = CAS.replace("COMPARED", "[7, 7, 8, 9]").replace("VALUES", "[8, 100, 9, 200]")
    old = update(execute, "i32", [0, 0, 0, 0], operation, memory)
    assert memory.tolist() == [9]
    assert old.tolist() == [7, 8, 8, 9]


def test_compare_and_swap_compares_bits(execute):
    memory = np.array([0.0, -0.0, np.nan, 1.0], np.float32)
    operation = CAS.replace("COMPARED", "[0.0, 0.0, 0x7FC00000, 1.0]").replace("VALUES", "[5.0, 6.0, 7.0, 8.0]")
    update(execute, "f32", [0, 1, 2, 3], operation, memory)
    assert memory.tolist() == [5.0, 0.0, 7.0, 1.0]
    assert np.signbit(memory[1])


def test_out_of_bounds_elements_of_a_view_are_not_updated(execute):
    memory = np.arange(12, dtype=np.int32).reshape(3, 4)
    kind = "partition_view<tile=(2x2), tensor_view<3x3xi32, strides=[4,1]>>"
    body = f"""
    %t = make_tensor_view %p, shape = [3, 3], strides = [4, 1] : tensor_view<3x3xi32, strides=[4,1]>
    %v = make_partition_view %t : {kind}
    %one = constant <i32: 1> : tile<i32>
    %x = constant <i32: 100> : tile<2x2xi32>
    %k = atomic_red_view_tko relaxed device %v[%one, %one], add, %x : tile<2x2xi32>, {kind}, tile<i32> -> token"""
    expected = memory.copy()
    expected[2, 2] += 100
    execute("%p: tile<ptr<i32>>", body, memory)
    assert np.array_equal(memory, expected)


def test_tile_blocks_add_to_the_same_address(execute):
    memory = np.zeros(1, np.float64)
    body = """%x = constant <f64: 0.5> : tile<f64>
    %old, %k = atomic_rmw_tko relaxed device %p, addf, %x : tile<ptr<f64>>, tile<f64> -> tile<f64>, token"""
    execute("%p: tile<ptr<f64>>", body, memory, grid=(3, 4, 5))
    assert memory.tolist() == [30.0]


MULTICAST = "tensor_view<4xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>"


def test_multimem_on_one_device(execute):
    """The mapping has a single device: the loaded value is doubled, stored, and added once more."""
    memory = np.arange(4, dtype=np.float32)
    kind = f"partition_view<tile=(4), {MULTICAST}>"
    body = f"""
    %t = make_tensor_view %p, shape = [4], strides = [1] : tile<ptr<f32, <multicast>>> -> {MULTICAST}
    %v = make_partition_view %t : {kind}
    %zero = constant <i32: 0> : tile<i32>
    %x, %k = multimem_load_reduce_view_tko relaxed device %v[%zero] inbounds = [true]
      : {kind}, tile<i32> -> tile<4xf32>, token
    %y = addf %x, %x : tile<4xf32>
    %l = multimem_store_view_tko weak %v, %y[%zero] inbounds = [true] : {kind}, tile<4xf32>, tile<i32> -> token
    %m = multimem_reduce_view_tko relaxed device %v, %x[%zero] inbounds = [true]
      : {kind}, tile<4xf32>, tile<i32> -> token"""
    execute("%p: tile<ptr<f32, <multicast>>>", body, memory)
    assert memory.tolist() == [0, 3, 6, 9]


def test_many_out_of_bounds_elements_take_no_time(execute):
    """The 2**18 - 35 out-of-bounds elements have the address of the first one; updating them in order would be slow."""
    memory = np.zeros((5, 7), np.int32)
    view = "partition_view<tile=(512x512), tensor_view<5x7xi32, strides=[7,1]>>"
    body = f"""%t = make_tensor_view %p, shape = [5, 7], strides = [7, 1] : tensor_view<5x7xi32, strides=[7,1]>
    %v = make_partition_view %t : {view}
    %zero = constant <i32: 0> : tile<i32>
    %x = constant <i32: 3> : tile<512x512xi32>
    %k = atomic_red_view_tko relaxed device %v[%zero, %zero], add, %x : tile<512x512xi32>, {view}, tile<i32> -> token"""
    execute("%p: tile<ptr<i32>>", body, memory)
    assert (memory == 3).all()
