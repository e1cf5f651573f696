"""Matrix multiply-accumulate: products and sums in f64, rounded once per operation to the type of the accumulator.

Products of f16, bf16, tf32, f32 and smaller types are exact in f64, so the only other error is that of summing in f64;
products of f64 operands round as well. numpy's matrix product determines the order of summation.
"""

from __future__ import annotations

import numpy as np

from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.numbers.element import TileElement
from tilec.runtime.interpret.numbers.integer import reading, wrap
from tilec.runtime.interpret.numbers.rounding import NEAREST_EVEN, round_to
from tilec.runtime.interpret.registry import interprets
from tilec.runtime.interpret.step import Step

Tile = np.ndarray

# The size from which OpenBLAS splits a product over threads (GEMM_MULTITHREAD_THRESHOLD times 65536). Their
# synchronisation costs more than the product of two tiles, and their number would affect the rounding of sums.
_SINGLE_THREADED = 4 * 65536


def decoded(tile: Tile, element: TileElement) -> Tile:
    """The values of an operand of floats, in f64."""
    if element.name == "tf32":
        # A tf32 loaded from memory may have low bits set, which tensor cores ignore.
        tile = (np.asarray(tile, order="C").view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    return element.format.decode(tile)


def rounded_sum(op: Step, products: Tile, acc: Tile) -> Tile:
    """The sum of products in f64 and the accumulator, rounded to the element type of the result."""
    form = op.element.format
    return form.encode(round_to(products + form.decode(acc), form, NEAREST_EVEN))


def product(lhs: Tile, rhs: Tile) -> Tile:
    """The matrix product, computed in groups of rows; extents are powers of two."""
    *batch, rows, depth = lhs.shape
    group = max(1, min(rows, _SINGLE_THREADED // (depth * rhs.shape[-1])))
    parts = np.matmul(lhs.reshape(*batch, rows // group, group, depth), rhs[..., np.newaxis, :, :])
    return parts.reshape(*batch, rows, rhs.shape[-1])


@interprets("mmaf", "tilex.mmaf")
def _mmaf(op: Step, _machine: Machine, lhs: Tile, rhs: Tile, acc: Tile) -> Tile:
    left, right = (decoded(tile, type.element) for tile, type in zip((lhs, rhs), op.types, strict=False))
    return rounded_sum(op, product(left, right), acc)


@interprets("mmaf_scaled", "tilex.mmaf_scaled")
def _mmaf_scaled(
    op: Step, _machine: Machine, lhs: Tile, rhs: Tile, acc: Tile, lhs_scale: Tile, rhs_scale: Tile
) -> Tile:
    form, rhs_form, scale_form = (op.types[at].element.format for at in (0, 1, 3))
    shared = lhs.shape[-1] // lhs_scale.shape[-1]
    left = form.decode(lhs) * np.repeat(scale_form.decode(lhs_scale), shared, axis=-1)
    right = rhs_form.decode(rhs) * np.repeat(scale_form.decode(rhs_scale), shared, axis=-2)
    return rounded_sum(op, product(left, right), acc)


@interprets("mmai")
def _mmai(op: Step, _machine: Machine, lhs: Tile, rhs: Tile, acc: Tile) -> Tile:
    left = reading(lhs, op.types[0].element, op["signedness_lhs"]).astype(np.float64)
    right = reading(rhs, op.types[1].element, op["signedness_rhs"]).astype(np.float64)
    # Sums of products of bytes stay below 2**53, so the product in f64 is exact.
    return wrap(product(left, right).astype(np.int64) + acc, op.element)
