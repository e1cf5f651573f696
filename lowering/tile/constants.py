"""What constants hold, and constants made."""

from __future__ import annotations

from typing import Any

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.lowering.tile.producer import producer


def elements_of(value: ir.Value) -> ir.DenseElementsAttr | None:
    """The elements of a constant, None for any other value."""
    maker = producer(value, "constant")
    return None if maker is None else maker.value


def splat_attribute(value: ir.Value) -> Any:
    """The attribute of the one number that a constant has in all its elements, None for any other value."""
    elements = elements_of(value)
    return elements.get_splat_value() if elements is not None and elements.is_splat else None


def splat(value: ir.Value) -> int | None:
    """The number that an integer constant has in all its elements (of i1: 0 or 1), None for any other value."""
    attribute = splat_attribute(value)
    return int(attribute.value) if isinstance(attribute, ir.IntegerAttr | ir.BoolAttr) else None


def constant(tile: TileType, elements: ir.Attribute) -> ir.Value:
    """A new constant at the insertion point."""
    return build("constant", [], [tile], {"value": elements}).result


def integer_splat(tile: TileType, number: int) -> ir.Value:
    """A new constant of an integer everywhere, taken modulo the width of its type."""
    width = tile.element.width
    number &= (1 << width) - 1
    signed = number - (1 << width) if width > 1 and number >> (width - 1) else number
    attribute = ir.IntegerAttr.get(tile.element, signed)
    return constant(tile, ir.DenseElementsAttr.get_splat(tensor_type(tile), attribute))


def float_splat(tile: TileType, number: float) -> ir.Value:
    """A new constant of a float everywhere."""
    attribute = ir.FloatAttr.get(tile.element, number)
    return constant(tile, ir.DenseElementsAttr.get_splat(tensor_type(tile), attribute))


def tensor_type(tile: TileType) -> ir.RankedTensorType:
    """The type that MLIR gives the elements of a tile."""
    return ir.RankedTensorType.get(tile.shape, tile.element)
