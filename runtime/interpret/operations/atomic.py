"""Atomic accesses: one tile block runs at a time, and the elements of a tile are updated in row-major order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.memory import access
from tilec.runtime.interpret.memory.global_memory import ATOMIC_UPDATE
from tilec.runtime.interpret.numbers.element import TileElement
from tilec.runtime.interpret.numbers.integer import unsigned, wrap
from tilec.runtime.interpret.operations.memory import unwritten
from tilec.runtime.interpret.operations.view import TileView, locate
from tilec.runtime.interpret.registry import interprets
from tilec.runtime.interpret.step import Step

Tile = np.ndarray


def _unsigned(choose: np.ufunc) -> Callable[[Tile, Tile, TileElement], Tile]:
    return lambda old, new, element: wrap(choose(unsigned(old, element), unsigned(new, element)), element)


MODES: dict[str, Callable[[Tile, Tile, TileElement], Tile]] = {
    "and": lambda old, new, _: old & new,
    "or": lambda old, new, _: old | new,
    "xor": lambda old, new, _: old ^ new,
    "add": _unsigned(np.add),
    # numpy and ml_dtypes round a sum once to nearest even.
    "addf": lambda old, new, _: old + new,
    "max": lambda old, new, _: np.maximum(old, new),
    "min": lambda old, new, _: np.minimum(old, new),
    "umax": _unsigned(np.maximum),
    "umin": _unsigned(np.minimum),
    "xchg": lambda _old, new, _: new,
    "inc": lambda old, new, element: _counted(old, new, element, up=True),
    "dec": lambda old, new, element: _counted(old, new, element, up=False),
}


def _counted(old: Tile, bound: Tile, element: TileElement, *, up: bool) -> Tile:
    """The next number up to a bound, after which 0 follows, or down from it, after 0 and beyond it again the bound."""
    number, last = unsigned(old, element), unsigned(bound, element)
    if up:
        return wrap(np.where(number >= last, 0, number + 1), element)
    return wrap(np.where((number == 0) | (number > last), last, number - 1), element)


def _rounds(addresses: Tile) -> list[Tile]:
    """Positions in groups of distinct addresses; positions of equal addresses keep their order."""
    order = np.argsort(addresses, kind="stable")
    ordered = addresses[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    lengths = np.diff(np.append(starts, len(ordered)))
    rank = np.arange(len(ordered)) - np.repeat(starts, lengths)
    return [order[rank == number] for number in range(int(lengths.max(initial=0)))]


@dataclass(frozen=True)
class _Access:
    """The elements of memory to update: their addresses, an optional mask, and their type."""

    machine: Machine
    addresses: Tile
    mask: Tile | None
    element: TileElement

    def update(self, combine: Callable[[Tile], Tile], fill: Tile) -> Tile:
        """Replaces the elements by `combine` of them; returns the old values, `fill` where the mask is false."""
        old = np.array(np.broadcast_to(fill, self.addresses.shape))
        mask = np.ones(self.addresses.shape, np.bool_) if self.mask is None else self.mask
        updated = np.flatnonzero(mask)
        for positions in _rounds(self.addresses.reshape(-1)[updated]):
            chosen = np.zeros(self.addresses.shape, np.bool_)
            chosen.flat[updated[positions]] = True
            held = access.load(self.machine.memory, self.addresses, chosen, self.element, fill, ATOMIC_UPDATE)
            access.store(self.machine.memory, self.addresses, chosen, self.element, combine(held))
            old[chosen] = held[chosen]
        return old


@interprets("atomic_rmw_tko", "tilex.atomic_rmw_tko")
def _rmw(op: Step, machine: Machine, pointers: Tile, arg: Tile, mask: Tile | None, _token: None) -> tuple[Tile, None]:
    mode, target = MODES[op["mode"]], _Access(machine, pointers, mask, op.element)
    return target.update(lambda old: mode(old, arg, op.element), unwritten(op, machine)), None


@interprets("atomic_cas_tko")
def _cas(
    op: Step, machine: Machine, pointers: Tile, cmp: Tile, val: Tile, mask: Tile | None, _token: None
) -> tuple[Tile, None]:
    """Compares bit patterns, so that a NaN equals itself and the two zeros differ."""
    wanted, target = op.element.to_bits(cmp), _Access(machine, pointers, mask, op.element)
    old = target.update(
        lambda old: np.where(op.element.to_bits(old) == wanted, val, old), np.zeros((), op.element.dtype)
    )
    return old if mask is None else np.where(mask, old, cmp), None


@interprets("atomic_red_view_tko", "tilex.atomic_red_view_tko")
def _red(op: Step, machine: Machine, view: TileView, index: tuple[Tile, ...], value: Tile, _token: None) -> tuple[None]:
    update_view(machine, view, locate(op, machine, view, index, op.types[1]), op["mode"], value)
    return (None,)


def update_view(machine: Machine, view: TileView, located: tuple[Tile, Tile], mode: str, value: Tile) -> None:
    """Combines the `located` elements of a view (addresses, and a mask of those inside) with a tile."""
    element = view.tensor.element
    combine = MODES[mode]
    _Access(machine, *located, element).update(lambda old: combine(old, value, element), np.zeros((), element.dtype))
