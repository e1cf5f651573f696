"""Loads and stores through pointers: masks, padding, alignment, and accesses outside all arrays."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.errors import SimulationError

FOUR = """
  %p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %p4 = broadcast %p1 : tile<1xptr<f32>> -> tile<4xptr<f32>>
  %o = iota : tile<4xi32>
  %at = offset %p4, %o : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
  %q1 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
  %q4 = broadcast %q1 : tile<1xptr<f32>> -> tile<4xptr<f32>>
  %to = offset %q4, %o : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
  %mask = constant <i1: [true, false, true, false]> : tile<4xi1>
"""
POINTERS = "%p: tile<ptr<f32>>, %q: tile<ptr<f32>>"
STORED = "%e = store_ptr_tko weak %to, %x : tile<4xptr<f32>>, tile<4xf32> -> token"


def test_masked_off_elements_have_the_padding_value(execute):
    source, result = np.arange(1, 5, dtype=np.float32), np.zeros(4, np.float32)
    body = f"""{FOUR} %pad = constant <f32: -7.0> : tile<4xf32>
    %x, %k = load_ptr_tko weak %at, %mask, %pad
      : tile<4xptr<f32>>, tile<4xi1>, tile<4xf32> -> tile<4xf32>, token
    {STORED}"""
    execute(POINTERS, body, source, result)
    assert result.tolist() == [1, -7, 3, -7]


def test_masked_off_elements_are_not_accessed(execute):
    """The last element is masked off and out of bounds."""
    source, result = np.arange(1, 4, dtype=np.float32), np.zeros(4, np.float32)
    body = f"""{FOUR} %x, %k = load_ptr_tko weak %at, %mask : tile<4xptr<f32>>, tile<4xi1> -> tile<4xf32>, token
    {STORED}"""
    execute(POINTERS, body, source, result)
    assert result.tolist() == [1, 0, 3, 0]
    execute(POINTERS, body, source, result, check=True)
    assert np.array_equal(result, [1, np.nan, 3, np.nan], equal_nan=True)


def test_masked_store(execute):
    source, result = np.arange(1, 5, dtype=np.float32), np.full(4, 9, np.float32)
    body = f"""{FOUR} %x, %k = load_ptr_tko weak %at : tile<4xptr<f32>> -> tile<4xf32>, token
    %e = store_ptr_tko weak %to, %x, %mask : tile<4xptr<f32>>, tile<4xf32>, tile<4xi1> -> token"""
    execute(POINTERS, body, source, result)
    assert result.tolist() == [1, 9, 3, 9]


COPY = f"""{FOUR} %x, %k = load_ptr_tko weak %at : tile<4xptr<f32>> -> tile<4xf32>, token
{STORED}"""


def test_out_of_bounds_load_is_an_error_at_the_users_line(execute):
    source, result = np.zeros(3, np.float32), np.zeros(4, np.float32)
    with pytest.raises(SimulationError) as caught:
        execute(POINTERS, COPY, source, result, grid=(2, 3))
    assert "element [3]: load of 4 bytes" in caught.value.message
    assert "12 bytes and starts 12 bytes lower" in caught.value.message
    assert (caught.value.location.file, caught.value.location.line) == ("kernel.mlir", 11)
    assert caught.value.notes[0].message == "in tile block (0, 0, 0) of grid (2, 3, 1)"


def test_error_of_a_masked_load_names_the_index_in_the_tile(execute):
    body = f"""{FOUR} %x, %k = load_ptr_tko weak %at, %mask : tile<4xptr<f32>>, tile<4xi1> -> tile<4xf32>, token
    {STORED}"""
    with pytest.raises(SimulationError, match=r"element \[2\]: load of 4 bytes"):
        execute(POINTERS, body, np.zeros(2, np.float32), np.zeros(4, np.float32))


def test_element_that_is_partly_out_of_bounds_is_an_error(execute):
    source = np.zeros(4, np.float32)
    with pytest.raises(SimulationError, match=r"element \[3\]: load of 4 bytes"):
        ranges = [(source.ctypes.data, 14, True)]
        execute(POINTERS, COPY, source, np.zeros(4, np.float32), ranges=ranges)


def test_overlapping_arrays_are_one_range(execute):
    """An element crosses the end of the first array, and one array is inside another."""
    source, result = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    start = source.ctypes.data
    ranges = [(start, 10, False), (start + 4, 12, False), (result.ctypes.data, 16, True)]
    execute(POINTERS, COPY, source, result, ranges=ranges)
    assert np.array_equal(source, result)
    nested = [(start, 16, False), (start + 4, 4, False), (result.ctypes.data, 16, True)]
    execute(POINTERS, COPY, source, result, ranges=nested)


def test_store_to_a_read_only_array_is_an_error(execute):
    source, result = np.zeros(4, np.float32), np.zeros(4, np.float32)
    result.flags.writeable = False
    with pytest.raises(SimulationError, match="is in a read-only array, 0 bytes from its start"):
        execute(POINTERS, COPY, source, result)


def test_misaligned_address_is_an_error(execute):
    source, result = np.zeros(20, np.uint8), np.zeros(4, np.float32)
    with pytest.raises(SimulationError, match="load of 4 bytes needs an address divisible by 4"):
        execute(POINTERS, COPY, source[1:], result, ranges=None)


def test_null_pointer_without_ranges_is_an_error(execute):
    with pytest.raises(SimulationError, match="load of 4 bytes at 0x0"):
        execute(POINTERS, COPY, 0, np.zeros(4, np.float32), ranges=None)


def test_last_of_several_elements_stored_to_one_address_remains(execute):
    result = np.zeros(1, np.float32)
    body = """%p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
    %p4 = broadcast %p1 : tile<1xptr<f32>> -> tile<4xptr<f32>>
    %x = constant <f32: [1.0, 2.0, 3.0, 4.0]> : tile<4xf32>
    %k = store_ptr_tko weak %p4, %x : tile<4xptr<f32>>, tile<4xf32> -> token"""
    execute("%p: tile<ptr<f32>>", body, result)
    assert result.tolist() == [4.0]
    with pytest.raises(SimulationError, match=r"element \[1\]: two elements of this store write different values"):
        execute("%p: tile<ptr<f32>>", body, result, check=True)
    execute("%p: tile<ptr<f32>>", body.replace("[1.0, 2.0, 3.0, 4.0]", "2.0"), result, check=True)
    assert result.tolist() == [2.0]


def test_nonzero_bytes_load_as_true_and_store_as_one(execute):
    source, result = np.array([0, 1, 2, 255], np.uint8), np.full(4, 77, np.uint8)
    execute(POINTERS.replace("f32", "i1"), COPY.replace("f32", "i1"), source, result)
    assert result.tolist() == [0, 1, 1, 1]


def test_offset_is_in_elements_and_ptr_to_int_in_bytes(execute):
    result = np.zeros(4, np.int64)
    body = """
    %three = constant <i16: -3> : tile<i16>
    %a = ptr_to_ptr %p : tile<ptr<i64>> -> tile<ptr<f16>>
    %b = offset %a, %three : tile<ptr<f16>>, tile<i16> -> tile<ptr<f16>>
    %c = ptr_to_int %b : tile<ptr<f16>> -> tile<i64>
    %d = ptr_to_int %p : tile<ptr<i64>> -> tile<i64>
    %e = subi %c, %d : tile<i64>
    %k = store_ptr_tko weak %p, %e : tile<ptr<i64>>, tile<i64> -> token"""
    execute("%p: tile<ptr<i64>>", body, result)
    assert result[0] == -6


def test_offset_of_a_pointer_to_f4_is_in_half_bytes(execute):
    source, result = np.array([0x21, 0x43], np.uint8), np.zeros(2, np.int64)
    body = """
    %three = constant <i32: 3> : tile<i32>
    %a = offset %p, %three : tile<ptr<f4E2M1FN>>, tile<i32> -> tile<ptr<f4E2M1FN>>
    %b = ptr_to_int %a : tile<ptr<f4E2M1FN>> -> tile<i64>
    %c = ptr_to_int %p : tile<ptr<f4E2M1FN>> -> tile<i64>
    %d = subi %b, %c : tile<i64>
    %e = int_to_ptr %b : tile<i64> -> tile<ptr<i8>>
    %f, %k = load_ptr_tko weak %e : tile<ptr<i8>> -> tile<i8>, token
    %g = exti %f unsigned : tile<i8> -> tile<i64>
    %one = constant <i32: 1> : tile<i32>
    %r = offset %q, %one : tile<ptr<i64>>, tile<i32> -> tile<ptr<i64>>
    %h = store_ptr_tko weak %q, %d : tile<ptr<i64>>, tile<i64> -> token
    %i = store_ptr_tko weak %r, %g : tile<ptr<i64>>, tile<i64> -> token"""
    execute("%p: tile<ptr<f4E2M1FN>>, %q: tile<ptr<i64>>", body, source, result)
    assert result.tolist() == [1, 0x43]


def test_accesses_to_allocated_memory(execute):
    result = np.zeros(1, np.float32)
    body = """
    %a = alloca num_elem = 8, alignment = 64 : tile<ptr<f32>>
    %x = constant <f32: 2.5> : tile<f32>
    %seven = constant <i32: 7> : tile<i32>
    %b = offset %a, %seven : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
    %t0 = make_token : token
    %t1 = store_ptr_tko weak %b, %x token=%t0 : tile<ptr<f32>>, tile<f32> -> token
    %t2 = join_tokens %t0, %t1 : token
    %y, %t3 = load_ptr_tko weak %b token=%t2 : tile<ptr<f32>> -> tile<f32>, token
    %t4 = store_ptr_tko weak %p, %y token=%t3 : tile<ptr<f32>>, tile<f32> -> token"""
    execute("%p: tile<ptr<f32>>", body, result)
    assert result.tolist() == [2.5]
    with pytest.raises(SimulationError, match="store of 4 bytes"):
        execute("%p: tile<ptr<f32>>", body.replace("<i32: 7>", "<i32: 8>"), result)


def test_allocated_memory_is_zero_or_poison_when_checking(execute):
    result = np.ones(1, np.float32)
    body = """
    %a = alloca num_elem = 8, alignment = 64 : tile<ptr<f32>>
    %y, %k = load_ptr_tko weak %a : tile<ptr<f32>> -> tile<f32>, token
    %t = store_ptr_tko weak %p, %y : tile<ptr<f32>>, tile<f32> -> token"""
    execute("%p: tile<ptr<f32>>", body, result)
    assert result.tolist() == [0.0]
    execute("%p: tile<ptr<f32>>", body, result, check=True)
    assert np.isnan(result[0])


@pytest.mark.parametrize(("elements", "alignment"), [(2**60, 4), (2**63 - 1, 4), (4, 2**62)])
def test_failed_allocation_is_an_error(execute, elements, alignment):
    body = f"%a = alloca num_elem = {elements}, alignment = {alignment} : tile<ptr<i32>>"
    with pytest.raises(SimulationError, match=f"cannot allocate {4 * elements} bytes, aligned to {alignment}"):
        execute("", body)


def test_lifetime_of_allocated_memory_ends_with_its_tile_block(execute):
    """The first tile block stores the address of its memory, and the second one reads from it."""
    body = """
    %before, %k = load_ptr_tko weak %p : tile<ptr<i64>> -> tile<i64>, token
    %none = constant <i64: 0> : tile<i64>
    %c = cmpi not_equal %before, %none, unsigned : tile<i64> -> tile<i1>
    if %c {
      %q = int_to_ptr %before : tile<i64> -> tile<ptr<i64>>
      %y, %l = load_ptr_tko weak %q : tile<ptr<i64>> -> tile<i64>, token
    } else {
      %a = alloca num_elem = 1, alignment = 8 : tile<ptr<i64>>
      %x = ptr_to_int %a : tile<ptr<i64>> -> tile<i64>
      %e = store_ptr_tko weak %p, %x : tile<ptr<i64>>, tile<i64> -> token
    }"""
    execute("%p: tile<ptr<i64>>", body, np.zeros(1, np.int64))
    with pytest.raises(SimulationError, match="load of 8 bytes") as caught:
        execute("%p: tile<ptr<i64>>", body, np.zeros(1, np.int64), grid=2)
    assert caught.value.notes[0].message == "in tile block (1, 0, 0) of grid (2, 1, 1)"


def test_constant_global_is_initialised_and_read_only(execute):
    result = np.zeros(1, np.int16)
    outside = "global constant @table alignment = 512 <i16: [3, -5, 7, 9]> : tile<4xi16>"
    body = """
    %one = constant <i32: 1> : tile<i32>
    %g = get_global @table : tile<ptr<i16>>
    %h = offset %g, %one : tile<ptr<i16>>, tile<i32> -> tile<ptr<i16>>
    %x, %k = load_ptr_tko weak %h : tile<ptr<i16>> -> tile<i16>, token
    %e = store_ptr_tko weak TARGET, %x : tile<ptr<i16>>, tile<i16> -> token"""
    execute("%p: tile<ptr<i16>>", body.replace("TARGET", "%p"), result, outside=outside)
    assert result.tolist() == [-5]
    with pytest.raises(SimulationError, match="is in a read-only array"):
        execute("%p: tile<ptr<i16>>", body.replace("TARGET", "%h"), result, outside=outside)


def test_tile_blocks_share_a_global(execute):
    result = np.zeros(1, np.int32)
    body = """
    %g = get_global @count : tile<ptr<i32>>
    %one = constant <i32: 1> : tile<i32>
    %x, %k = atomic_rmw_tko relaxed device %g, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %e = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token"""
    execute("%p: tile<ptr<i32>>", body, result, grid=5, outside="global @count <i32: [10]> : tile<1xi32>")
    assert result.tolist() == [14]
