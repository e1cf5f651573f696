"""The cheapest strategy to convert a tile between layouts: registers, shuffles, or shared memory.

Through shared memory, large tiles are converted in parts, by vector accesses with few bank conflicts on both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilec.lowering.layout.bit_matrix import BitMatrix, complement, independent, intersection
from tilec.lowering.layout.linear_layout import LANE_BITS, Basis, LinearLayout, flatten
from tilec.lowering.layout.vectors import MAXIMUM_VECTOR_BYTES

# Larger tiles are converted in parts, which leaves shared memory to the channels.
SCRATCH_LIMIT_BYTES = 32 * 1024
_BANK_ROW_BYTES = 128


@dataclass(frozen=True)
class RegisterMove:
    """Target register r of a thread is its own source register sources[r]."""

    sources: tuple[int, ...]


@dataclass(frozen=True)
class Shuffle:
    """Target register r of lane l is register sources[r] ^ `selected(l)` of lane lane(l) ^ flips[r].

    `lane` maps a lane to the lane it reads; `selected` maps a lane to a register offset (rank at most one: two
    candidates per register, selected by the receiving lane).
    """

    sources: tuple[int, ...]
    flips: tuple[int, ...]
    lane: BitMatrix
    selected: BitMatrix


@dataclass(frozen=True)
class ThroughShared:
    """A conversion that exchanges elements between warps, that shuffles cannot express, or that vectors do faster."""


Conversion = RegisterMove | Shuffle | ThroughShared
# From this number of registers on, shuffles take longer than barriers and vector loads of one address by all lanes.
_MANY_REGISTERS = 32
_MANY_TIMES = 8


def conversion(source: LinearLayout, target: LinearLayout) -> Conversion:
    """The strategy; raises ValueError unless both layouts have one shape and the source holds every element."""
    if source.shape != target.shape or not source.is_surjective:
        raise ValueError(f"no conversion from '{source}' to '{target}'")
    move = _register_move(source, target)
    if move is not None or _repeats_many(source, target):
        return move or ThroughShared()
    return _shuffle(source, target) or ThroughShared()


def _repeats_many(source: LinearLayout, target: LinearLayout) -> bool:
    """Whether each thread gets many elements of which it holds few: a load of a vector has four of 32 bits."""
    received = len(set(target.representatives))
    return received >= _MANY_REGISTERS and received >= _MANY_TIMES * len(set(source.representatives))


def _register_move(source: LinearLayout, target: LinearLayout) -> RegisterMove | None:
    bits = max(len(source.warp), len(target.warp)) + LANE_BITS
    if _padded(source, bits) != _padded(target, bits):
        return None
    sources = source.register_matrix.solve_all(target.register_images)
    return None if sources is None else RegisterMove(tuple(sources))


def _padded(layout: LinearLayout, bits: int) -> tuple[int, ...]:
    columns = layout.thread_matrix.columns
    return columns + (0,) * (bits - len(columns))


def _shuffle(source: LinearLayout, target: LinearLayout) -> Shuffle | None:
    """The source lanes and registers of the target elements, if no element leaves its warp."""
    if source.warp != target.warp:
        return None
    registers = len(source.register)
    within_warp = BitMatrix(
        source.register_matrix.columns + source.thread_matrix.columns[:LANE_BITS], source.matrix.rows
    )
    from_registers = within_warp.solve_all(target.register_images)
    from_lanes = within_warp.solve_all(target.thread_matrix.columns[:LANE_BITS])
    if from_registers is None or from_lanes is None:
        return None
    low = (1 << registers) - 1
    selected = BitMatrix(tuple(solution & low for solution in from_lanes), registers)
    if selected.rank > 1:
        return None
    lane = BitMatrix(tuple(solution >> registers for solution in from_lanes), LANE_BITS)
    return Shuffle(
        tuple(s & low for s in from_registers), tuple(s >> registers for s in from_registers), lane, selected
    )


@dataclass(frozen=True)
class _Chunks:
    """Parts numbered 0 to count - 1; `source` and `target` are the layouts within a part, over one flat dimension.

    The source and target registers of a part, which are equal in every thread, are in `source_registers` and
    `target_registers`.
    """

    count: int
    source: LinearLayout
    target: LinearLayout
    source_registers: list[list[int]]
    target_registers: list[list[int]]


def chunks(source: LinearLayout, target: LinearLayout, limit: int) -> _Chunks:
    """Partitions a tile into parts of at most `limit` elements if possible.

    Cuts at index bits that no thread bit affects and that a register bit affects alone.
    """
    bits = source.size.bit_length() - 1
    wanted = max(0, bits - (limit.bit_length() - 1))
    free = [bit for bit in reversed(range(bits)) if _separates(source, bit) and _separates(target, bit)]
    cut = sorted(free[:wanted])
    return _Chunks(1 << len(cut), _within(source, cut), _within(target, cut), _parts(source, cut), _parts(target, cut))


def _separates(layout: LinearLayout, bit: int) -> bool:
    if any(column >> bit & 1 for column in layout.thread_matrix.columns):
        return False
    return all(column == 1 << bit for column in layout.register_matrix.columns if column >> bit & 1)


def _parts(layout: LinearLayout, cut: Sequence[int]) -> list[list[int]]:
    parts: list[list[int]] = [[] for _ in range(1 << len(cut))]
    for register, image in enumerate(layout.register_images):
        parts[_gather(image, cut)].append(register)
    return parts


def _within(layout: LinearLayout, cut: Sequence[int]) -> LinearLayout:
    """The layout on the index bits that are not cut."""
    kept = [bit for bit in range(layout.size.bit_length() - 1) if bit not in cut]

    def rename(bases: tuple[Basis, ...]) -> tuple[Basis, ...]:
        return tuple((_gather(flatten(basis, layout.shape), kept),) for basis in bases)

    return LinearLayout(rename(layout.register), rename(layout.lane), rename(layout.warp), (1 << len(kept),))


def _gather(index: int, bits: Sequence[int]) -> int:
    return sum((index >> bit & 1) << position for position, bit in enumerate(bits))


def scratch_matrix(source: LinearLayout, target: LinearLayout, element_bytes: int) -> BitMatrix:
    """Row-major element index -> byte offset, a bijection; `source` stores through it, `target` loads.

    Vector bits are the register bits of both sides; the bits above select the bank; row bits are outside the span
    of the lanes of either side that access together, so that those lanes access different banks if possible.
    """
    bits = source.size.bit_length() - 1
    element_shift = element_bytes.bit_length() - 1
    vector = _vector(source, target, (MAXIMUM_VECTOR_BYTES // element_bytes).bit_length() - 1)
    vector_bytes = element_bytes << len(vector)
    bank_bits = max(0, min((_BANK_ROW_BYTES // vector_bytes).bit_length() - 1, bits - len(vector)))
    rows = _rows(
        vector, _together(source, vector_bytes), _together(target, vector_bytes), bits, bits - len(vector) - bank_bits
    )
    banks = complement(vector + rows, bits)
    ordered = BitMatrix(vector + banks + rows, bits).right_inverse()
    return BitMatrix(tuple(column << element_shift for column in ordered.columns), bits + element_shift)


def _vector(source: LinearLayout, target: LinearLayout, limit: int) -> tuple[int, ...]:
    """The register bits of both sides, else of the target, else of the source."""
    shared = [c for c in source.register_matrix.columns if c and c in target.register_matrix.columns]
    if not shared:
        shared = [c for c in target.register_matrix.columns if c] or [c for c in source.register_matrix.columns if c]
    return independent(shared)[:limit]


def _together(layout: LinearLayout, vector_bytes: int) -> tuple[int, ...]:
    """The lane bases within one wavefront: all 32 lanes of 4 bytes, 16 of 8, 8 of 16."""
    dropped = max(0, (vector_bytes // 4).bit_length() - 1)
    return layout.thread_matrix.columns[: LANE_BITS - dropped]


def _rows(
    vector: tuple[int, ...], left: tuple[int, ...], right: tuple[int, ...], bits: int, count: int
) -> tuple[int, ...]:
    """`count` vectors independent of the vector bits whose span avoids both sets of lanes as far as possible.

    With C the intersection of both sets, the bases that complete C in each set form pairs; their XORs are in neither.
    """
    left, right = _modulo(vector, left), _modulo(vector, right)
    both = intersection(vector + left, vector + right, bits)
    shared = independent((*vector, *both))
    left_only, right_only = _modulo(shared, left), _modulo(shared, right)
    outside = complement((*vector, *left, *right), bits)
    pairs = tuple(a ^ b for a, b in zip(left_only, right_only, strict=False))
    rest = left_only + right_only + both
    return independent((*vector, *outside, *pairs, *rest))[len(vector) : len(vector) + count]


def _modulo(vector: tuple[int, ...], lanes: tuple[int, ...]) -> tuple[int, ...]:
    return independent((*vector, *lanes))[len(vector) :]
