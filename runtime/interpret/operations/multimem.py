"""Multimem accesses, which address the memory of several devices at once; the interpreter has a single device."""

from __future__ import annotations

import numpy as np

from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.operations.atomic import update_view
from tilec.runtime.interpret.operations.view import TileView, load_tile, locate, store_tile
from tilec.runtime.interpret.registry import interprets
from tilec.runtime.interpret.step import Step

Tile = np.ndarray
Tiles = tuple[np.ndarray, ...]


@interprets("multimem_load_reduce_view_tko")
def _load_reduce(op: Step, machine: Machine, view: TileView, index: Tiles, token: None) -> tuple[Tile, None]:
    return load_tile(op, machine, view, index, token)


@interprets("multimem_store_view_tko")
def _store(op: Step, machine: Machine, view: TileView, tile: Tile, index: Tiles, _token: None) -> tuple[None]:
    return store_tile(op, machine, view, tile, index)


@interprets("multimem_reduce_view_tko")
def _reduce(op: Step, machine: Machine, view: TileView, tile: Tile, index: Tiles, _token: None) -> tuple[None]:
    mode = "addf" if view.tensor.element.is_float else op["reduction"]
    update_view(machine, view, locate(op, machine, view, index, op.types[2]), mode, tile)
    return (None,)
