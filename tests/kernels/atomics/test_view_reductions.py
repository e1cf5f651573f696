"""Blocks that reduce into one tile of a view, by TMA and by vectors: each mode and type, at the edges of the view."""

from __future__ import annotations

from itertools import product

import ml_dtypes
import numpy as np
import pytest
from compare import backends

import tilec
from tilec.dialect.cuda_tile.enums import AtomicMode
from tilec.dialect.tile_gpu.operations.tma import REDUCED
from tilec.dialect.tilex.atomic import COUNTING

DTYPES = {
    "i32": np.int32,
    "i64": np.int64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}
INTEGERS = ("i32", "i64")
CASES = [*product(("add", "and", "or", "xor", "max", "min", "umax", "umin"), INTEGERS)]
CASES += [("addf", element) for element in ("f16", "bf16", "f32", "f64")]
# Rows and columns of the view, which its tiles of 32x64 do not divide.
ROWS, COLUMNS = 40, 80
COMBINE = {
    "add": np.add,
    "addf": np.add,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "max": np.maximum,
    "min": np.minimum,
}


def module(mode: str, element: str, scope: str = "device") -> tilec.Module:
    """Block (i, j, k) combines tile (i, j) of %p with tile (i + 2 k, j) of %q."""
    tensor, tile = f"tensor_view<?x?x{element}, strides=[?,1]>", f"tile<32x64x{element}>"
    view = f"partition_view<tile=(32x64), {tensor}>"
    return tilec.Module.parse(f"""cuda_tile.module @m {{
    entry @main(%p: tile<ptr<{element}>>, %q: tile<ptr<{element}>>, %m: tile<i32>, %n: tile<i32>) {{
      %pa = assume div_by<16>, %p : tile<ptr<{element}>>
      %qa = assume div_by<16>, %q : tile<ptr<{element}>>
      %m1 = assume bounded<0, ?>, %m : tile<i32>
      %n1 = assume div_by<16>, %n : tile<i32>
      %n2 = assume bounded<0, ?>, %n1 : tile<i32>
      %two = constant <i32: 2> : tile<i32>
      %six = constant <i32: 192> : tile<i32>
      %i, %j, %k = get_tile_block_id : tile<i32>
      %tp = make_tensor_view %pa, shape = [%m1, %n2], strides = [%n2, 1] : tile<i32> -> {tensor}
      %tq = make_tensor_view %qa, shape = [%six, %n2], strides = [%n2, 1] : tile<i32> -> {tensor}
      %vp = make_partition_view %tp : {view}
      %vq = make_partition_view %tq : {view}
      %k2 = muli %k, %two : tile<i32>
      %row = addi %i, %k2 : tile<i32>
      %x, %t = load_view_tko weak %vq[%row, %j] : {view}, tile<i32> -> {tile}, token
      atomic_red_view_tko relaxed {scope} %vp[%i, %j], {mode}, %x : {tile}, {view}, tile<i32>, tile<i32> -> token
      return
    }} }}""")


def numbers(random: np.random.Generator, shape, element: str) -> np.ndarray:
    """Any integers, or small whole floats, whose sums are exact."""
    if element in INTEGERS:
        limits = np.iinfo(DTYPES[element])
        return random.integers(limits.min, limits.max, shape, DTYPES[element], endpoint=True)
    return random.integers(-8, 9, shape).astype(DTYPES[element])


def combined(mode: str, before: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Three blocks each combine rows 64 k .. of the source with the view."""
    name, unsigned = mode.removeprefix("u"), mode.startswith("u")
    kind = np.dtype(f"u{before.itemsize}") if unsigned else before.dtype
    found = before.view(kind).copy()
    for k in range(3):
        found = COMBINE[name](found, source[64 * k : 64 * k + ROWS].view(kind))
    return found.view(before.dtype)


def everywhere(compiled: tilec.Compiled, before: np.ndarray, source: np.ndarray) -> list[np.ndarray]:
    """The view after runs in the simulator with several seeds, and in the interpreter."""
    found = []
    for backend, settings in backends(range(5)):
        view = before.copy()
        tilec.run(compiled, (2, 2, 3), [view, source, ROWS, COLUMNS], backend=backend, **settings)
        found.append(view)
    return found


@pytest.mark.parametrize("tma", [True, False])
@pytest.mark.parametrize(("mode", "element"), CASES)
def test_blocks_reduce_into_one_view(mode, element, tma, target):
    random = np.random.default_rng(3)
    before, source = numbers(random, (ROWS, COLUMNS), element), numbers(random, (192, COLUMNS), element)
    compiled = tilec.compile(module(mode, element), target=target, hints={"tma": tma})
    # PTX ISA 9.7.9.27.1.3: TMA has no sum of f64.
    by_tma = tma and element != "f64"
    assert ("cp.reduce.async.bulk.tensor" in compiled.ptx) == by_tma
    assert (" red." in compiled.ptx) != by_tma
    for view in everywhere(compiled, before, source):
        assert np.array_equal(view, combined(mode, before, source))


def test_no_update_of_tile_ir_counts_up_to_a_bound():
    """The inc of TMA is old >= bound ? 0 : old + 1. The modes of tilex mean it; the others are those of Tile IR."""
    assert {combining(mode) for mode in AtomicMode.keywords} == {*REDUCED, "xchg"} - {*COUNTING}


def combining(mode: str) -> str:
    """The function of a mode, whose name also has the type of its elements."""
    return {"addf": "add", "umax": "max", "umin": "min"}.get(mode, mode)


@pytest.mark.parametrize(
    ("element", "instruction"),
    [("f16", "add.noftz.v4.f16x2"), ("bf16", "add.noftz.v4.bf16x2"), ("f32", "add.v4.f32"), ("f64", "add.f64")],
)
def test_sums_without_tma_are_vectors(element, instruction, target):
    """Rows are multiples of 16 elements, at addresses divisible by 16."""
    ptx = tilec.compile(module("addf", element, "tl_blk"), target=target, stop="ptx", hints={"tma": False}).ptx
    assert f"red.relaxed.cta.global.{instruction} " in ptx
