"""Loops and branches that carry scalars and tiles."""

from __future__ import annotations

import numpy as np
import pytest
from simulated import kernel, load_tile, ptx_of, run, store_tile, tile

from tilec.lowering.layout.blocked import blocked

LAYOUT = blocked((256,), 4, 0, 2)
TILE = tile("f32", LAYOUT)
HEAD = load_tile("%x", TILE, "%a", (256,))
TAIL = store_tile("%y", TILE, "%b", (256,))


def loop(body: str) -> str:
    return kernel(
        "%a: i64, %b: i64, %n: i32, %m: i32",
        f"{HEAD}\n%c0 = arith.constant 0 : i32\n%c1 = arith.constant 1 : i32\n{body}\n{TAIL}",
    )


def result_of(text: str, *scalars: int) -> np.ndarray:
    x, y = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    run(text, [x, y, *scalars])
    return y


SUM = f"""%y = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> ({TILE}) : i32 {{
    %f = arith.sitofp %i : i32 to f32
    %t = "tile_gpu.splat"(%f) : (f32) -> {TILE}
    %s = arith.addf %acc, %t : {TILE}
    scf.yield %s : {TILE}
  }}"""


@pytest.mark.parametrize("upper", [-3, 0, 1, 2, 7])
def test_for(upper):
    assert np.array_equal(result_of(loop(SUM), upper, 0), np.arange(256) + sum(range(upper)))


def test_loop_has_one_branch_and_no_moves():
    lines = [line.split("//")[0].strip() for line in ptx_of(loop(SUM)).splitlines()]
    start = next(i for i, line in enumerate(lines) if line.startswith("$loop:"))
    end = next(i for i, line in enumerate(lines) if "bra" in line and i > start)
    assert not any(line.startswith("mov") for line in lines[start:end])


def test_nested_loops_permute_carried_values():
    """(a, b) -> (b, a + b), m * n times in two nested loops: Fibonacci numbers."""
    body = f"""%zero = arith.constant dense<0.0> : {TILE}
    %r:2 = scf.for %i = %c0 to %m step %c1 iter_args(%p = %zero, %q = %x) -> ({TILE}, {TILE}) : i32 {{
      %inner:2 = scf.for %j = %c0 to %n step %c1 iter_args(%a0 = %p, %b0 = %q) -> ({TILE}, {TILE}) : i32 {{
        %next = arith.addf %a0, %b0 : {TILE}
        scf.yield %b0, %next : {TILE}, {TILE}
      }}
      scf.yield %inner#0, %inner#1 : {TILE}, {TILE}
    }}
    %y = arith.addf %r#0, %zero : {TILE}"""
    assert np.array_equal(result_of(loop(body), 5, 2), 55 * np.arange(256))


@pytest.mark.parametrize(("n", "m"), [(1, 2), (2, 1), (2, 2)])
def test_if_else_inside_a_loop(n, m):
    body = f"""%less = arith.cmpi slt, %n, %m : i32
    %y = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> ({TILE}) : i32 {{
      %chosen = scf.if %less -> ({TILE}) {{
        %s = arith.addf %acc, %x : {TILE}
        scf.yield %s : {TILE}
      }} else {{
        %s = arith.negf %acc : {TILE}
        scf.yield %s : {TILE}
      }}
      scf.yield %chosen : {TILE}
    }}"""
    expected = np.arange(256) * (1 + n) if n < m else np.arange(256) * (-1) ** n
    assert np.array_equal(result_of(loop(body), n, m), expected)


def test_if_without_else():
    body = f"""%less = arith.cmpi slt, %n, %m : i32
    scf.if %less {{
      {store_tile("%x", TILE, "%b", (256,))}
    }}
    %y = arith.constant dense<7.0> : {TILE}
    %w = arith.constant 16 : i32"""
    text = kernel("%a: i64, %b: i64, %n: i32, %m: i32", f"{HEAD}\n{body}")
    assert np.array_equal(result_of(text, 1, 2), np.arange(256))
    assert not result_of(text, 2, 1).any()


def test_while():
    """Halves n until it is at most m, and adds the tile in each iteration."""
    body = f"""%r:2 = scf.while (%k = %n, %acc = %x) : (i32, {TILE}) -> (i32, {TILE}) {{
      %more = arith.cmpi sgt, %k, %m : i32
      scf.condition(%more) %k, %acc : i32, {TILE}
    }} do {{
    ^bb0(%k: i32, %acc: {TILE}):
      %half = arith.shrsi %k, %c1 : i32
      %s = arith.addf %acc, %x : {TILE}
      scf.yield %half, %s : i32, {TILE}
    }}
    %y = arith.negf %r#1 : {TILE}"""
    assert np.array_equal(result_of(loop(body), 100, 5), -np.arange(256) * 6)


def test_replicated_registers_are_carried_once():
    """Registers that a projected layout replicates are one loop argument."""
    thin = blocked((16, 64), 4, 1, 4).project(1)
    type = tile("f32", thin)
    body = f"""{load_tile("%x", type, "%a", (16, 1))}
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %y = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> ({type}) : i32 {{
      %s = arith.addf %acc, %x : {type}
      scf.yield %s : {type}
    }}
    {store_tile("%y", type, "%b", (16, 1))}"""
    text = kernel("%a: i64, %b: i64, %n: i32", body)
    x, y = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    run(text, [x, y, 3])
    assert np.array_equal(y, 4 * x)
    assert ptx_of(text).count("add.rn.f32") == thin.register_count // 4
