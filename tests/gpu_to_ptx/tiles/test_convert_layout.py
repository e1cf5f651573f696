"""Conversions between all layouts move each element to its register, by moves, shuffles and shared memory."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from simulated import elementwise, ptx_of, run, tile

from tilec.dialect.mlir import context, ir
from tilec.dialect.walk import operations_named
from tilec.lowering.gpu.cost.computed_elements import VisitedTiles
from tilec.lowering.gpu.cost.operation_work import work_of
from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.conversion import RegisterMove, Shuffle, ThroughShared, conversion
from tilec.lowering.layout.linear_layout import LinearLayout, parse_layout, unflatten
from tilec.lowering.layout.tensor_layout import tensor_memory_16x256b
from tilec.lowering.model.constants import device_of
from tilec.lowering.model.step import NO_WORK

LAYOUTS = {
    "rows": blocked((64, 32), 4, 1, 4),
    "columns": blocked((64, 32), 4, 0, 8),
    "fragment": tensor_memory_16x256b((64, 32), 4),
    "operand_8_bit": parse_layout(
        "register=(0,1)(0,2)(8,0)(0,16) lane=(0,4)(0,8)(1,0)(2,0)(4,0) warp=(16,0)(32,0) shape=64x32"
    ),
    "all_in_registers": parse_layout(
        "register=(0,1)(0,2)(0,4)(0,8)(0,16) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(0,0) shape=64x32"
    ),
    "replicated_registers": parse_layout(
        "register=(0,1)(0,0)(0,2)(32,0)(16,0) lane=(0,4)(0,8)(0,16)(1,0)(2,0) warp=(4,16)(8,0) shape=64x32"
    ),
    "replicated_lanes": parse_layout(
        "register=(0,1)(0,2)(32,0)(16,0)(8,0) lane=(0,4)(0,8)(0,16)(1,0)(0,0) warp=(2,0)(4,16) shape=64x32"
    ),
}
DTYPES = {"i1": np.bool_, "i8": np.int8, "f16": np.float16, "f32": np.float32, "i64": np.int64}


def convert(element: str, source: LinearLayout, target: LinearLayout) -> str:
    body = f'%y = "tile_gpu.convert_layout"(%x0) : ({tile(element, source)}) -> {tile(element, target)}'
    return elementwise(body, [(element, source)], (element, target))


def check(element: str, source: LinearLayout, target: LinearLayout) -> None:
    dtype = DTYPES[element]
    x = np.random.default_rng(4).integers(0, 2 if dtype == np.bool_ else 100, source.shape).astype(dtype)
    y = np.zeros_like(x)
    run(convert(element, source, target), [x, y])
    assert np.array_equal(x, y)


@pytest.mark.parametrize(("source", "target"), list(itertools.product(LAYOUTS, LAYOUTS)))
@pytest.mark.parametrize("element", ["f16", "f32"])
def test_every_pair_of_layouts(source, target, element):
    check(element, LAYOUTS[source], LAYOUTS[target])


@pytest.mark.parametrize("element", DTYPES)
def test_every_element_type_through_shared_memory(element):
    source, target = LAYOUTS["rows"], LAYOUTS["columns"]
    assert conversion(source, target) == ThroughShared()
    check(element, source, target)


SHUFFLED = {
    "lanes": "register=(0,1)(0,2) lane=(1,0)(0,4)(2,0)(0,8)(4,0) warp=(8,0)(16,0) shape=32x16",
    "lanes_and_registers": "register=(0,1)(1,0) lane=(0,2)(0,4)(2,0)(0,8)(4,0) warp=(8,0)(16,0) shape=32x16",
    "flipped": "register=(0,1)(0,6) lane=(0,4)(0,8)(1,0)(2,0)(4,0) warp=(8,0)(16,0) shape=32x16",
}
PLAIN = "register=(0,1)(0,2) lane=(0,4)(0,8)(1,0)(2,0)(4,0) warp=(8,0)(16,0) shape=32x16"


@pytest.mark.parametrize("name", SHUFFLED)
@pytest.mark.parametrize("element", DTYPES)
def test_every_element_type_by_shuffles(name, element):
    source, target = parse_layout(PLAIN), parse_layout(SHUFFLED[name])
    assert isinstance(conversion(source, target), Shuffle)
    check(element, source, target)
    check(element, target, source)
    assert "bar.sync" not in ptx_of(convert(element, source, target))


def test_few_elements_that_each_thread_gets_many_of_are_loaded_by_vectors():
    """A row of 128 columns, of which a lane holds four, for threads that have a row of the tile each."""
    source = parse_layout(
        "register=(0,1)(0,2)(0,0)(0,0)(0,0)(0,0)(0,0) lane=(0,4)(0,8)(0,16)(0,32)(0,64) warp=(0,0)(0,0) shape=1x128"
    )
    target = parse_layout(
        "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32)(0,64) lane=(0,0)(0,0)(0,0)(0,0)(0,0) warp=(0,0)(0,0) shape=1x128"
    )
    assert conversion(source, target) == ThroughShared()
    check("f32", source, target)
    text = ptx_of(convert("f32", source, target))
    assert "shfl" not in text and text.count("ld.shared.v4") == 32


def random_layout(random: np.random.Generator) -> LinearLayout:
    """A random basis of the 11 index bits of a 64 x 32 tile over registers, lanes and four warps."""
    while True:
        columns = [int(column) for column in random.integers(0, 1 << 11, 12)]
        bases = [unflatten(column, (64, 32)) for column in columns]
        layout = LinearLayout(tuple(bases[7:]), tuple(bases[:5]), tuple(bases[5:7]), (64, 32))
        if layout.is_surjective:
            return layout


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("element", ["f16", "f32"])
def test_random_layouts(seed, element):
    random = np.random.default_rng(seed)
    check(element, random_layout(random), random_layout(random))


def test_permuted_registers_are_a_register_move():
    source = parse_layout(PLAIN)
    target = LinearLayout(tuple(reversed(source.register)), source.lane, source.warp, source.shape)
    assert conversion(source, target) == RegisterMove((0, 2, 1, 3))
    check("f32", source, target)


def test_tile_larger_than_the_scratch_is_converted_in_chunks():
    source, target = blocked((128, 128), 4, 1, 4), blocked((128, 128), 4, 0, 4)
    check("f32", source, target)
    lines = [line.strip() for line in ptx_of(convert("f32", source, target)).splitlines()]
    assert sum(line.startswith("bar.sync") for line in lines) == 3


def test_stores_and_loads_of_16_bytes_if_registers_are_contiguous_on_both_sides():
    source = blocked((64, 64), 4, 1, 8)
    target = parse_layout(
        "register=(0,1)(0,2)(0,4)(0,8)(0,16) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(0,32) shape=64x64"
    )
    text = ptx_of(convert("f16", source, target))
    assert text.count("st.shared.v4.b32") == 4 and text.count("ld.shared.v4.b32") == 4


@pytest.mark.parametrize(("source", "target"), list(itertools.product(LAYOUTS, LAYOUTS)))
def test_modelled_work_is_that_of_the_code(source: str, target: str) -> None:
    """Shuffles, stores and loads of shared memory, or nothing where threads rename their registers."""
    text = convert("f32", LAYOUTS[source], LAYOUTS[target])
    with context():
        module = ir.Module.parse(text)
        (op,) = operations_named(module, ("tile_gpu.convert_layout",))
        work = work_of(op, 4, device_of("sm_100a"), VisitedTiles())
    ptx = ptx_of(text)
    assert (work.shuffles > 0) == ("shfl.sync" in ptx)
    assert (work.shared_bytes > 0) == ("st.shared" in ptx)
    assert (work is NO_WORK) == ("shfl.sync" not in ptx and "st.shared" not in ptx)
