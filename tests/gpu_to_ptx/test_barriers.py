"""Every barrier around the scratch is needed: the simulator reports a kernel that lacks any one of them."""

from __future__ import annotations

import numpy as np
import pytest
from reductions import reduce, yields
from simulated import elementwise, ptx_of, run_ptx, tile

from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.wgmma import wgmma_accumulator
from tilec.runtime.ptxsim import _native

SHAPE = (64, 64)
ROWS, COLUMNS, FRAGMENT = blocked(SHAPE, 4, 1, 4), blocked(SHAPE, 4, 0, 4), wgmma_accumulator(SHAPE, 4)
SEEDS = range(5)


def total(name: str, source: str, layout: LinearLayout, dimension: int) -> str:
    """Sums along a dimension, spread over the tile again."""
    folded, thin, whole = (tile("f32", one) for one in (layout.drop(dimension), layout.project(dimension), layout))
    body = f"%{name}_next = arith.addf %e0, %acc0 : f32\n" + yields(f"%{name}_next", ["f32"])
    return f"""{reduce(f"%{name}_sum", source, [whole], [folded], ["f32"], body, dimension)}
        %{name}_thin = "tile_gpu.reshape"(%{name}_sum) : ({folded}) -> {thin}
        %{name} = "tile_gpu.broadcast"(%{name}_thin) : ({thin}) -> {whole}"""


def convert(result: str, value: str, source: LinearLayout, target: LinearLayout) -> str:
    return f'{result} = "tile_gpu.convert_layout"({value}) : ({tile("f32", source)}) -> {tile("f32", target)}'


LOOP = f"""%c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%t = %x0) -> ({tile("f32", ROWS)}) : i32 {{
      {total("a", "%t", ROWS, 0)}
      scf.yield %a : {tile("f32", ROWS)}
    }}"""
KERNELS = {
    "sums one after another": (
        FRAGMENT,
        FRAGMENT,
        "\n".join([total("a", "%x0", FRAGMENT, 0), total("b", "%a", FRAGMENT, 0), total("y", "%b", FRAGMENT, 0)]),
    ),
    "small parts": (
        ROWS,
        ROWS,
        "\n".join([total("a", "%x0", ROWS, 0), total("b", "%a", ROWS, 0), total("y", "%b", ROWS, 0)]),
    ),
    "two conversions": (
        ROWS,
        FRAGMENT,
        "\n".join([convert("%a", "%x0", ROWS, COLUMNS), convert("%y", "%a", COLUMNS, FRAGMENT)]),
    ),
    "sum between conversions": (
        ROWS,
        ROWS,
        "\n".join(
            [convert("%a", "%x0", ROWS, COLUMNS), total("b", "%a", COLUMNS, 1), convert("%y", "%b", COLUMNS, ROWS)]
        ),
    ),
    "sum in a loop": (ROWS, ROWS, LOOP),
}


@pytest.mark.parametrize("name", KERNELS)
def test_no_barrier_is_too_many_and_none_is_missing(name):
    source, target, body = KERNELS[name]
    lines = ptx_of(elementwise(body, [("f32", source)], ("f32", target))).splitlines()
    barriers = [number for number, line in enumerate(lines) if line.strip().startswith("bar.sync")]
    assert barriers and all(is_right("\n".join(lines), seed) for seed in SEEDS)
    for missing in barriers:
        mutant = "\n".join(line for number, line in enumerate(lines) if number != missing)
        assert not all(is_right(mutant, seed) for seed in SEEDS), f"barrier {barriers.index(missing)} is not needed"


def is_right(ptx: str, seed: int) -> bool:
    """Whether the simulator finds nothing; the values are other tests' matter."""
    x, y = np.ones(SHAPE, np.float32), np.zeros(SHAPE, np.float32)
    try:
        run_ptx(ptx, [x, y], seed=seed)
    except _native.Trap:
        return False
    return True
