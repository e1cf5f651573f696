"""Loads and stores of tiles of elements, in whole bytes or below, with a mask."""

from __future__ import annotations

import numpy as np

from tilec.runtime.interpret.element import ELEMENTS, TileElement
from tilec.runtime.interpret.fault import Fault
from tilec.runtime.interpret.global_memory import AccessFault, Memory

# Alternating bits: what checking runs put where the language leaves an integer undefined.
_POISON_BYTE = 0xAA


def poison(element: TileElement) -> np.ndarray:
    """A value that is seen in results: NaN, or alternating bits where a type has none."""
    if element.is_float and element.format.has_nan:
        return element.format.encode(np.asarray(np.nan))
    if element.name == "i1":
        return np.asarray(True)
    bits = np.frombuffer(bytes([_POISON_BYTE]) * 8, f"u{max(element.bits, 8) // 8}")[0]
    return np.asarray(element.from_bits(np.asarray(bits & 15 if element.bits == 4 else bits)))


def may_be_poison(tile: np.ndarray, element: TileElement) -> np.ndarray:
    """Which integers have the bits of poison of their type, or of an i32 that was extended."""
    patterns = {int(poison(element)), int(poison(ELEMENTS["i32"]))} if element.bits >= 32 else {int(poison(element))}
    return np.isin(np.asarray(tile), list(patterns))


def load(
    memory: Memory, addresses: np.ndarray, mask: np.ndarray | None, element: TileElement, fill: np.ndarray
) -> np.ndarray:
    """The elements at addresses where the mask holds, `fill` elsewhere; Fault names the element that cannot be read."""
    if mask is None or mask.all():
        return np.asarray(_at_positions(_read, memory, addresses, None, element))
    tile = np.array(np.broadcast_to(fill, addresses.shape))
    tile[mask] = _at_positions(_read, memory, addresses[mask], mask, element)
    return tile


def store(
    memory: Memory, addresses: np.ndarray, mask: np.ndarray | None, element: TileElement, tile: np.ndarray
) -> None:
    """Writes the elements where the mask holds; Fault names the element that cannot be written."""
    if mask is not None:
        addresses, tile = addresses[mask], tile[mask]
    _at_positions(_write, memory, addresses, mask, element, tile)


def _at_positions(action, memory: Memory, addresses: np.ndarray, mask: np.ndarray | None, *rest):
    try:
        return action(memory, addresses, *rest)
    except AccessFault as problem:
        places = np.ndindex(addresses.shape) if mask is None else map(tuple, np.argwhere(mask).tolist())
        place = next(place for position, place in enumerate(places) if position == problem.position)
        where = f"element {list(place)}: " if place else ""
        raise Fault(f"{where}{problem}") from None


def _read(memory: Memory, addresses: np.ndarray, element: TileElement) -> np.ndarray:
    if element.bits >= 8:
        return element.from_bits(memory.read(addresses, element.bits // 8))
    stored = memory.read(addresses >> np.uint64(1), 1)
    return element.from_bits(stored >> _shift(addresses) & np.uint8(15))


def _write(memory: Memory, addresses: np.ndarray, element: TileElement, tile: np.ndarray) -> None:
    bits = element.to_bits(tile)
    if element.bits >= 8:
        memory.write(addresses, bits)
        return
    # The halves of a byte go one after the other, so that neither undoes the other.
    for half in (0, 1):
        chosen = addresses & np.uint64(1) == half
        places, shift = addresses[chosen] >> np.uint64(1), np.uint8(4 * half)
        kept = memory.read(places, 1) & np.uint8(0xF0 >> shift)
        memory.write(places, kept | bits[chosen] << shift)


def _shift(addresses: np.ndarray) -> np.ndarray:
    return ((addresses & np.uint64(1)) * np.uint64(4)).astype(np.uint8)
