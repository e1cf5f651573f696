"""gather_parts: each CTA of a cluster gets the tiles of all, by rank; a barrier less is reported."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilec
from tilec.errors import SimulationError
from tilec.runtime.artifact.artifact import Artifact
from tilec.runtime.simulate import Settings, simulate
from tilec.signature import parse

DTYPES = {"i8": np.int8, "f16": np.float16, "f32": np.float32, "i64": np.int64}
ELEMENTS = 64


def source(element: str, ctas: int, rounds: int, target: str) -> str:
    """The CTA of rank r has row r of X in each round; it stores what it got, the rows of all, in tile r of Y."""
    arrays = f"X: {element}[?,?], Y: {element}[?,?]"
    signature = parse(arrays).to_json().replace('"', '\\"')
    ranks = "".join(f"({1 << bit},0)" for bit in range(ctas.bit_length() - 1))
    threads = "lane=(0,1)(0,2)(0,4)(0,8)(0,16) warp=(0,32)(0,0)"
    view = "extents [%{0}_extent0, %{0}_extent1] strides [%{0}_stride0, %{0}_stride1] vector 1"
    arguments = ", ".join(
        f"%{name}: i64, %{name}_extent0: i32, %{name}_extent1: i32, %{name}_stride0: i32, %{name}_stride1: i32"
        for name in "xy"
    )
    return f"""
!row = tensor<{ELEMENTS}x{element}, "register=none lane=(1)(2)(4)(8)(16) warp=(32)(0) shape={ELEMENTS}">
!line = tensor<1x{ELEMENTS}x{element}, "register=none {threads} shape=1x{ELEMENTS}">
!rows = tensor<{ctas}x{ELEMENTS}x{element}, "register={ranks} {threads} shape={ctas}x{ELEMENTS}">
tile_gpu.kernel @k({arguments}) target "{target}" warps 4 cluster {ctas}
    attributes {{tilec.signature = "{signature}"}} {{
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %ctas = arith.constant {ctas} : i32
  %rounds = arith.constant {rounds} : i32
  %rank = tile_gpu.cluster_rank
  scf.for %i = %zero to %rounds step %one : i32 {{
    %before = arith.muli %i, %ctas : i32
    %at = arith.addi %before, %rank : i32
    %first = arith.muli %at, %ctas : i32
    %l = tile_gpu.load_view %x[%at, %zero] {view.format("x")} : !line
    %s = tile_gpu.reshape %l : !line -> !row
    %g = tile_gpu.gather_parts %s : !row -> !rows
    tile_gpu.store_view %g -> %y[%first, %zero] {view.format("y")} : !rows
  }}
}}
"""


def compiled(element: str, ctas: int, rounds: int = 1, target: str = "sm_100a") -> Artifact:
    return tilec.compile(source(element, ctas, rounds, target), target=target, stop="ptx").artifact


def check(artifact: Artifact, element: str, ctas: int, rounds: int, seed: int = 0) -> None:
    x = np.random.default_rng(seed).integers(-99, 100, (ctas * rounds, ELEMENTS)).astype(DTYPES[element])
    y = np.zeros((ctas * ctas * rounds, ELEMENTS), DTYPES[element])
    simulate(artifact, (1, 1, 1), (x, y), Settings(seed=seed))
    exact = np.repeat(x.reshape(rounds, 1, ctas, ELEMENTS), ctas, axis=1)
    assert np.array_equal(y.reshape(exact.shape), exact)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("ctas", [2, 8])
def test_every_element_type(element: str, ctas: int, target: str) -> None:
    check(compiled(element, ctas, target=target), element, ctas, 1)


@pytest.mark.parametrize("seed", range(3))
def test_exchanges_in_a_loop(seed: int) -> None:
    check(compiled("f32", 4, 5), "f32", 4, 5, seed)


_BARRIER = r"    barrier.cluster.arrive.aligned;[^\n]*\n    barrier.cluster.wait.aligned;[^\n]*\n"
# What is replaced (a pattern and which of its matches) by what, and what the simulator reports.
MUTANTS = {
    "no barrier before the exchange": (_BARRIER, 0, "", "race: "),
    "no barrier after the exchange": (_BARRIER, 1, "", "uninitialised"),
    "another CTA does not get the tile": (r"    (@%p\d+ )?st.shared::cluster[^\n]*\n", 1, "", "uninitialised"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_reported(name: str) -> None:
    pattern, number, replacement, message = MUTANTS[name]
    artifact = compiled("f32", 2, 3)
    match = list(re.finditer(pattern, artifact.ptx))[number]
    changed = Artifact(artifact.metadata, artifact.ptx[: match.start()] + replacement + artifact.ptx[match.end() :])
    with pytest.raises(SimulationError, match=message):
        for seed in range(5):
            check(changed, "f32", 2, 3, seed)
