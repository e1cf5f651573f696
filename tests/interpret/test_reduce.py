"""Reductions with elementwise bodies, which run on whole tiles, and with other bodies, which run per element."""

from __future__ import annotations

import numpy as np
import pytest

LOADED = """
  %t = make_tensor_view %p, shape = [8, 4], strides = [4, 1] : tensor_view<8x4xi32, strides=[4,1]>
  %v = make_partition_view %t : partition_view<tile=(8x4), tensor_view<8x4xi32, strides=[4,1]>>
  %zero = constant <i32: 0> : tile<i32>
  %x, %k = load_view_tko weak %v[%zero, %zero]
    : partition_view<tile=(8x4), tensor_view<8x4xi32, strides=[4,1]>>, tile<i32> -> tile<8x4xi32>, token
"""
ROW = """
  %o = make_tensor_view %q, shape = [4], strides = [1] : tensor_view<4xi32, strides=[1]>
  %w = make_partition_view %o : partition_view<tile=(4), tensor_view<4xi32, strides=[1]>>
  %e = store_view_tko weak %r, %w[%zero] : tile<4xi32>, partition_view<tile=(4), tensor_view<4xi32, strides=[1]>>,
    tile<i32> -> token"""
POINTERS = "%p: tile<ptr<i32>>, %q: tile<ptr<i32>>"


@pytest.fixture
def source() -> np.ndarray:
    return np.random.default_rng(7).integers(-100, 100, (8, 4)).astype(np.int32)


def test_body_with_an_if(execute, source):
    """The body computes the maximum with a branch."""
    result = np.zeros(4, np.int32)
    body = f"""{LOADED}
    %r = reduce %x dim=0 identities=[-2147483648 : i32] : tile<8x4xi32> -> tile<4xi32> (%a: tile<i32>, %b: tile<i32>) {{
      %c = cmpi less_than %a, %b, signed : tile<i32> -> tile<i1>
      %m = if %c -> (tile<i32>) {{ yield %b : tile<i32> }} else {{ yield %a : tile<i32> }}
      yield %m : tile<i32>
    }} {ROW}"""
    execute(POINTERS, body, source, result)
    assert np.array_equal(result, source.max(axis=0))


def test_two_operands_are_reduced_together(execute, source):
    """The results are the maximum and its index; the body selects the first of equal elements by their indices."""
    source[:, 1] = 5
    result = np.zeros(4, np.int32)
    body = f"""{LOADED}
    %i = iota : tile<8xi32>
    %j = reshape %i : tile<8xi32> -> tile<8x1xi32>
    %n = broadcast %j : tile<8x1xi32> -> tile<8x4xi32>
    %m, %r = reduce %x, %n dim=0 identities=[-2147483648 : i32, 0 : i32]
      : tile<8x4xi32>, tile<8x4xi32> -> tile<4xi32>, tile<4xi32>
      (%a: tile<i32>, %b: tile<i32>, %ai: tile<i32>, %bi: tile<i32>) {{
      %g = cmpi greater_than %a, %b, signed : tile<i32> -> tile<i1>
      %s = cmpi equal %a, %b, signed : tile<i32> -> tile<i1>
      %f = cmpi less_than %ai, %bi, signed : tile<i32> -> tile<i1>
      %h = andi %s, %f : tile<i1>
      %c = ori %g, %h : tile<i1>
      %v1 = select %c, %a, %b : tile<i1>, tile<i32>
      %v2 = select %c, %ai, %bi : tile<i1>, tile<i32>
      yield %v1, %v2 : tile<i32>, tile<i32>
    }} {ROW}"""
    execute(POINTERS, body, source, result)
    assert np.array_equal(result, source.argmax(axis=0))


def test_order_of_elements_is_preserved(execute, source):
    """The body, which is associative but not commutative, selects the last element that is not zero."""
    source[5:, 0], source[:, 1], source[2:, 2] = 0, 0, 0
    result = np.zeros(4, np.int32)
    body = f"""{LOADED}
    %r = reduce %x dim=0 identities=[0 : i32] : tile<8x4xi32> -> tile<4xi32> (%a: tile<i32>, %b: tile<i32>) {{
      %none = constant <i32: 0> : tile<i32>
      %c = cmpi equal %a, %none, signed : tile<i32> -> tile<i1>
      %m = select %c, %b, %a : tile<i1>, tile<i32>
      yield %m : tile<i32>
    }} {ROW}"""
    execute(POINTERS, body, source, result)
    expected = [next((value for value in column[::-1] if value), 0) for column in source.T]
    assert result.tolist() == expected


def test_body_may_yield_a_value_defined_outside(execute, source):
    result = np.zeros(4, np.int32)
    body = f"""{LOADED}
    %five = constant <i32: 5> : tile<i32>
    %r = reduce %x dim=0 identities=[0 : i32] : tile<8x4xi32> -> tile<4xi32> (%a: tile<i32>, %b: tile<i32>) {{
      yield %five : tile<i32>
    }} {ROW}"""
    execute(POINTERS, body, source, result)
    assert result.tolist() == [5, 5, 5, 5]


def test_nested_reduction(execute, source):
    """The body has shape operations, which are not elementwise, and reduces two elements."""
    result = np.zeros(4, np.int32)
    body = f"""{LOADED}
    %r = reduce %x dim=0 identities=[0 : i32] : tile<8x4xi32> -> tile<4xi32> (%a: tile<i32>, %b: tile<i32>) {{
      %a1 = reshape %a : tile<i32> -> tile<1xi32>
      %b1 = reshape %b : tile<i32> -> tile<1xi32>
      %ab = cat %a1, %b1 dim = 0 : tile<1xi32>, tile<1xi32> -> tile<2xi32>
      %s = reduce %ab dim=0 identities=[0 : i32] : tile<2xi32> -> tile<i32> (%c: tile<i32>, %d: tile<i32>) {{
        %e = addi %c, %d : tile<i32>
        yield %e : tile<i32>
      }}
      yield %s : tile<i32>
    }} {ROW}"""
    execute(POINTERS, body, source, result)
    assert np.array_equal(result, source.sum(axis=0))


def test_sum_of_floats_is_a_tree_of_adjacent_pairs(execute):
    """((1 + 2^-24) + (2^-24 + 2^-24)) in f32; from left to right every addition would round to 1."""
    tiny = 2.0**-24
    source, result = np.array([1, tiny, tiny, tiny], np.float32), np.zeros(1, np.float32)
    body = """
    %t = make_tensor_view %p, shape = [4], strides = [1] : tensor_view<4xf32, strides=[1]>
    %v = make_partition_view %t : partition_view<tile=(4), tensor_view<4xf32, strides=[1]>>
    %zero = constant <i32: 0> : tile<i32>
    %x, %k = load_view_tko weak %v[%zero]
      : partition_view<tile=(4), tensor_view<4xf32, strides=[1]>>, tile<i32> -> tile<4xf32>, token
    %r = reduce %x dim=0 identities=[0.0 : f32] : tile<4xf32> -> tile<f32> (%a: tile<f32>, %b: tile<f32>) {
      %s = addf %a, %b : tile<f32>
      yield %s : tile<f32>
    }
    %e = store_ptr_tko weak %q, %r : tile<ptr<f32>>, tile<f32> -> token"""
    execute("%p: tile<ptr<f32>>, %q: tile<ptr<f32>>", body, source, result)
    assert result[0] == np.float32(1 + 2 * tiny)
