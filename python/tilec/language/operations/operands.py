"""The types of the operands of kernel functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, Union

if TYPE_CHECKING:
    from tilec.language.operations.view import Tile

# A tile, a scalar, or a Python number (bool and int are floats to type checkers).
Operand: TypeAlias = Union["Tile", float]
# Integer scalars: constants, parameters, and results of ct.bid.
IntegerScalar: TypeAlias = Union["Tile", int]
Shape: TypeAlias = int | tuple[int, ...]
# One integer scalar per dimension; for one dimension the scalar itself.
Index: TypeAlias = Union["Tile", int, tuple[Union["Tile", int], ...]]
# One integer tile of one dimension, and a result of ct.Slice for each other dimension.
SparseIndex: TypeAlias = tuple[object, ...]
# "C", "F", or the axis of the array that each axis of the tile corresponds to.
AxisOrder: TypeAlias = str | tuple[int, ...]
