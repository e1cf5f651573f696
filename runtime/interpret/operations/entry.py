"""Coordinates of the tile block in the grid, and addresses of globals."""

from __future__ import annotations

import numpy as np

from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.registry import interprets
from tilec.runtime.interpret.step import Step

Tile = np.ndarray


def _triple(values: tuple[int, int, int]) -> tuple[Tile, ...]:
    return tuple(np.asarray(value, np.int32) for value in values)


@interprets("get_tile_block_id")
def _get_tile_block_id(_op: Step, machine: Machine) -> tuple[Tile, ...]:
    return _triple(machine.index)


@interprets("get_num_tile_blocks")
def _get_num_tile_blocks(_op: Step, machine: Machine) -> tuple[Tile, ...]:
    return _triple(machine.grid)


@interprets("get_global")
def _get_global(op: Step, machine: Machine) -> Tile:
    return np.asarray(machine.globals[op["name"]] * op.element.target.steps_per_byte, np.uint64)
