"""The cheapest strategy to convert a tile between layouts: registers, shuffles, or shared memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tilec.lowering.layout.bit_matrix import BitMatrix
from tilec.lowering.layout.linear_layout import LANE_BITS, LinearLayout


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
    images = [target.register_matrix(register) for register in range(target.register_count)]
    sources = _solved(source.register_matrix, images)
    return None if sources is None else RegisterMove(tuple(sources))


def _solved(matrix: BitMatrix, images: Iterable[int]) -> list[int] | None:
    """An input for each image; None if some image has none."""
    inputs = [matrix.solve(image) for image in images]
    found = [number for number in inputs if number is not None]
    return found if len(found) == len(inputs) else None


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
    from_registers = _solved(within_warp, map(target.register_matrix, range(target.register_count)))
    from_lanes = _solved(within_warp, target.thread_matrix.columns[:LANE_BITS])
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
