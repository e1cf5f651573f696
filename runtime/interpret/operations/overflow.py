"""The assumption of `overflow<...>`: the exact result fits the type as signed, as unsigned, or as both."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilec.dialect import undefined_behaviour
from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.numbers.element import TileElement
from tilec.runtime.interpret.numbers.integer import limits, reading
from tilec.runtime.interpret.step import Step

_EXACT: dict[str, Callable[..., np.ndarray]] = {
    "cuda_tile.addi": lambda a, b: a + b,
    "cuda_tile.subi": lambda a, b: a - b,
    "cuda_tile.muli": lambda a, b: a * b,
    "cuda_tile.negi": lambda a: -a,
    "cuda_tile.shli": lambda a, b: a << b,
    "cuda_tile.trunci": lambda a: a,
}
_SIGNEDNESS = {
    "none": (), "no_signed_wrap": ("signed",), "no_unsigned_wrap": ("unsigned",), "no_wrap": ("signed", "unsigned"),
}  # fmt: skip


def check_overflow(op: Step, machine: Machine, *tiles: np.ndarray) -> None:
    """When checking, raises Fault if an exact result, computed in Python integers, does not fit."""
    if not machine.check:
        return
    for signedness in _SIGNEDNESS[op["overflow"]]:
        exact = _EXACT[op.name](*_integers(op, signedness, tiles))
        low, high = limits(op.element, signedness)
        outside = np.asarray((exact < low) | (exact > high), np.bool_)
        if outside.any():
            value = np.asarray(exact, object)[outside].flat[0]
            machine.undefined(undefined_behaviour.overflow(signedness, str(op.element), op["overflow"], value))


def _integers(op: Step, signedness: str, tiles: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    element: TileElement = op.types[0].element
    # A shift amount is passed as u64: always unsigned.
    read = [t if t.dtype == np.uint64 else reading(t, element, signedness) for t in tiles]
    return [np.asarray(tile).astype(object) for tile in read]
