"""Every barrier around scratch accesses is necessary: without any one of them the simulator reports a race."""

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
    """Sums along a dimension, broadcast to the shape of the tile."""
    reduced, thin, whole = (tile("f32", one) for one in (layout.drop(dimension), layout.project(dimension), layout))
    body = f"%{name}_next = arith.addf %e0, %acc0 : f32\n" + yields(f"%{name}_next", ["f32"])
    return f"""{reduce(f"%{name}_sum", source, [whole], [reduced], ["f32"], body, dimension)}
        %{name}_thin = "tile_gpu.reshape"(%{name}_sum) : ({reduced}) -> {thin}
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
    "consecutive sums": (
        FRAGMENT,
        FRAGMENT,
        "\n".join([total("a", "%x0", FRAGMENT, 0), total("b", "%a", FRAGMENT, 0), total("y", "%b", FRAGMENT, 0)]),
    ),
    "consecutive sums with small parts": (
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
def test_barriers_are_sufficient_and_each_is_necessary(name):
    source, target, body = KERNELS[name]
    lines = ptx_of(elementwise(body, [("f32", source)], ("f32", target))).splitlines()
    barriers = [number for number, line in enumerate(lines) if line.strip().startswith("bar.sync")]
    assert barriers and all(runs_without_trap("\n".join(lines), seed) for seed in SEEDS)
    for removed in barriers:
        mutant = "\n".join(line for number, line in enumerate(lines) if number != removed)
        found = not all(runs_without_trap(mutant, seed) for seed in SEEDS)
        assert found, f"barrier {barriers.index(removed)} is not necessary"


def runs_without_trap(ptx: str, seed: int) -> bool:
    """Whether the simulator reports no error; other tests check the values."""
    x, y = np.ones(SHAPE, np.float32), np.zeros(SHAPE, np.float32)
    try:
        run_ptx(ptx, [x, y], seed=seed)
    except _native.Trap:
        return False
    return True
