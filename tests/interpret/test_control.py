"""Branches and loops with each terminator."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.errors import SimulationError

POINTER = "%p: tile<ptr<i32>>, %n: tile<i32>"
STORE = "%k = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token"
CONSTANTS = """
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %three = constant <i32: 3> : tile<i32>
"""


def result_of(execute, body, *values, **settings):
    result = np.full(1, -99, np.int32)
    execute(POINTER, CONSTANTS + body, result, *values, **settings)
    return int(result[0])


@pytest.mark.parametrize(("value", "expected"), [(5, 1), (-5, 3)])
def test_if_yields_the_values_of_one_branch(execute, value, expected):
    body = f"""
    %c = cmpi less_than %zero, %n, signed : tile<i32> -> tile<i1>
    %r = if %c -> (tile<i32>) {{ yield %one : tile<i32> }} else {{ yield %three : tile<i32> }}
    {STORE}"""
    assert result_of(execute, body, value) == expected


def test_if_without_else(execute):
    body = """
    %c = cmpi less_than %zero, %n, signed : tile<i32> -> tile<i1>
    if %c { %k = store_ptr_tko weak %p, %one : tile<ptr<i32>>, tile<i32> -> token }"""
    assert result_of(execute, body, 5) == 1
    assert result_of(execute, body, -5) == -99


SUM = f"""
  %r = for UNSIGNED %i in (LOW to %n, step %three) : tile<i32> iter_values(%s = %zero) -> (tile<i32>) {{
    %t = addi %s, %i : tile<i32>
    continue %t : tile<i32>
  }}
  {STORE}"""


@pytest.mark.parametrize(("low", "high"), [(-7, 7), (1, 1), (3, 1), (0, 10), (0, 9)])
def test_for_iterates_by_steps_below_the_upper_bound(execute, low, high):
    body = f"%low = constant <i32: {low}> : tile<i32> {SUM.replace('UNSIGNED', '').replace('LOW', '%low')}"
    assert result_of(execute, body, high) == sum(range(low, high, 3))


def test_bounds_of_an_unsigned_for_are_unsigned(execute):
    body = f"%low = constant <i32: -5> : tile<i32> {SUM.replace('UNSIGNED', 'unsigned').replace('LOW', '%low')}"
    assert result_of(execute, body, -1) == -5 - 2
    assert result_of(execute, body, 5) == 0


def test_step_that_is_not_positive_is_an_error(execute):
    body = SUM.replace("UNSIGNED", "").replace("LOW", "%zero").replace("step %three", "step %zero")
    with pytest.raises(SimulationError, match="a for loop needs a positive step, got 0"):
        result_of(execute, body, 4)


def test_continue_inside_an_if_starts_the_next_iteration(execute):
    """Odd numbers below n are not added."""
    body = f"""
    %r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%s = %zero) -> (tile<i32>) {{
      %b = andi %i, %one : tile<i32>
      %odd = cmpi equal %b, %one, signed : tile<i32> -> tile<i1>
      if %odd {{ continue %s : tile<i32> }}
      %t = addi %s, %i : tile<i32>
      continue %t : tile<i32>
    }}
    {STORE}"""
    assert result_of(execute, body, 10) == 0 + 2 + 4 + 6 + 8


def test_results_of_a_loop_are_the_operands_of_break(execute):
    """The least power of three that is at least n, with a break in two nested ifs."""
    body = f"""
    %r = loop iter_values(%v = %one) : tile<i32> -> tile<i32> {{
      %less = cmpi less_than %v, %n, signed : tile<i32> -> tile<i1>
      %w = if %less -> (tile<i32>) {{
        %x = muli %v, %three : tile<i32>
        yield %x : tile<i32>
      }} else {{
        %always = constant <i1: true> : tile<i1>
        if %always {{ break %v : tile<i32> }}
        yield %zero : tile<i32>
      }}
      continue %w : tile<i32>
    }}
    {STORE}"""
    assert result_of(execute, body, 20) == 27
    assert result_of(execute, body, 1) == 1


def test_break_ends_only_the_innermost_loop(execute):
    body = f"""
    %r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%s = %zero) -> (tile<i32>) {{
      %u = loop iter_values(%v = %i) : tile<i32> -> tile<i32> {{ break %three : tile<i32> }}
      %t = addi %s, %u : tile<i32>
      continue %t : tile<i32>
    }}
    {STORE}"""
    assert result_of(execute, body, 4) == 12


def test_return_inside_an_if_ends_only_its_tile_block(execute):
    """Block x stores at index x, except block n."""
    result = np.zeros(4, np.int32)
    body = """
    %x, %y, %z = get_tile_block_id : tile<i32>
    %c = cmpi equal %x, %n, signed : tile<i32> -> tile<i1>
    if %c { return }
    %q = offset %p, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %k = store_ptr_tko weak %q, %three : tile<ptr<i32>>, tile<i32> -> token"""
    execute(POINTER, CONSTANTS + body, result, 2, grid=4)
    assert result.tolist() == [3, 3, 0, 3]


def test_return_inside_a_loop_ends_the_tile_block(execute):
    body = f"""
    loop {{
      %c = cmpi less_than %zero, %n, signed : tile<i32> -> tile<i1>
      if %c {{ return }}
      break
    }}
    %r = addi %one, %three : tile<i32>
    {STORE}"""
    assert result_of(execute, body, 1) == -99
    assert result_of(execute, body, 0) == 4


def test_nested_regions_use_values_of_enclosing_regions(execute):
    body = f"""
    %r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%s = %zero) -> (tile<i32>) {{
      %t = for %j in (%zero to %i, step %one) : tile<i32> iter_values(%u = %s) -> (tile<i32>) {{
        %w = addi %u, %i : tile<i32>
        continue %w : tile<i32>
      }}
      continue %t : tile<i32>
    }}
    {STORE}"""
    assert result_of(execute, body, 5) == sum(i * i for i in range(5))
