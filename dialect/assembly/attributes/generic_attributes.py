"""Converts attributes of NVIDIA's generic form to the stored form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tilec.dialect.fields import ONE, AttributeField, AttributeKind, ValueField
from tilec.dialect.mlir import ir

if TYPE_CHECKING:
    from tilec.dialect.class_interfaces import Operation


def normalised(cls: type[Operation], attributes: Mapping[str, ir.Attribute]) -> dict[str, ir.Attribute]:
    """Replaces numbers of enumerations by keywords and symbol references by names, and adds defaults.

    An attribute that cannot be converted is kept, and the verifier refuses it.
    """
    stored = {}
    for name, attribute in attributes.items():
        field = cls.attribute_fields.get(name)
        convert = None if field is None else _CONVERT.get(field.kind)
        converted = attribute if field is None or convert is None else convert(field, attribute)
        if converted is not None:
            stored[name] = converted
    for name, field in cls.attribute_fields.items():
        if field.default is not None and name not in stored:
            stored[name] = field.to_attribute(field.default)
    return stored


def _keyword(field: AttributeField, attribute: ir.Attribute) -> ir.Attribute:
    if isinstance(attribute, ir.IntegerAttr) and 0 <= attribute.value < len(field.numbering):
        return ir.StringAttr.get(field.numbering[attribute.value])
    return attribute


def _flag(_: AttributeField, attribute: ir.Attribute) -> ir.Attribute | None:
    """A boolean encodes the presence of a flag."""
    if not isinstance(attribute, ir.BoolAttr):
        return attribute
    return ir.UnitAttr.get() if attribute.value else None


def _integer(field: AttributeField, attribute: ir.Attribute) -> ir.Attribute:
    """Converts an integer to the stored width; it is kept if it does not fit."""
    width = field.kind.bits
    if isinstance(attribute, ir.IntegerAttr) and -(1 << width - 1) <= attribute.value < 1 << width - 1:
        return field.to_attribute(attribute.value)
    return attribute


def _symbol(_: AttributeField, attribute: ir.Attribute) -> ir.Attribute:
    return ir.StringAttr.get(attribute.value) if isinstance(attribute, ir.FlatSymbolRefAttr) else attribute


_CONVERT: dict[AttributeKind, Callable[[AttributeField, ir.Attribute], ir.Attribute | None]] = {
    AttributeKind.KEYWORD: _keyword,
    AttributeKind.FLAG: _flag,
    AttributeKind.INTEGER_32: _integer,
    AttributeKind.INTEGER_64: _integer,
    AttributeKind.SYMBOL: _symbol,
}


def group_sizes_of(
    fields: tuple[ValueField, ...], given: ir.Attribute | None, count: int, kind: str
) -> tuple[list[int], str | None]:
    """The number of values of each field, and the problem with the given sizes.

    NVIDIA's tools write one size per field, or no sizes where the number of values determines them; tilec writes one
    size per run of values of one type.
    """
    name = f"{kind}SegmentSizes"
    if given is None:
        free = [field for field in fields if field.arity != ONE]
        if len(free) > 1:
            return [], f"requires attribute '{name}' of {len(fields)} sizes"
        if count < len(fields) - 1:
            return [], f"expected at least {len(fields) - 1} {kind}s, but got {count}"
        return [1 if field.arity == ONE else count - len(fields) + 1 for field in fields], None
    written = list(given) if isinstance(given, ir.DenseI32ArrayAttr) else []
    widths = [1] * len(fields) if len(written) == len(fields) else [field.width for field in fields]
    if len(written) != sum(widths) or min(written, default=0) < 0 or sum(written) != count:
        return [], f"'{name}' of {len(fields)} sizes must add up to {count} {kind}s, but got {given}"
    numbers = iter(written)
    return [sum(next(numbers) for _ in range(width)) for width in widths], None
