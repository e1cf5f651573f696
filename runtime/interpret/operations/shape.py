"""Creation of tiles, and operations that move elements without changing them."""

from __future__ import annotations

import numpy as np

from tilec.dialect import undefined_behaviour
from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.memory import access
from tilec.runtime.interpret.memory.masked_pointers import NO_ADDRESS, POISON
from tilec.runtime.interpret.numbers.element import ELEMENTS, TileElement
from tilec.runtime.interpret.numbers.integer import scalar, signed, wrap
from tilec.runtime.interpret.registry import interprets
from tilec.runtime.interpret.step import Step

Tile = np.ndarray

# The index type of extract and insert.
_INDEX = ELEMENTS["i32"]


@interprets("constant", elementwise=True)
def _constant(op: Step, _machine: Machine) -> Tile:
    return op["value"]


@interprets("iota")
def _iota(op: Step, _machine: Machine) -> Tile:
    return wrap(np.arange(op.result_types[0].shape[0], dtype=np.uint64), op.element)


@interprets("broadcast")
def _broadcast(op: Step, _machine: Machine, source: Tile) -> Tile:
    return np.broadcast_to(source, op.result_types[0].shape)


@interprets("reshape")
def _reshape(op: Step, _machine: Machine, source: Tile) -> Tile:
    return source.reshape(op.result_types[0].shape)


@interprets("permute")
def _permute(op: Step, _machine: Machine, source: Tile) -> Tile:
    return source.transpose(op["permutation"])


@interprets("cat")
def _cat(op: Step, _machine: Machine, lhs: Tile, rhs: Tile) -> Tile:
    return np.concatenate([lhs, rhs], axis=op["dim"])


def _part(machine: Machine, whole: Tile, part: tuple[int, ...], indices: tuple[Tile, ...]) -> tuple[slice, ...]:
    """The slices of the sub-tile at `indices`; an index beyond the last sub-tile is undefined and clamped."""
    found = []
    for axis, (extent, size, index) in enumerate(zip(whole.shape, part, indices, strict=True)):
        number, count = scalar(index, _INDEX, "unsigned"), extent // size
        if number >= count:
            machine.undefined(f"{undefined_behaviour.sub_tile(axis, count, size)}, got index {number}")
        start = min(number, count - 1) * size
        found.append(slice(start, start + size))
    return tuple(found)


@interprets("extract")
def _extract(op: Step, machine: Machine, source: Tile, indices: tuple[Tile, ...]) -> Tile:
    return source[_part(machine, source, op.result_types[0].shape, indices)]


@interprets("insert")
def _insert(op: Step, machine: Machine, source: Tile, destination: Tile, indices: tuple[Tile, ...]) -> Tile:
    result = destination.copy()
    result[_part(machine, destination, source.shape, indices)] = source
    return result


@interprets("select", elementwise=True)
def _select(_op: Step, _machine: Machine, cond: Tile, val_if_true: Tile, val_if_false: Tile) -> Tile:
    return np.where(cond, val_if_true, val_if_false)


def bytes_of(tile: Tile, element: TileElement) -> Tile:
    """The bytes of a tile of rank 1 in memory, little-endian."""
    bits = np.ascontiguousarray(element.to_bits(tile))
    return bits[0::2] | bits[1::2] << np.uint8(4) if element.bits == 4 else bits.view(np.uint8)


@interprets("pack")
def _pack(op: Step, _machine: Machine, source: Tile) -> Tile:
    element = op.types[0].element
    # An i1 is packed to one bit, unlike in memory.
    stored = np.packbits(source, bitorder="little") if element.name == "i1" else bytes_of(source, element)
    return stored.view(np.int8)


@interprets("unpack")
def _unpack(op: Step, _machine: Machine, source: Tile) -> Tile:
    stored = np.ascontiguousarray(source).view(np.uint8)
    if op.element.name == "i1":
        return np.unpackbits(stored, bitorder="little") != 0
    if op.element.bits == 4:
        return op.element.from_bits(np.stack([stored & np.uint8(15), stored >> np.uint8(4)], axis=1).reshape(-1))
    return op.element.from_bits(stored.view(f"u{op.element.bits // 8}"))


@interprets("offset", elementwise=True)
def _offset(op: Step, machine: Machine, ptr: Tile, offset: Tile) -> Tile:
    elements = np.asarray(signed(offset, op.types[1].element)).astype(np.int64)
    moved = ptr + (elements * op.element.target.steps).view(np.uint64)
    return _check_addresses(op, machine, ptr, elements, moved) if machine.check else moved


def _check_addresses(op: Step, machine: Machine, ptr: Tile, elements: Tile, moved: Tile) -> Tile:
    """The moved pointers, those that overflow 64 bits replaced by NO_ADDRESS; Fault unless the accesses are masked."""
    target, memory = op.element.target, machine.memory
    poisoned = access.may_be_poison(elements, op.types[1].element)
    too_far = np.abs(elements) > (2**63 - 1) // target.steps
    wrong = np.asarray(too_far | (((moved < ptr) != (elements < 0)) & (elements != 0)))
    if wrong.any():
        number, start = elements[wrong].flat[0], ptr[wrong].flat[0] // np.uint64(target.steps_per_byte)
        message = f"{number} elements from {start:#x} exceeds the 64-bit address space"
        if np.any(wrong & poisoned):
            message += f"; {POISON}"
        if not op["is_masked"]:
            machine.undefined(message)
        memory.unreachable = message
    memory.poisoned.update(np.asarray(moved)[poisoned].tolist())
    return np.where(wrong | (ptr == NO_ADDRESS), NO_ADDRESS, moved)
