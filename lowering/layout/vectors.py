"""Successive elements of a thread: vectors of accesses to memory, and elements that are divided or joined to bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tilec.lowering.layout.bit_matrix import bits_of
from tilec.lowering.layout.blocked import along, doubling
from tilec.lowering.layout.linear_layout import LinearLayout

MAXIMUM_VECTOR_BYTES = 16


def divided(layout: LinearLayout, dimension: int, parts: int) -> LinearLayout:
    """The layout of a tile that has `parts` elements for each one along `dimension`, in successive registers."""
    if parts == 1:
        return layout
    scaled = layout.map_along(dimension, lambda coordinate: coordinate * parts)
    steps = along(dimension, doubling(1, parts), len(layout.shape))
    return replace(scaled, register=(*steps, *scaled.register))


def joined(layout: LinearLayout, dimension: int, parts: int) -> LinearLayout | None:
    """The layout of a tile with one element for each `parts` along `dimension`; None if threads share the parts."""
    bits = global_vector(layout, dimension, parts)
    # The register bits that alone select the part.
    if 1 << len(bits) != parts:
        return None
    scaled = layout.map_along(dimension, lambda coordinate: coordinate // parts)
    return replace(scaled, register=tuple(basis for bit, basis in enumerate(scaled.register) if bit not in bits))


def joined_in_threads(layout: LinearLayout, dimension: int, parts: int) -> LinearLayout:
    """The joined layout; raises ValueError if threads share the parts of an element."""
    found = joined(layout, dimension, parts)
    if found is None:
        raise ValueError(f"expected a thread to hold {parts} successive elements along {dimension}, got '{layout}'")
    return found


def joined_registers(layout: LinearLayout, dimension: int, parts: int) -> list[list[int]]:
    """For each register of the joined layout the registers of its parts, in order; ValueError if threads share them."""
    joined_in_threads(layout, dimension, parts)
    return vector_groups(layout.register_count, global_vector(layout, dimension, parts))


def byte_shape(shape: Sequence[int], dimension: int, per_byte: int) -> tuple[int, ...]:
    """The shape of the bytes of a tile whose elements share bytes along `dimension`."""
    return tuple(extent // per_byte if d == dimension else extent for d, extent in enumerate(shape))


def register_vector(registers: Sequence[int], others: Sequence[int], unit: int, limit: int) -> tuple[int, ...]:
    """Register bits that alone determine the address bits unit, 2 unit, .. (at most `limit` elements).

    `registers` and `others` are the columns of a map to addresses; a vector of 2^k elements is aligned to its size.
    """
    chosen: list[int] = []
    while 2 << len(chosen) <= limit:
        step = unit << len(chosen)
        users = [bit for bit, column in enumerate(registers) if column & step]
        if len(users) != 1 or registers[users[0]] != step or any(column & step for column in others):
            break
        chosen.append(users[0])
    return tuple(chosen)


def global_vector(layout: LinearLayout, dimension: int, limit: int) -> tuple[int, ...]:
    """Register bits of the widest access, of at most `limit` elements, where `dimension` is contiguous in memory."""
    stride = math.prod(layout.shape[dimension + 1 :])
    limit = min(limit, layout.shape[dimension])
    return register_vector(layout.register_matrix.columns, layout.thread_matrix.columns, stride, limit)


def vector_groups(register_count: int, bits: Sequence[int]) -> list[list[int]]:
    """The registers of each vector, members in memory order, groups by their first register."""
    mask = sum(1 << bit for bit in bits)
    bases = [register for register in range(register_count) if not register & mask]
    steps = [sum(1 << bits[position] for position in bits_of(member)) for member in range(1 << len(bits))]
    return [[base | step for step in steps] for base in bases]
