"""Partition of a tile into parts whose layout conversions share a small scratch buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilec.lowering.layout.linear_layout import Basis, LinearLayout, flatten


@dataclass(frozen=True)
class Chunks:
    """Parts numbered 0 to count - 1; `source` and `target` are the layouts within a part, over one flat dimension."""

    count: int
    source: LinearLayout
    target: LinearLayout
    source_parts: tuple[int, ...]
    target_parts: tuple[int, ...]

    def source_registers(self, part: int) -> list[int]:
        """The source registers of a part, equal in every thread."""
        return [register for register, own in enumerate(self.source_parts) if own == part]

    def target_registers(self, part: int) -> list[int]:
        """The target registers of a part, equal in every thread."""
        return [register for register, own in enumerate(self.target_parts) if own == part]


def chunks(source: LinearLayout, target: LinearLayout, limit: int) -> Chunks:
    """Partitions a tile into parts of at most `limit` elements if possible.

    Cuts at index bits that no thread bit affects and that a register bit affects alone.
    """
    bits = source.size.bit_length() - 1
    wanted = max(0, bits - (limit.bit_length() - 1))
    free = [bit for bit in reversed(range(bits)) if _separates(source, bit) and _separates(target, bit)]
    cut = sorted(free[:wanted])
    return Chunks(1 << len(cut), _within(source, cut), _within(target, cut), _parts(source, cut), _parts(target, cut))


def _separates(layout: LinearLayout, bit: int) -> bool:
    if any(column >> bit & 1 for column in layout.thread_matrix.columns):
        return False
    return all(column == 1 << bit for column in layout.register_matrix.columns if column >> bit & 1)


def _parts(layout: LinearLayout, cut: Sequence[int]) -> tuple[int, ...]:
    return tuple(_gather(layout.register_matrix(register), cut) for register in range(layout.register_count))


def _within(layout: LinearLayout, cut: Sequence[int]) -> LinearLayout:
    """The layout on the index bits that are not cut."""
    kept = [bit for bit in range(layout.size.bit_length() - 1) if bit not in cut]

    def rename(bases: tuple[Basis, ...]) -> tuple[Basis, ...]:
        return tuple((_gather(flatten(basis, layout.shape), kept),) for basis in bases)

    return LinearLayout(rename(layout.register), rename(layout.lane), rename(layout.warp), (1 << len(kept),))


def _gather(index: int, bits: Sequence[int]) -> int:
    return sum((index >> bit & 1) << position for position, bit in enumerate(bits))
