"""Checking reports accesses to the same memory that no token or value orders; program order does not order them."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.errors import SimulationError

POINTER = "%p: tile<ptr<i32>>"
ONE = "%one = constant <i32: 1> : tile<i32>\n"


def store(value, name="t", token="", how="weak"):
    after = f" token={token}" if token else ""
    return f"%{name} = store_ptr_tko {how} %p, {value}{after} : tile<ptr<i32>>, tile<i32> -> token\n"


def load(name, token="", how="weak"):
    after = f" token={token}" if token else ""
    return f"%{name}, %{name}t = load_ptr_tko {how} %p{after} : tile<ptr<i32>> -> tile<i32>, token\n"


def update(name="u", how="relaxed device"):
    return f"%{name}, %{name}t = atomic_rmw_tko {how} %p, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token\n"


def ordered(execute, body, **settings):
    execute(POINTER, ONE + body, np.zeros(4, np.int32), check=True, **settings)


def unordered(execute, body, message, **settings):
    memory = np.zeros(4, np.int32)
    execute(POINTER, ONE + body, memory, **settings)
    with pytest.raises(SimulationError, match=message) as caught:
        execute(POINTER, ONE + body, memory, check=True, **settings)
    return caught.value


NO_TOKEN = "unordered access: no token or value orders it after"
RACE = "unordered access: it races with"


def test_a_load_after_a_store_needs_its_token(execute):
    ordered(execute, store("%one") + load("x", token="%t"))
    error = unordered(execute, store("%one") + load("x"), f"{NO_TOKEN} 'cuda_tile.store_ptr_tko' on the same memory")
    assert error.location.line == 4
    assert (error.notes[0].message, error.notes[0].location.line) == ("'cuda_tile.store_ptr_tko' is here", 3)


def test_a_store_after_a_load_needs_its_token_or_its_value(execute):
    ordered(execute, load("x") + store("%one", token="%xt"))
    ordered(execute, load("x") + "%y = addi %x, %one : tile<i32>\n" + store("%y"))
    unordered(execute, load("x") + store("%one"), f"{NO_TOKEN} 'cuda_tile.load_ptr_tko'")


def test_a_store_after_a_store_needs_its_token(execute):
    ordered(execute, store("%one") + store("%one", "s", token="%t"))
    unordered(execute, store("%one") + store("%one", "s"), f"{NO_TOKEN} 'cuda_tile.store_ptr_tko'")


def test_two_loads_need_no_order(execute):
    ordered(execute, load("x") + load("y"))


def test_disjoint_memory_needs_no_order(execute):
    body = f"""{store("%one")}
    %q = offset %p, %one : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %x, %k = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token"""
    ordered(execute, body)


def test_joined_token_orders_after_all_of_its_operands(execute):
    other = "%n = make_token : token\n"
    ordered(execute, store("%one") + other + "%j = join_tokens %n, %t : token\n" + load("x", token="%j"))
    unordered(execute, store("%one") + other + "%j = join_tokens %n, %n : token\n" + load("x", token="%j"), NO_TOKEN)


LOOP = """
  %zero = constant <i32: 0> : tile<i32>
  %three = constant <i32: 3> : tile<i32>
  %n = make_token : token
  %end = for %i in (%zero to %three, step %one) : tile<i32> iter_values(%before = %n) -> (token) {
    INSIDE
    continue %t : token
  }
"""


def test_loop_carried_token_orders_iterations(execute):
    ordered(execute, LOOP.replace("INSIDE", store("%one", token="%before")) + load("x", token="%end"))
    unordered(execute, LOOP.replace("INSIDE", store("%one", token="%n")), NO_TOKEN)
    unordered(execute, LOOP.replace("INSIDE", store("%one", token="%before")) + load("x"), NO_TOKEN)


def test_accesses_under_a_loaded_condition_are_ordered_after_the_load(execute):
    body = """%c = cmpi equal %x, %one, signed : tile<i32> -> tile<i1>
    if %c { yield } else { INSIDE }"""
    ordered(execute, load("x") + body.replace("INSIDE", store("%one")))


def test_result_of_a_reduction_is_ordered_after_its_operands(execute):
    body = """%x1 = reshape %x : tile<i32> -> tile<1xi32>
    %s = reduce %x1 dim=0 identities=[0 : i32] : tile<1xi32> -> tile<i32> (%a: tile<i32>, %b: tile<i32>) {
      %y = addi %a, %b : tile<i32>
      yield %y : tile<i32>
    }
    """
    ordered(execute, load("x") + body + store("%s"))


def test_tile_blocks_that_store_to_the_same_address_race(execute):
    error = unordered(execute, store("%one"), f"{RACE} 'cuda_tile.store_ptr_tko' of another tile block", grid=2)
    assert error.notes[-1].message == "in tile block (1, 0, 0) of grid (2, 1, 1)"


def test_tile_blocks_may_load_the_same_address(execute):
    ordered(execute, load("x"), grid=3)


BY_BLOCK = """%x, %y, %z = get_tile_block_id : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %last = cmpi equal %x, %two, signed : tile<i32> -> tile<i1>
"""


@pytest.mark.parametrize("own", ["", load("w") + "%c = cmpi equal %w, %w, signed : tile<i32> -> tile<i1>\n"])
def test_load_of_one_tile_block_races_with_the_store_of_another(execute, own):
    """A load by the storing tile block itself before its store makes no difference."""
    inside = own + store("%w" if own else "%one")
    unordered(
        execute,
        f"{BY_BLOCK} if %last {{ {inside} }} else {{ {load('v')} }}",
        f"{RACE} 'cuda_tile.load_ptr_tko'",
        grid=3,
    )


def test_atomic_updates_do_not_race_with_each_other(execute):
    ordered(execute, update(), grid=3)
    ordered(execute, store("%one", how="relaxed device"), grid=3)
    unordered(execute, update(how="relaxed tl_blk"), f"{RACE} 'cuda_tile.atomic_rmw_tko'", grid=3)


def test_an_atomic_update_races_with_a_weak_store(execute):
    body = f"{BY_BLOCK} if %last {{ {store('%one')} }} else {{ {update()} }}"
    unordered(execute, body, f"{RACE} 'cuda_tile.atomic_rmw_tko'", grid=3)


MESSAGE = """
  %x, %y, %z = get_tile_block_id : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %first = cmpi equal %x, %zero, signed : tile<i32> -> tile<i1>
  %flag = offset %p, %one : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  if %first {
    %t = store_ptr_tko weak %p, %one : tile<ptr<i32>>, tile<i32> -> token
    %s = store_ptr_tko SENT device %flag, %one token=%t : tile<ptr<i32>>, tile<i32> -> token
  } else {
    %f, %l = load_ptr_tko RECEIVED device %flag : tile<ptr<i32>> -> tile<i32>, token
    %v, %k = load_ptr_tko weak %p token=%l : tile<ptr<i32>> -> tile<i32>, token
  }
"""


def test_release_and_acquire_order_the_accesses_before_and_after_them(execute):
    message = MESSAGE.replace("SENT", "release")
    ordered(execute, message.replace("RECEIVED", "acquire"), grid=2)
    unordered(execute, message.replace("RECEIVED", "relaxed"), f"{RACE} 'cuda_tile.store_ptr_tko'", grid=2)
    relaxed = MESSAGE.replace("SENT", "relaxed").replace("RECEIVED", "acquire")
    unordered(execute, relaxed, f"{RACE} 'cuda_tile.store_ptr_tko'", grid=2)


def test_atomic_updates_continue_a_release_sequence(execute):
    """Each tile block increments a value, ordered by a counter that all tile blocks update."""
    body = """
    %flag = offset %p, %one : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %zero = constant <i32: 0> : tile<i32>
    %f, %l = atomic_rmw_tko ORDER device %flag, add, %zero : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %v, %k = load_ptr_tko weak %p token=%l : tile<ptr<i32>> -> tile<i32>, token
    %w = addi %v, %one : tile<i32>
    %t = store_ptr_tko weak %p, %w token=%k : tile<ptr<i32>>, tile<i32> -> token
    %g, %m = atomic_rmw_tko ORDER device %flag, add, %one token=%t : tile<ptr<i32>>, tile<i32> -> tile<i32>, token"""
    ordered(execute, body.replace("ORDER", "acq_rel"), grid=4)
    unordered(execute, body.replace("ORDER", "relaxed"), RACE, grid=4)


PARTS = """
  %x, %y, %z = get_tile_block_id : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %three = constant <i32: 3> : tile<i32>
  %last = cmpi equal %x, %two, signed : tile<i32> -> tile<i1>
  %own = offset %p, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %count = offset %p, %three : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t = store_ptr_tko weak %own, %x : tile<ptr<i32>>, tile<i32> -> token
"""


def test_last_tile_block_may_read_the_stores_of_all_others(execute):
    """Each tile block stores its part and increments a counter; the second orders the third after the first."""
    body = f"""{PARTS}
    %f, %l = atomic_rmw_tko ORDER device %count, add, %one token=%t : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    if %last {{ %v, %k = load_ptr_tko weak %p token=%l : tile<ptr<i32>> -> tile<i32>, token }}"""
    ordered(execute, body.replace("ORDER", "acq_rel"), grid=3)
    unordered(execute, body.replace("ORDER", "release"), f"{RACE} 'cuda_tile.store_ptr_tko'", grid=3)


def test_relaxed_update_continues_a_release_sequence_and_relaxed_store_ends_it(execute):
    """The first tile block releases, the second changes the flag, the third acquires and loads the value."""
    body = f"""{PARTS}
    %first = cmpi less_than %x, %one, signed : tile<i32> -> tile<i1>
    if %first {{
      %s = store_ptr_tko release device %count, %one token=%t : tile<ptr<i32>>, tile<i32> -> token
    }} else {{
      if %last {{
        %f, %l = load_ptr_tko acquire device %count : tile<ptr<i32>> -> tile<i32>, token
        %v, %k = load_ptr_tko weak %p token=%l : tile<ptr<i32>> -> tile<i32>, token
      }} else {{ BETWEEN }}
    }}"""
    change = "%g, %m = atomic_rmw_tko relaxed device %count, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token"
    ordered(execute, body.replace("BETWEEN", change), grid=3)
    overwrite = "%m = store_ptr_tko relaxed device %count, %one : tile<ptr<i32>>, tile<i32> -> token"
    unordered(execute, body.replace("BETWEEN", overwrite), f"{RACE} 'cuda_tile.store_ptr_tko'", grid=3)


def test_acquire_orders_only_its_own_tile_block(execute):
    body = f"""{PARTS}
    %s = store_ptr_tko release device %count, %one token=%t : tile<ptr<i32>>, tile<i32> -> token
    if %last {{
      %v, %k = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
    }} else {{
      %f, %l = load_ptr_tko acquire device %count token=%s : tile<ptr<i32>> -> tile<i32>, token
    }}"""
    unordered(execute, body, f"{RACE} 'cuda_tile.store_ptr_tko'", grid=3)


def test_tile_blocks_may_reuse_the_same_address(execute):
    body = """%a = alloca num_elem = 1, alignment = 4 : tile<ptr<i32>>
    %t = store_ptr_tko weak %a, %one : tile<ptr<i32>>, tile<i32> -> token"""
    ordered(execute, body, grid=20)
