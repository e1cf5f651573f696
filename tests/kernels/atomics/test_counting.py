"""Atomic counting up and down to a bound, by threads and by TMA: equal to numbers worked out in wider integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compare import run_everywhere

import tilec
import tilec as ct
from tilec.dialect.assembly.printer import print_module
from tilec.dialect.assembly.reader import read_module
from tilec.dialect.bytecode.writing.writer import write_module
from tilec.dialect.mlir import context, ir
from tilec.errors import InputError
from tilec.runtime.cubin.cubin import assemble
from tilec.signature import Signature

ROWS, COLUMNS = 40, 80
WRAPS = 0xFFFFFFFF


@ct.kernel
def count_tiles(X, B, up: ct.Constant[bool]):
    """Each of three blocks along the third dimension counts once."""
    bounds = ct.load(B, (ct.bid(0), ct.bid(1)), (32, 64))
    view = X.tiled_view((32, 64))
    if up:
        view.atomic_store_inc((ct.bid(0), ct.bid(1)), bounds)
    else:
        view.atomic_store_dec((ct.bid(0), ct.bid(1)), bounds)


@ct.kernel
def count_elements(X, Y, bound: ct.Constant[int], up: ct.Constant[bool]):
    """All of 64 elements count one number, and the results are the numbers before."""
    zeros = ct.zeros((64,), ct.int32)
    before = ct.atomic_inc(X, zeros, bound) if up else ct.atomic_dec(X, zeros, bound)
    ct.store(Y, (0,), before)


@ct.kernel
def count_without_results(X, bound: ct.Constant[int]):
    places = ct.arange(64, dtype=ct.int32)
    ct.atomic_inc(X, places, bound)
    ct.atomic_dec(X, places + 64, bound)


def counted(old: np.ndarray, bound: np.ndarray, up: bool) -> np.ndarray:
    """One step, in wider integers."""
    old, bound = old.astype(np.int64), bound.astype(np.int64)
    if up:
        return np.where(old >= bound, 0, old + 1).astype(np.uint32)
    return np.where((old == 0) | (old > bound), bound, old - 1).astype(np.uint32)


def numbers(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Numbers near their bounds, below and above, and at the ends of uint32."""
    bounds = random.choice([0, 1, 2, 3, 5, 2**31 - 1, 2**31, WRAPS - 1, WRAPS], (ROWS, COLUMNS))
    return np.clip(bounds + random.integers(-2, 3, bounds.shape), 0, WRAPS).astype(np.uint32), bounds.astype(np.uint32)


@pytest.mark.parametrize("tma", [True, False])
@pytest.mark.parametrize("up", [True, False])
def test_tiles(up: bool, tma: bool, target: str, random: np.random.Generator) -> None:
    x, bounds = numbers(random)
    expected = x
    for _ in range(3):
        expected = counted(expected, bounds, up)
    args = (x, bounds, up)
    grid = (-(-ROWS // 32), -(-COLUMNS // 64), 3)
    for (found,) in run_everywhere(count_tiles, grid, args, (0,), target=target, hints={"tma": tma}, seeds=(0, 1, 2)):
        np.testing.assert_array_equal(found, expected)
    signature = Signature.from_arguments(count_tiles, args)
    ptx = tilec.compile(count_tiles, target=target, signature=signature, hints={"tma": tma}, stop="ptx").ptx
    word = "inc" if up else "dec"
    assert (f"cp.reduce.async.bulk.tensor.2d.global.shared::cta.{word}.tile.bulk_group" in ptx) == tma
    assert (f"red.relaxed.gpu.global.{word}.u32" in ptx) != tma
    assert assemble(ptx, target).warnings == ()


@pytest.mark.parametrize("start", [0, 3, 9, 100, WRAPS])
@pytest.mark.parametrize("bound", [0, 1, 9, 63, WRAPS])
@pytest.mark.parametrize("up", [True, False])
def test_elements(up: bool, bound: int, start: int, target: str) -> None:
    """The 64 numbers before are those of 64 steps, in any order."""
    steps = [np.array([start], np.uint32)]
    for _ in range(64):
        steps.append(counted(steps[-1], np.array([bound]), up))
    args = (steps[0].copy(), np.zeros(64, np.uint32), bound, up)
    for x, before in run_everywhere(count_elements, (1,), args, (0, 1), target=target, hints={}, seeds=(0,)):
        np.testing.assert_array_equal(x, steps[-1])
        np.testing.assert_array_equal(np.sort(before), np.sort(np.concatenate(steps[:-1])))


def test_results_that_nothing_reads(target: str) -> None:
    args = (np.arange(128, dtype=np.uint32), 70)
    expected = np.concatenate(
        [counted(args[0][:64], np.full(64, 70), True), counted(args[0][64:], np.full(64, 70), False)]
    )
    for (found,) in run_everywhere(count_without_results, (1,), args, (0,), target=target, hints={}, seeds=(0,)):
        np.testing.assert_array_equal(found, expected)
    signature = Signature.from_arguments(count_without_results, args)
    ptx = tilec.compile(count_without_results, target=target, signature=signature, stop="ptx").ptx
    assert "red.acquire" not in ptx and "atom." in ptx and ".inc.u32" in ptx and ".dec.u32" in ptx


def module_with(line: str, element: str = "i32") -> str:
    tensor = f"tensor_view<16x24x{element}, strides=[24,1]>"
    return f"""cuda_tile.module @m {{
  entry @k(%p: tile<ptr<{element}>>, %i: tile<i32>, %s: tile<{element}>) {{
    %b = constant <{element}: 3> : tile<8x8x{element}>
    %t = make_tensor_view %p, shape = [16, 24], strides = [24, 1] : {tensor}
    %v = make_partition_view %t : partition_view<tile=(8x8), {tensor}>
    {line.format(view=f"partition_view<tile=(8x8), {tensor}>", tile=f"tile<8x8x{element}>")}
    return
  }}
}}
"""


RMW = "%r, %k = tilex.atomic_rmw_tko relaxed device %p, {mode}, %s : tile<ptr<i32>>, tile<i32> -> tile<i32>, token"
RED = "%k = tilex.atomic_red_view_tko relaxed device %v[%i, %i], {mode}, %b : {{tile}}, {{view}}, tile<i32> -> token"


def read(text: str) -> Any:
    module = read_module(text, "kernel.mlir")
    with context():
        module.operation.verify()
    return module


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize("mode", ["inc", "dec"])
@pytest.mark.parametrize("line", [RMW, RED], ids=["rmw", "red view"])
def test_round_trip(line: str, mode: str, generic: bool) -> None:
    first = print_module(read(module_with(line.format(mode=mode))), generic=generic)
    assert f"tilex.atomic_{'rmw' if line is RMW else 'red_view'}_tko" in first
    assert print_module(read(first), generic=generic) == first


@pytest.mark.parametrize(
    ("line", "element", "message"),
    [
        (RED.format(mode="add"), "i32", "inc"),
        (RED.format(mode="inc"), "i64", "i32"),
        (RED.format(mode="inc").replace("[%i, %i]", "[%i]"), "i32", "expected 2 index operands"),
        (RED.format(mode="inc").replace("relaxed device", "relaxed sys"), "i32", "tl_blk"),
        (RMW.format(mode="dec").replace("relaxed device", "weak device"), "i32", "relaxed"),
    ],
    ids=["mode", "element", "index", "scope", "order"],
)
def test_refused(line: str, element: str, message: str) -> None:
    with pytest.raises((InputError, ir.MLIRError), match=message):
        read(module_with(line, element))


@pytest.mark.parametrize("line", [RMW, RED], ids=["rmw", "red view"])
def test_bytecode_has_no_counting(line: str) -> None:
    with pytest.raises(
        InputError, match=r"tilex\.atomic_r.*: no operation of Tile IR counts to a bound: use 'ct.atomic_cas'"
    ):
        write_module(read(module_with(line.format(mode="inc"))))
