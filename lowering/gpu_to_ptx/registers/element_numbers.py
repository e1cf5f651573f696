"""Facts about registers that hold numbers of elements along a dimension, or results of their comparisons."""

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
    """A predicate that is a bit of a word."""

    word: ir.Value
    bit: int
