"""Softmax and sums over either dimension of a 128 x 256 tile reduce over registers, lanes and warps in one kernel."""

from __future__ import annotations

import numpy as np
import pytest
from reductions import reduce, yields
from simulated import elementwise, run, tile

from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.tensor_layout import tensor_memory_32x32b
from tilec.lowering.layout.wgmma import wgmma_accumulator

SHAPE = (128, 256)
LAYOUTS = {
    "rows": blocked(SHAPE, 8, 1, 4),
    "columns": blocked(SHAPE, 8, 0, 4),
    "wgmma": wgmma_accumulator(SHAPE, 8),
    "tensor_memory": tensor_memory_32x32b(SHAPE, 8),
}


def reduction(name: str, source: str, layout: LinearLayout, operation: str, dimension: int) -> str:
    body = f"%{name}_next = {operation} %e0, %acc0 : f32\n" + yields(f"%{name}_next", ["f32"])
    return reduce(
        f"%{name}", source, [tile("f32", layout)], [tile("f32", layout.drop(dimension))], ["f32"], body, dimension
    )


def broadcast(name: str, layout: LinearLayout, dimension: int) -> str:
    """Broadcasts the reduced tile to the shape of the tile."""
    thin = layout.project(dimension)
    reduced, kept, whole = tile("f32", layout.drop(dimension)), tile("f32", thin), tile("f32", layout)
    return f"""%{name}_thin = "tile_gpu.reshape"(%{name}) : ({reduced}) -> {kept}
        %{name}_wide = "tile_gpu.broadcast"(%{name}_thin) : ({kept}) -> {whole}"""


def softmax(element: str, layout: LinearLayout, dimension: int) -> str:
    wide, own = tile("f32", layout), tile(element, layout)
    narrow = element != "f32"
    body = f"""
        {f"%x = arith.extf %x0 : {own} to {wide}" if narrow else f"%x = arith.addf %x0, %x0 : {wide}"}
        {reduction("top", "%x", layout, "arith.maximumf", dimension)}
        {broadcast("top", layout, dimension)}
        %below = arith.subf %x, %top_wide : {wide}
        %log2e = arith.constant dense<1.44269502> : {wide}
        %scaled = arith.mulf %below, %log2e : {wide}
        %power = math.exp2 %scaled : {wide}
        {reduction("total", "%power", layout, "arith.addf", dimension)}
        {broadcast("total", layout, dimension)}
        %result = arith.divf %power, %total_wide : {wide}
        {f"%y = arith.truncf %result : {wide} to {own}" if narrow else f"%one = arith.constant dense<1.0> : {wide}"}
        {"" if narrow else f"%y = arith.mulf %result, %one : {wide}"}"""
    return elementwise(body, [(element, layout)], (element, layout), warps=8)


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("dimension", [0, 1])
@pytest.mark.parametrize(("element", "dtype"), [("f32", np.float32), ("f16", np.float16)])
def test_softmax(name, dimension, element, dtype):
    """Relative errors: 2^-20 for rounding |x| log2 e < 16, 2^-22 for ex2.approx, 2^-21 for the sum and the division."""
    x = np.random.default_rng(5).normal(0, 1, SHAPE).astype(dtype)
    y = np.zeros_like(x)
    run(softmax(element, LAYOUTS[name], dimension), [x, y], warps=8)
    exact = np.exp((2 if element == "f32" else 1) * x.astype(np.float64))
    exact /= exact.sum(axis=dimension, keepdims=True)
    # An f16 result is rounded to 11 bits, and below 2^-14 to multiples of 2^-24.
    relative, absolute = (2**-18, 0) if element == "f32" else (2**-11 + 2**-18, 2**-25)
    assert (np.abs(y.astype(np.float64) - exact) <= relative * exact + absolute).all()


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("dimension", [0, 1])
def test_sums(name, dimension):
    layout = LAYOUTS[name]
    x = np.random.default_rng(6).integers(-100, 100, SHAPE).astype(np.float32)
    y = np.zeros(SHAPE[1 - dimension], np.float32)
    text = elementwise(
        reduction("y", "%x0", layout, "arith.addf", dimension),
        [("f32", layout)],
        ("f32", layout.drop(dimension)),
        warps=8,
    )
    run(text, [x, y], warps=8)
    assert np.array_equal(y, x.sum(axis=dimension))
