"""The parts from which the value of a register was computed, for rules that compute another value from them."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.dialect.mlir import ir


@dataclass(frozen=True)
class Position:
    """The number of an element along a dimension: a part that depends on the thread, if there is one, and a constant.

    Attributes:
        extent: the elements along the dimension.
    """

    thread: ir.Value | None
    constant: int
    extent: int


@dataclass(frozen=True)
class MaskBit:
    """A predicate that is a bit of a word, or whether one of `width` bits from it is set."""

    word: ir.Value
    bit: int
    width: int = 1


@dataclass(frozen=True)
class SlotAddress:
    """The parts of the address base + number * step of a slot of a ring in shared memory."""

    base: ir.Value
    number: ir.Value
    step: int
