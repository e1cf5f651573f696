"""Operands of generated operations: visible values, and operations that create values of any type."""

from __future__ import annotations

from random import Random
from typing import Any

import random_attributes as attributes
import random_types as types

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import PointerType, TensorViewType, TileType, TokenType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell

_MAKERS = {
    "partition_view": "make_partition_view",
    "strided_view": "make_strided_view",
    "gather_scatter_view": "make_gather_scatter_view",
}
# The probability that a visible value is used instead of a new one.
_REUSE = 0.7


class Values:
    """The values that are visible at the insertion point, by region, innermost region last."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self._regions: list[list[ir.Value]] = [[]]

    def enter(self, arguments: list[ir.Value], isolated: bool = False) -> None:
        self._hidden = self._regions if isolated else []
        self._regions = [list(arguments)] if isolated else [*self._regions, list(arguments)]

    def leave(self) -> None:
        self._regions = self._hidden if self._hidden and len(self._regions) == 1 else self._regions[:-1]

    def made(self, operation: ir.Operation) -> ir.Operation:
        self._regions[-1] += list(operation.results)
        return operation

    def of(self, type: ir.Type) -> ir.Value:
        """A visible or new value of a type."""
        if self.random.random() < _REUSE:
            known = [value for region in self._regions for value in region if value.type == type]
            if known:
                return self.random.choice(known)
        return self._make(type)

    def scalar(self, element: str = "i32") -> ir.Value:
        return self.of(types.tile((), element))

    def _build(self, name: str, operands: list[Any], type: ir.Type, **given: Any) -> ir.Value:
        return self.made(build(name, operands, [type], given)).results[0]

    def _make(self, type: ir.Type) -> ir.Value:
        if isinstance(type, TokenType):
            return self._build("make_token", [], type)
        if isinstance(type, TensorViewType):
            base = self.of(types.tile((), PointerType.get(type.element, type.attribute)))
            element = self.random.choice(("i8", "i32", "i64"))
            shape, strides = ([self.scalar(element) for e in each if e is None] for each in (type.shape, type.strides))
            return self._build("make_tensor_view", [base, shape, strides], type)
        if not isinstance(type, TileType):
            return self._build(_MAKERS[type._name], [self.of(type.tensor_view)], type)
        if isinstance(type.element, PointerType):
            return self._build("int_to_ptr", [self.of(types.tile(tuple(type.shape), "i64"))], type)
        if spell(type.element) == "i4":
            return self._build("trunci", [self.of(types.tile(tuple(type.shape), "i8"))], type)
        return self._build("constant", [], type, value=attributes.elements(self.random, type))
