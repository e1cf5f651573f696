"""Masked loads and stores of tiles, also of elements smaller than a byte."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from tilec.runtime.interpret.fault import Fault
from tilec.runtime.interpret.memory.global_memory import LOAD, AccessFault, Memory
from tilec.runtime.interpret.numbers.element import ELEMENTS, TileElement

T = TypeVar("T")

# Alternating bits: the value of an undefined integer in checking runs.
_POISON_BYTE = 0xAA


def poison(element: TileElement) -> np.ndarray:
    """A value that stands out in results: NaN, or alternating bits if the type has no NaN."""
    if element.is_float and element.format.has_nan:
        return element.format.encode(np.asarray(np.nan))
    if element.name == "i1":
        return np.asarray(True)
    bits = np.frombuffer(bytes([_POISON_BYTE]) * 8, f"u{max(element.bits, 8) // 8}")[0]
    return np.asarray(element.from_bits(np.asarray(bits & 15 if element.bits == 4 else bits)))


def may_be_poison(tile: np.ndarray, element: TileElement) -> np.ndarray:
    """A mask of the integers whose bits equal the poison of their type, or that of an extended i32."""
    patterns = {int(poison(element)), int(poison(ELEMENTS["i32"]))} if element.bits >= 32 else {int(poison(element))}
    return np.isin(np.asarray(tile), list(patterns))


def load(
    memory: Memory,
    addresses: np.ndarray,
    mask: np.ndarray | None,
    element: TileElement,
    fill: np.ndarray,
    action: str = LOAD,
) -> np.ndarray:
    """The elements at `addresses` where the mask is true, `fill` elsewhere.

    Raises Fault, naming the element and the action, for an invalid address.
    """
    if mask is None or mask.all():
        return np.asarray(_at_positions(lambda: _read(memory, addresses, element, action), addresses, None))
    tile = np.array(np.broadcast_to(fill, addresses.shape))
    tile[mask] = _at_positions(lambda: _read(memory, addresses[mask], element, action), addresses[mask], mask)
    return tile


def store(
    memory: Memory, addresses: np.ndarray, mask: np.ndarray | None, element: TileElement, tile: np.ndarray
) -> None:
    """Writes the elements where the mask is true; raises Fault, naming the element, for an invalid address."""
    if mask is not None:
        addresses, tile = addresses[mask], tile[mask]
    _at_positions(lambda: _write(memory, addresses, element, tile), addresses, mask)


def _at_positions(access: Callable[[], T], addresses: np.ndarray, mask: np.ndarray | None) -> T:
    """The result of `access`; a fault names the position of its element in the tile."""
    try:
        return access()
    except AccessFault as fault:
        indices = np.ndindex(addresses.shape) if mask is None else map(tuple, np.argwhere(mask).tolist())
        index = next(index for position, index in enumerate(indices) if position == fault.position)
        element = f"element {list(index)}: " if index else ""
        raise Fault(f"{element}{fault}") from None


def _read(memory: Memory, addresses: np.ndarray, element: TileElement, action: str) -> np.ndarray:
    if element.bits >= 8:
        return element.from_bits(memory.read(addresses, element.bits // 8, action))
    stored = memory.read(addresses >> np.uint64(1), 1)
    return element.from_bits(stored >> _shift(addresses) & np.uint8(15))


def _write(memory: Memory, addresses: np.ndarray, element: TileElement, tile: np.ndarray) -> None:
    bits = element.to_bits(tile)
    if element.bits >= 8:
        memory.write(addresses, bits)
        return
    # Two elements of one byte are written one after the other, so that neither overwrites the other.
    for half in (0, 1):
        chosen = addresses & np.uint64(1) == half
        bytes_, shift = addresses[chosen] >> np.uint64(1), np.uint8(4 * half)
        kept = memory.read(bytes_, 1) & np.uint8(0xF0 >> shift)
        memory.write(bytes_, kept | bits[chosen] << shift)


def _shift(addresses: np.ndarray) -> np.ndarray:
    return ((addresses & np.uint64(1)) * np.uint64(4)).astype(np.uint8)
