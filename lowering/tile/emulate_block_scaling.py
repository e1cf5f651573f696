"""mmaf_scaled a, b, c, s, t -> mmaf a * s, b * t, c with scaled operands of bf16, for targets without such a unit.

An element has at most four significant bits and a factor at most four, so that each product is exact in bf16 unless it
is 2**128 or more, or less than 2**-126: the pass runs only on request.
"""

from __future__ import annotations

from collections.abc import Callable

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.lowering.tile.replacing import replace_results
from tilec.lowering.tile.tile_parts import reshaped


def emulate_block_scaling(module: ir.Module, is_wanted: Callable[[ir.OpView], bool] = lambda op: True) -> None:
    """Changes the block-scaled multiplies of rank 2 that are wanted, in place."""
    replace_results(module, {"mmaf_scaled": lambda op: _emulated(op) if is_wanted(op) else None})


def _emulated(op: ir.OpView) -> ir.Value | None:
    if op.acc.type.rank != 2:
        return None
    lhs, rhs = _scaled(op.lhs, op.lhs_scale, 1), _scaled(op.rhs, op.rhs_scale, 0)
    return build("mmaf", [lhs, rhs, op.acc], [op.acc.type]).result


def _scaled(tile: ir.Value, factors: ir.Value, depth: int) -> ir.Value:
    """The product of a tile and the factors of blocks along dimension `depth`."""
    single, half = ir.F32Type.get(), ir.BF16Type.get()
    wide = _converted(tile, single)
    product = build("mulf", [wide, _repeated(_converted(factors, single), tile.type.shape, depth)], [wide.type]).result
    return _converted(product, half)


def _converted(tile: ir.Value, element: ir.Type) -> ir.Value:
    return build("ftof", [tile], [TileType.get(tile.type.shape, element)]).result


def _repeated(factors: ir.Value, shape: tuple[int, ...], depth: int) -> ir.Value:
    """A tile of this shape in which successive elements along a dimension have the same factor."""
    kept = list(factors.type.shape)
    count = kept[depth]
    kept[depth : depth + 1] = [count, 1]
    apart = reshaped(factors, kept)
    kept[depth + 1] = shape[depth] // count
    return reshaped(build("broadcast", [apart], [TileType.get(kept, factors.type.element)]).result, shape)
