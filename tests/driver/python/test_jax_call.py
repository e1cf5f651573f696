"""Kernels called from JAX functions; numpy computes what they must return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilec as ct
from tilec.jax import InputOutput, OutputPlaceholder, cutile_call

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy

TILE = 4


@ct.kernel
def scale(x, y, factor, tile: ct.Constant):
    ct.store(y, ct.bid(0), (ct.load(x, ct.bid(0), tile) * factor).astype(y.dtype))


@ct.kernel
def halve(x, tile: ct.Constant[int]):
    ct.store(x, ct.bid(0), ct.load(x, ct.bid(0), tile) / 2)


@ct.kernel
def sum_and_difference(pair, results, tile: ct.Constant[int]):
    a, b = ct.load(pair[0], ct.bid(0), tile), ct.load(pair[1], ct.bid(0), tile)
    ct.store(results[0], ct.bid(0), a + b)
    ct.store(results[1], ct.bid(0), a - b)


def chained(x: Any, factor: float) -> Any:
    grid = (ct.cdiv(x.shape[0], TILE),)
    output = OutputPlaceholder(x.shape, x.dtype)
    y = cutile_call(grid, scale, (x, output, factor, TILE))
    z = cutile_call(grid, halve, (InputOutput(y), TILE))
    total, difference = cutile_call(grid, sum_and_difference, ((y, z), (output, output), TILE))
    return total - difference


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16])
def test_calls_chain_in_functions_of_jax(compiled: bool, dtype: Any) -> None:
    x = np.arange(10).astype(dtype)
    function = jax.jit(chained, static_argnums=1) if compiled else chained
    y = x.astype(np.float32) * 3
    assert np.asarray(function(jnp.asarray(x), 3.0)).astype(np.float32).tolist() == y.tolist()


def test_arrays_of_the_caller_remain_unchanged() -> None:
    x = jnp.arange(8, dtype=jnp.float32)
    assert np.asarray(cutile_call((2,), halve, (InputOutput(x), TILE))).tolist() == (np.arange(8) / 2).tolist()
    assert np.asarray(x).tolist() == list(range(8))


def test_batches_of_vmap_call_the_kernel_one_by_one() -> None:
    x = jnp.arange(12, dtype=jnp.float32).reshape(3, 4)
    doubled = jax.vmap(lambda row: cutile_call((1,), scale, (row, OutputPlaceholder((4,), np.float32), 2.0, TILE)))(x)
    assert np.asarray(doubled).tolist() == (np.arange(12).reshape(3, 4) * 2).tolist()


@ct.kernel
def mismatched(x, y):
    ct.store(y, 0, ct.load(x, 0, (2, 2)))


def test_errors_of_the_kernel_are_those_of_the_trace() -> None:
    x, output = jnp.zeros(4), OutputPlaceholder((4,), np.float32)
    with pytest.raises(ct.TileTypeError, match="expected one extent per dimension"):
        jax.jit(lambda x: cutile_call((1,), mismatched, (x, output)))(x)
    with pytest.raises(TypeError, match="takes 2 arguments"):
        cutile_call((1,), mismatched, (x,))
    with pytest.raises(TypeError, match="expects a kernel, got function"):
        cutile_call((1,), lambda: None, ())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'tile' is a ct.Constant"):
        cutile_call((1,), halve, (InputOutput(x), x))
