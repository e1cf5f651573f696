"""The kinds of attributes that operations declare."""

from __future__ import annotations

from collections.abc import Callable

from tilec.dialect.constraints import Constraint, DenseArray, Unconstrained
from tilec.dialect.fields import AttributeField
from tilec.dialect.mlir import ir


def _is(kind: type, description: str) -> Callable[[ir.Attribute], str | None]:
    return lambda attribute: None if isinstance(attribute, kind) else f"must be {description}, but got {attribute}"


def Enumeration(*keywords: str, of: tuple[str, ...] = (), called: str = "") -> AttributeField:
    """A field for one of the keywords, stored as a string; `of` is the whole enumeration in numeric order.

    `called` names it in the generic form of NVIDIA's tools: `#cuda_tile.rounding<zero>`.
    """
    listed = ", ".join(keywords)

    def problem(attribute: ir.Attribute) -> str | None:
        if not isinstance(attribute, ir.StringAttr):
            return f"must be a keyword, one of: {listed}, but got {attribute}"
        if attribute.value not in keywords:
            return f"must be one of: {listed}, but got: {attribute.value}"
        return None

    return AttributeField(
        ir.StringAttr.get,
        lambda attribute: attribute.value,
        problem,
        ir.StringAttr,
        keywords=keywords,
        numbering=of or keywords,
        enumeration=called,
        kind="keyword",
    )


def Integer(width: int) -> AttributeField:
    """A field for an integer of the given width in bits."""

    def problem(attribute: ir.Attribute) -> str | None:
        if isinstance(attribute, ir.IntegerAttr) and str(attribute.type) == f"i{width}":
            return None
        return f"must be an integer of {width} bits, but got {attribute}"

    return AttributeField(
        lambda value: ir.IntegerAttr.get(ir.IntegerType.get_signless(width), value),
        lambda attribute: attribute.value,
        problem,
        ir.IntegerAttr,
        kind=f"i{width}",
    )


Int32 = Integer(32)
Int64 = Integer(64)


def _dense(kind: type[ir.Attribute], description: str) -> AttributeField:
    check = _is(kind, description)
    return AttributeField(lambda value: kind.get(list(value)), list, check, DenseArray, kind=description)


# Fields whose value in Python is the attribute itself.
def _whole(kind: type[ir.Attribute], description: str, declared: Constraint = Unconstrained) -> AttributeField:
    check = _is(kind, description)
    return AttributeField(lambda value: value, lambda attribute: attribute, check, declared, kind=description)


Text = AttributeField(
    ir.StringAttr.get, lambda attribute: attribute.value, _is(ir.StringAttr, "a string"), ir.StringAttr, kind="string"
)
Symbol = AttributeField(
    ir.StringAttr.get,
    lambda attribute: attribute.value,
    _is(ir.StringAttr, "a symbol name"),
    ir.StringAttr,
    kind="symbol",
)
Flag = AttributeField(
    lambda value: ir.UnitAttr.get(), lambda attribute: True, _is(ir.UnitAttr, "unit"), required=False, kind="flag"
)
Boolean = AttributeField(
    ir.BoolAttr.get, lambda attribute: bool(attribute.value), _is(ir.BoolAttr, "true or false"), kind="boolean"
)
Booleans = _dense(ir.DenseBoolArrayAttr, "an array of booleans")
Integers32 = _dense(ir.DenseI32ArrayAttr, "an array of 32-bit integers")
Elements = _whole(ir.DenseElementsAttr, "constant elements")
Array = AttributeField(
    lambda value: value if isinstance(value, ir.ArrayAttr) else ir.ArrayAttr.get(list(value)),
    lambda attribute: attribute,
    _is(ir.ArrayAttr, "an array"),
    ir.ArrayAttr,
    kind="an array",
)
Dictionary = _whole(ir.DictAttr, "a dictionary", ir.DictAttr)
OneType = AttributeField(
    ir.TypeAttr.get, lambda attribute: attribute.value, _is(ir.TypeAttr, "a type"), ir.TypeAttr, kind="type"
)
