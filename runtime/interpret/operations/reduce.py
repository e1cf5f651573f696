"""Reductions and scans of a tile along a dimension.

reduce is a balanced tree over adjacent elements: the right one of each pair is the element of the body, the left one
its accumulator, so the body needs to be associative but not commutative. scan is sequential. Neither uses the
identities: combining a value with the identity yields that value, by assumption.
"""

from __future__ import annotations

import numpy as np

from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.registry import interprets
from tilec.runtime.interpret.step import Block, Step

Tiles = tuple[np.ndarray, ...]


def _combine(machine: Machine, body: Block, elements: Tiles, accumulators: Tiles) -> Tiles:
    """Applies the body to the elements of tiles of one shape."""
    shape = elements[0].shape
    if body.vectorisable or not shape:
        yielded = machine.run(body, _pairs(elements, accumulators)).values
        return tuple(np.broadcast_to(value, shape) for value in yielded)
    results = tuple(np.empty_like(accumulator) for accumulator in accumulators)
    for index in np.ndindex(shape):
        arguments = _pairs(*(tuple(np.asarray(tile[index]) for tile in tiles) for tiles in (elements, accumulators)))
        for result, value in zip(results, machine.run(body, arguments).values, strict=True):
            result[index] = value
    return results


def _pairs(elements: Tiles, accumulators: Tiles) -> list[np.ndarray]:
    return [value for pair in zip(elements, accumulators, strict=True) for value in pair]


@interprets("reduce")
def _reduce(op: Step, machine: Machine, operands: Tiles) -> Tiles:
    tiles = tuple(np.moveaxis(tile, op["dim"], 0) for tile in operands)
    while tiles[0].shape[0] > 1:
        left, right = tuple(tile[0::2] for tile in tiles), tuple(tile[1::2] for tile in tiles)
        tiles = _combine(machine, op.body, right, left)
    return _at(tiles, 0)


@interprets("scan")
def _scan(op: Step, machine: Machine, operands: Tiles) -> Tiles:
    tiles = tuple(np.moveaxis(tile, op["dim"], 0) for tile in operands)
    results = tuple(np.empty_like(tile) for tile in tiles)
    prefix: Tiles | None = None
    order = range(tiles[0].shape[0])
    for index in reversed(order) if op["reverse"] else order:
        element = _at(tiles, index)
        prefix = element if prefix is None else _combine(machine, op.body, element, prefix)
        for result, value in zip(results, prefix, strict=True):
            result[index] = value
    return tuple(np.moveaxis(result, 0, op["dim"]) for result in results)


def _at(tiles: Tiles, index: int) -> Tiles:
    return tuple(np.asarray(tile[index]) for tile in tiles)
