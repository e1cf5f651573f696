"""Views of images: accesses by TMA; others are expanded before the conversion (im2col_fallback.py)."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion
from tilec.lowering.tile_to_gpu.conversion.converts import converts
from tilec.lowering.tile_to_gpu.conversion.placed_operands import load_by_tma
from tilec.lowering.tile_to_gpu.conversion.tma_store import store_by_tma
from tilec.lowering.tile_to_gpu.conversion.values import TileView


@converts("tilex.make_im2col_view")
def _make_im2col_view(op: ir.OpView, conversion: Conversion) -> None:
    result = op.operation.results[0]
    conversion.tile_views[result] = TileView(conversion.tensor_views[op.tensor_view], result.type)


@converts("tilex.load_im2col_tko")
def _load(op: ir.OpView, conversion: Conversion) -> None:
    load_by_tma(op, conversion)


@converts("tilex.store_im2col_tko")
def _store(op: ir.OpView, conversion: Conversion) -> None:
    store_by_tma(op, conversion.get(op.tile), conversion.stores[op.operation], conversion)
