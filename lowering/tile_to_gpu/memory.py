"""Loads and stores through tiles of pointers."""

from __future__ import annotations

from typing import Any

from tilec.errors import UnsupportedError
from tilec.lowering.tile_to_gpu import emitter
from tilec.lowering.tile_to_gpu.conversion import Conversion
from tilec.lowering.tile_to_gpu.converts import converts
from tilec.lowering.ptx.place import error_place


def _tiles(op: Any, values: list[Any], conversion: Conversion) -> list[Any]:
    layout = conversion.layouts.get(values[0])
    return [None if value is None else conversion.tile(value, layout) for value in values]


def _need_tile(op: Any, value: Any) -> None:
    if value.type.rank == 0:
        raise UnsupportedError(
            "a load or store through a single pointer cannot be compiled: use a tile of one",
            error_place(op.operation.location),
        )


@converts("load_ptr_tko")
def _load_ptr(op: Any, conversion: Conversion) -> None:
    _need_tile(op, op.source)
    result = op.operation.results[0]
    layout = conversion.layouts[result]
    operands = [None if v is None else conversion.tile(v, layout) for v in (op.source, op.mask, op.paddingValue)]
    loaded = emitter.gpu(
        "load_global", operands, [conversion.type(result)], vector=1, order=op.memory_ordering_semantics
    )
    conversion.set(result, loaded.result)


@converts("store_ptr_tko")
def _store_ptr(op: Any, conversion: Conversion) -> None:
    _need_tile(op, op.destination)
    operands = _tiles(op, [op.destination, op.value, op.mask], conversion)
    emitter.gpu("store_global", operands, vector=1, order=op.memory_ordering_semantics)
