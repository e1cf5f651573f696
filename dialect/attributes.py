"""The kinds of attributes that operations declare."""

from __future__ import annotations

from collections.abc import Callable

from tilec.dialect.cache import integers_of
from tilec.dialect.constraints import Constraint, DenseArray, Unconstrained
from tilec.dialect.fields import AttributeField, AttributeKind
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
        irdl=ir.StringAttr,
        keywords=keywords,
        numbering=of or keywords,
        enumeration=called,
        kind=AttributeKind.KEYWORD,
    )


def _integer(kind: AttributeKind) -> AttributeField:
    width = kind.bits

    def problem(attribute: ir.Attribute) -> str | None:
        if isinstance(attribute, ir.IntegerAttr) and str(attribute.type) == f"i{width}":
            return None
        return f"must be an integer of {width} bits, but got {attribute}"

    return AttributeField(
        lambda value: ir.IntegerAttr.get(ir.IntegerType.get_signless(width), value),
        lambda attribute: attribute.value,
        problem,
        irdl=ir.IntegerAttr,
        kind=kind,
    )


Int32 = _integer(AttributeKind.INTEGER_32)
Int64 = _integer(AttributeKind.INTEGER_64)


def _dense(stored: type[ir.Attribute], kind: AttributeKind) -> AttributeField:
    problem = _is(stored, kind.value)
    return AttributeField(
        lambda value: stored.get(list(value)), lambda array: list(integers_of(array)), problem, kind, DenseArray
    )


# Fields whose value in Python is the attribute itself.
def _whole(stored: type[ir.Attribute], kind: AttributeKind, declared: Constraint = Unconstrained) -> AttributeField:
    problem = _is(stored, kind.value)
    return AttributeField(lambda value: value, lambda attribute: attribute, problem, kind, declared)


Text = AttributeField(
    ir.StringAttr.get,
    lambda attribute: attribute.value,
    _is(ir.StringAttr, "a string"),
    irdl=ir.StringAttr,
    kind=AttributeKind.STRING,
)
Symbol = AttributeField(
    ir.StringAttr.get,
    lambda attribute: attribute.value,
    _is(ir.StringAttr, "a symbol name"),
    irdl=ir.StringAttr,
    kind=AttributeKind.SYMBOL,
)
Flag = AttributeField(
    lambda value: ir.UnitAttr.get(),
    lambda attribute: True,
    _is(ir.UnitAttr, "unit"),
    required=False,
    kind=AttributeKind.FLAG,
)
Boolean = AttributeField(
    ir.BoolAttr.get,
    lambda attribute: bool(attribute.value),
    _is(ir.BoolAttr, "true or false"),
    kind=AttributeKind.BOOLEAN,
)
Booleans = _dense(ir.DenseBoolArrayAttr, AttributeKind.BOOLEANS)
Integers32 = _dense(ir.DenseI32ArrayAttr, AttributeKind.INTEGERS_32)
Elements = _whole(ir.DenseElementsAttr, AttributeKind.ELEMENTS)


def _text_or_attribute(value: str | ir.Attribute) -> ir.Attribute:
    return ir.StringAttr.get(value) if isinstance(value, str) else value


Array = AttributeField(
    lambda value: value if isinstance(value, ir.ArrayAttr) else ir.ArrayAttr.get(list(map(_text_or_attribute, value))),
    lambda attribute: attribute,
    _is(ir.ArrayAttr, AttributeKind.ARRAY.value),
    kind=AttributeKind.ARRAY,
    irdl=ir.ArrayAttr,
)
Dictionary = _whole(ir.DictAttr, AttributeKind.DICTIONARY, ir.DictAttr)
OneType = AttributeField(
    ir.TypeAttr.get,
    lambda attribute: attribute.value,
    _is(ir.TypeAttr, "a type"),
    irdl=ir.TypeAttr,
    kind=AttributeKind.TYPE,
)
