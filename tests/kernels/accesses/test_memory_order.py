"""PTX has the memory order and scope of every access, and all threads use the same value of a scalar load."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

import tilec

# Tile IR's scopes in PTX: a tile block is a CTA (PTX ISA 8.5).
SCOPES = {"tl_blk": "cta", "device": "gpu", "sys": "sys"}
ORDERS = [("weak", "weak", None), *product(("relaxed", "acquire"), ("relaxed", "release"), SCOPES)]
WIDTHS = {"i8": "b8", "f16": "b16", "f32": "f32", "i64": "b64"}


def entry(body: str, element: str = "f32") -> tilec.Module:
    parameters = f"%p: tile<ptr<{element}>>, %q: tile<ptr<{element}>>, %flag: tile<ptr<i32>>"
    return tilec.Module.parse(f"cuda_tile.module @m {{ entry @main({parameters}) {{\n{body}\nreturn\n}} }}")


def view_copy(load: str, store: str, element: str) -> str:
    """A tile of 16x16: several elements per thread."""
    tensor = f"tensor_view<16x16x{element}, strides=[16,1]>"
    view, tile = f"partition_view<tile=(16x16), {tensor}>", f"tile<16x16x{element}>"
    return f"""
    %z = constant <i32: 0> : tile<i32>
    %p1 = assume div_by<16>, %p : tile<ptr<{element}>>
    %q1 = assume div_by<16>, %q : tile<ptr<{element}>>
    %tp = make_tensor_view %p1, shape = [16,16], strides = [16,1] : {tensor}
    %vp = make_partition_view %tp : {view}
    %tq = make_tensor_view %q1, shape = [16,16], strides = [16,1] : {tensor}
    %vq = make_partition_view %tq : {view}
    %x, %k = load_view_tko {load} %vp[%z, %z] : {view}, tile<i32> -> {tile}, token
    %k2 = store_view_tko {store} %x, %vq[%z, %z] : {tile}, {view}, tile<i32> -> token"""


def pointer_copy(load: str, store: str, element: str) -> str:
    """A tile of 512 pointers: several elements per thread."""
    pointers, tile = f"tile<512xptr<{element}>>", f"tile<512x{element}>"

    def addresses(name: str) -> str:
        return f"""
        %{name}r = reshape %{name} : tile<ptr<{element}>> -> tile<1xptr<{element}>>
        %{name}b = broadcast %{name}r : tile<1xptr<{element}>> -> {pointers}
        %{name}a = offset %{name}b, %i : {pointers}, tile<512xi32> -> {pointers}"""

    return f"""
    %i = iota : tile<512xi32>{addresses("p")}{addresses("q")}
    %x, %k = load_ptr_tko {load} %pa : {pointers} -> {tile}, token
    %k2 = store_ptr_tko {store} %qa, %x : {pointers}, {tile} -> token"""


def scalar_copy(load: str, store: str, element: str) -> str:
    return f"""
    %x, %k = load_ptr_tko {load} %p : tile<ptr<{element}>> -> tile<{element}>, token
    %k2 = store_ptr_tko {store} %q, %x : tile<ptr<{element}>>, tile<{element}> -> token"""


COPIES = {"view": view_copy, "pointers": pointer_copy, "scalar": scalar_copy}


def memory_instructions(ptx: str) -> list[str]:
    """Distinct loads and stores of global memory and fences, in order of their first occurrence."""
    found = re.findall(r"\b((?:ld|st)\.[\w.:]*global[\w.]*|fence\.acq_rel\.\w+)", ptx)
    return list(dict.fromkeys(found))


def expected(load: str, store: str, scope: str | None, one_per_thread: bool, width: str) -> list[str]:
    """A single access per thread has its own order; several are relaxed accesses with one fence of the scope."""
    ptx_scope = SCOPES[scope]
    fence = f"fence.acq_rel.{ptx_scope}"
    before = [fence] if store == "release" and not one_per_thread else []
    after = [fence] if load == "acquire" and not one_per_thread else []
    loads, stores = (load, store) if one_per_thread else ("relaxed", "relaxed")
    reads, writes = f"ld.{loads}.{ptx_scope}.global.{width}", f"st.{stores}.{ptx_scope}.global.{width}"
    return list(dict.fromkeys([reads, *after, *before, writes]))


@pytest.mark.parametrize("kind", COPIES)
@pytest.mark.parametrize(("load", "store", "scope"), ORDERS)
@pytest.mark.parametrize("element", WIDTHS)
def test_ptx_has_order_and_scope(kind, load, store, scope, element, target):
    with_scope = [order if scope is None else f"{order} {scope}" for order in (load, store)]
    ptx = tilec.compile(entry(COPIES[kind](*with_scope, element), element), target=target, stop="ptx").ptx
    found = memory_instructions(ptx)
    if scope is None:
        assert all(re.match(r"(ld|st)\.global\b", one) for one in found)
    else:
        assert found == expected(load, store, scope, kind == "scalar", WIDTHS[element])


@pytest.mark.parametrize("kind", COPIES)
@pytest.mark.parametrize(("load", "store", "scope"), ORDERS)
def test_ptxas_accepts_the_copy_and_values_are_copied(kind, load, store, scope, target):
    with_scope = [order if scope is None else f"{order} {scope}" for order in (load, store)]
    compiled = tilec.compile(entry(COPIES[kind](*with_scope, "f32")), target=target, stop="cubin")
    x, y = np.arange(1, 513, dtype=np.float32), np.zeros(512, np.float32)
    tilec.run(compiled, (1,), [x, y, np.zeros(1, np.int32)], backend="simulate")
    count = {"view": 256, "pointers": 512, "scalar": 1}[kind]
    assert np.array_equal(y[:count], x[:count]) and not y[count:].any()


# Tile block 1 waits for the flag of tile block 0, then reads what that block wrote before it.
MESSAGE = """
    %z = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %value = constant <f32: 7.0> : tile<f32>
    %id, %idy, %idz = get_tile_block_id : tile<i32>
    %first = cmpi equal %id, %z, signed : tile<i32> -> tile<i1>
    if %first {
      %w = store_ptr_tko weak %p, %value : tile<ptr<f32>>, tile<f32> -> token
      %w2 = store_ptr_tko release device %flag, %one token = %w : tile<ptr<i32>>, tile<i32> -> token
    } else {
      %t = make_token : token
      %r = loop iter_values(%n = %t) : token -> token {
        %v, %k = load_ptr_tko acquire device %flag token = %n : tile<ptr<i32>> -> tile<i32>, token
        %e = cmpi not_equal %v, %z, signed : tile<i32> -> tile<i1>
        if %e { break %k : token }
        continue %k : token
      }
      %x, %l = load_ptr_tko weak %p token = %r : tile<ptr<f32>> -> tile<f32>, token
      %s = store_ptr_tko weak %q, %x token = %l : tile<ptr<f32>>, tile<f32> -> token
    }"""


def test_spin_wait_branches_on_one_loaded_value(target):
    ptx = tilec.compile(entry(MESSAGE), target=target, stop="ptx").ptx
    loop = ptx[ptx.index("$while:") : ptx.index("$while_end:")]
    loads = re.findall(r"(@%p\d+ )?ld\.acquire\.gpu\.global\.b32", loop)
    assert loads and all(loads), "only one thread loads"
    assert re.search(r"ld\.acquire.*bar\.sync.*ld\.shared\.b32 (%r\d+).*setp\.\w+\.s32 %p\d+, \1,", loop, re.DOTALL)


@pytest.mark.parametrize("seed", range(4))
def test_flag_publishes_the_data(seed, target):
    compiled = tilec.compile(entry(MESSAGE), target=target, stop="ptx")
    data, result, flag = np.zeros(4, np.float32), np.zeros(4, np.float32), np.zeros(4, np.int32)
    tilec.run(compiled, (2,), [data, result, flag], backend="simulate", seed=seed)
    assert result[0] == 7.0


def test_accesses_stay_after_an_acquire_and_before_a_release(target):
    ptx = tilec.compile(entry(MESSAGE), target=target, stop="ptx").ptx
    lines = [line.strip() for line in re.sub(r"//.*", "", ptx).splitlines()]

    def at(pattern: str, start: int = 0) -> int:
        return next(number for number, line in enumerate(lines) if number >= start and re.search(pattern, line))

    written, released = at(r"\bst\.global\.f32"), at(r"\bst\.release")
    assert written < at(r"bar\.sync", written) < released
    acquired = at(r"\bld\.acquire")
    assert acquired < at(r"bar\.sync", acquired) < at(r"\bld\.global\.f32", acquired)
