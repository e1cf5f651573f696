"""Reads and creates constants."""

from __future__ import annotations

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.lowering.tile.analysis.tile_operations import producer


def elements_of(value: ir.Value) -> ir.DenseElementsAttr | None:
    """The elements of a constant, or None for any other value."""
    maker = producer(value, "constant")
    return None if maker is None else maker.value


def splat_attribute(value: ir.Value) -> ir.Attribute | None:
    """The element attribute of a splat constant, or None for any other value."""
    elements = elements_of(value)
    return elements.get_splat_value() if elements is not None and elements.is_splat else None


def splat(value: ir.Value) -> int | None:
    """The element of an integer splat constant (0 or 1 for i1), or None for any other value."""
    attribute = splat_attribute(value)
    return int(attribute.value) if isinstance(attribute, ir.IntegerAttr | ir.BoolAttr) else None


def splat_constant(tile: TileType, element: ir.Attribute) -> ir.Value:
    """A new constant all of whose elements are one."""
    return constant(tile, splat_elements(tile, element))


def splat_elements(tile: TileType, element: ir.Attribute) -> ir.DenseElementsAttr:
    """The elements of a constant that are all one."""
    return ir.DenseElementsAttr.get_splat(ir.RankedTensorType.get(tile.shape, tile.element), element)


def constant(tile: TileType, elements: ir.Attribute) -> ir.Value:
    """A new constant at the insertion point."""
    return build("constant", [], [tile], {"value": elements}).result


def integer_splat(tile: TileType, number: int) -> ir.Value:
    """A new splat constant of an integer, taken modulo 2^width."""
    width = tile.element.width
    number &= (1 << width) - 1
    signed = number - (1 << width) if width > 1 and number >> (width - 1) else number
    return splat_constant(tile, ir.IntegerAttr.get(tile.element, signed))


def float_splat(tile: TileType, number: float) -> ir.Value:
    """A new splat constant of a float."""
    return splat_constant(tile, ir.FloatAttr.get(tile.element, number))
