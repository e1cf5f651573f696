"""Layouts of a tile whose elements are divided into parts, or joined: elements and the bytes that hold them."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.lowering.layout.blocked import unit
from tilec.lowering.layout.linear_layout import Basis, LinearLayout
from tilec.lowering.layout.vector_width import global_vector, vector_groups


def divided(layout: LinearLayout, dimension: int, parts: int) -> LinearLayout:
    """The layout of a tile that has `parts` elements for each one along `dimension`, in successive registers."""
    bits = parts.bit_length() - 1
    rank = len(layout.shape)

    def scaled(basis: Basis) -> Basis:
        return _with(basis, dimension, basis[dimension] << bits)

    register = (*(unit(dimension, 1 << bit, rank) for bit in range(bits)), *map(scaled, layout.register))
    shape = _with(layout.shape, dimension, layout.shape[dimension] << bits)
    return LinearLayout(register, tuple(map(scaled, layout.lane)), tuple(map(scaled, layout.warp)), shape)


def joined(layout: LinearLayout, dimension: int, parts: int) -> LinearLayout | None:
    """The layout of a tile with one element for each `parts` along `dimension`; None if threads share the parts."""
    bits = _part_bits(layout, dimension, parts)
    if bits is None:
        return None
    shift = len(bits)

    def scaled(basis: Basis) -> Basis:
        return _with(basis, dimension, basis[dimension] >> shift)

    register = tuple(scaled(basis) for bit, basis in enumerate(layout.register) if bit not in bits)
    shape = _with(layout.shape, dimension, layout.shape[dimension] >> shift)
    return LinearLayout(register, tuple(map(scaled, layout.lane)), tuple(map(scaled, layout.warp)), shape)


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
    return _with(tuple(shape), dimension, shape[dimension] // per_byte)


def _part_bits(layout: LinearLayout, dimension: int, parts: int) -> tuple[int, ...] | None:
    """The register bits that alone select the part."""
    bits = global_vector(layout, dimension, parts)
    return bits if 1 << len(bits) == parts else None


def _with(values: tuple[int, ...], position: int, value: int) -> tuple[int, ...]:
    return values[:position] + (value,) + values[position + 1 :]
