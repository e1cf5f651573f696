"""The register bits of a thread that address consecutive memory, for vector loads and stores."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.lowering.layout.bit_matrix import bits_of
from tilec.lowering.layout.linear_layout import LinearLayout

MAXIMUM_VECTOR_BYTES = 16


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
    stride = 1
    for extent in layout.shape[dimension + 1 :]:
        stride *= extent
    limit = min(limit, layout.shape[dimension])
    return register_vector(layout.register_matrix.columns, layout.thread_matrix.columns, stride, limit)


def vector_groups(register_count: int, bits: Sequence[int]) -> list[list[int]]:
    """The registers of each vector, members in memory order, groups by their first register."""
    mask = sum(1 << bit for bit in bits)
    bases = [register for register in range(register_count) if not register & mask]
    steps = [sum(1 << bits[position] for position in bits_of(member)) for member in range(1 << len(bits))]
    return [[base | step for step in steps] for base in bases]
