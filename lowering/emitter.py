"""Creates upstream and tile_gpu operations, with their attributes, at the insertion point."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tilec.dialect.build import Group, build
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.placed import UndefinedOp
from tilec.dialect.tile_gpu.operations.shape import ConvertLayoutOp, SplatOp
from tilec.dialect.tile_gpu.types import BufferType
from tilec.dialect.upstream_predicates import predicate_attribute
from tilec.dialect.walk import owner_of
from tilec.lowering.layout.linear_layout import LinearLayout

if TYPE_CHECKING:
    from tilec.dialect.class_interfaces import Operation

_CONSTANT = "arith.constant"


def integer_type(width: int) -> ir.Type:
    return ir.IntegerType.get_signless(width)


def tile_type(shape: Sequence[int], element: ir.Type, layout: LinearLayout) -> ir.Type:
    """The register tile of that shape and layout."""
    return ir.RankedTensorType.get(list(shape), element, ir.StringAttr.get(str(layout)))


def with_element(type: ir.Type, element: ir.Type) -> ir.Type:
    """The same scalar or register tile with another element type."""
    if isinstance(type, ir.RankedTensorType):
        return ir.RankedTensorType.get(type.shape, element, type.encoding)
    return element


def element_of(type: ir.Type) -> ir.Type:
    return type.element_type if isinstance(type, ir.RankedTensorType) else type


def create(
    name: str, results: Sequence[ir.Type], operands: Sequence[ir.Value], **attributes: ir.Attribute
) -> ir.Operation:
    """An upstream operation."""
    return ir.Operation.create(name, list(results), list(operands), attributes)


def binary(name: str, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    return create(name, [lhs.type], [lhs, rhs]).result


def unary(name: str, source: ir.Value, type: ir.Type | None = None) -> ir.Value:
    return create(name, [type or source.type], [source]).result


def constant(type: ir.Type, value: int | float) -> ir.Value:
    """A scalar, or a tile of one value."""
    return create("arith.constant", [type], [], value=constant_attribute(type, value)).result


def constant_attribute(type: ir.Type, value: int | float) -> ir.Attribute:
    """The value of a constant: a scalar, or a tile of one value."""
    element = element_of(type)
    if isinstance(element, ir.IntegerType):
        attribute = ir.IntegerAttr.get(element, int(value))
    else:
        attribute = ir.FloatAttr.get(element, float(value))
    return ir.DenseElementsAttr.get_splat(type, attribute) if isinstance(type, ir.RankedTensorType) else attribute


def constant_tile(type: ir.RankedTensorType, elements: ir.DenseElementsAttr) -> ir.Value:
    """A register tile with the elements of a constant of the same shape."""
    if elements.is_splat:
        attribute = ir.DenseElementsAttr.get_splat(type, elements.get_splat_value())
    else:
        attribute = ir.Attribute.parse(f"{str(elements).rsplit(' : ', 1)[0]} : {type}")
    return create("arith.constant", [type], [], value=attribute).result


def with_encoding(type: ir.RankedTensorType, layout: LinearLayout) -> ir.Type:
    """The same register tile in another layout."""
    return tile_type(type.shape, type.element_type, layout)


def converted(tile: ir.Value, layout: LinearLayout) -> ir.Value:
    """A register tile in a layout."""
    type = with_encoding(tile.type, layout)
    return tile if tile.type == type else gpu(ConvertLayoutOp, [tile], [type]).result


def is_zero(tile: ir.Value) -> bool:
    """Whether a tile is a constant without a bit that is set."""
    op = owner_of(tile)
    return op is not None and op.name == _CONSTANT and op.attributes["value"] == constant_attribute(tile.type, 0)


def zero(type: ir.Type) -> ir.Value:
    """Zero, or an accumulator without a value."""
    return gpu(UndefinedOp, [], [type]).result if isinstance(type, BufferType) else constant(type, 0)


def is_true(value: ir.Value) -> bool:
    """Whether an i1 is the constant true."""
    return _known(value) is True


def is_false(value: ir.Value) -> bool:
    """Whether an i1 is the constant false."""
    return _known(value) is False


def _known(value: ir.Value) -> bool | None:
    known = constant_of(value) if str(value.type) == "i1" else None
    return None if known is None else bool(known)


def i32(value: int) -> ir.Value:
    return constant(integer_type(32), value)


def i64(value: int) -> ir.Value:
    return constant(integer_type(64), value)


def unsigned(type: ir.Type, value: int) -> ir.Value:
    """A scalar constant from its value as an unsigned number; MLIR writes the attribute as a signed one."""
    width = ir.IntegerType(type).width
    return constant(type, value - (1 << width) if value >> (width - 1) else value)


def boolean(value: bool) -> ir.Value:
    return create("arith.constant", [integer_type(1)], [], value=ir.IntegerAttr.get(integer_type(1), int(value))).result


def plus(value: ir.Value, added: int) -> ir.Value:
    """value + added; the value itself if nothing is added."""
    return binary("arith.addi", value, constant(value.type, added)) if added else value


def multiplied(value: ir.Value, factor: int) -> ir.Value:
    """value * factor; the value itself if the factor is one."""
    return value if factor == 1 else binary("arith.muli", value, constant(value.type, factor))


def cast_integer(value: ir.Value, width: int) -> ir.Value:
    """An extent, stride or index of another width; they are unsigned."""
    have = value.type.width
    if have == width:
        return value
    return unary("arith.extui" if have < width else "arith.trunci", value, integer_type(width))


def less_than(lhs: ir.Value, rhs: ir.Value, unsigned: bool) -> ir.Value:
    """lhs < rhs as an i1."""
    return compare("ult" if unsigned else "slt", lhs, rhs)


def compare(predicate: str, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """Whether a predicate of arith.cmpi holds for two scalars, or for the elements of two tiles, as i1."""
    attribute, is_true = predicate_attribute("arith.cmpi", predicate), integer_type(1)
    result = with_element(lhs.type, is_true) if isinstance(lhs.type, ir.RankedTensorType) else is_true
    return create("arith.cmpi", [result], [lhs, rhs], predicate=attribute).result


def gpu(
    operation: type[Operation], operands: Sequence[Group] = (), results: Sequence[Group] = (), **attributes: object
) -> ir.Operation:
    """An operation of tile_gpu, by its class."""
    return build(operation.OPERATION_NAME, operands, results, attributes)


def choose(
    condition: ir.Value, type: ir.Type, then: Callable[[], ir.Value], otherwise: Callable[[], ir.Value]
) -> ir.Value:
    """scf.if with one result; the first branch alone if the condition is the constant true."""
    return choose_all(condition, [type], lambda: [then()], lambda: [otherwise()])[0]


def choose_all(
    condition: ir.Value,
    types: Sequence[ir.Type],
    then: Callable[[], Sequence[ir.Value]],
    otherwise: Callable[[], Sequence[ir.Value]],
) -> Sequence[ir.Value]:
    """scf.if with the results of a branch; the first branch alone if the condition is the constant true."""
    if is_true(condition):
        return then()
    made = ir.Operation.create("scf.if", types, [condition], regions=2)
    for region, body in zip(made.regions, (then, otherwise), strict=True):
        with ir.InsertionPoint(region.blocks.append()):
            create("scf.yield", [], body())
    return list(made.results)


@contextmanager
def only_if(condition: ir.Value) -> Iterator[ir.Operation]:
    """Operations created inside run only if the condition holds: an scf.if without results."""
    made = ir.Operation.create("scf.if", [], [condition], regions=2)
    with ir.InsertionPoint(made.regions[0].blocks.append()):
        yield made
        create("scf.yield", [], [])


def constant_of(value: ir.Value) -> int | None:
    """The integer that a scalar always is, -1 for the i1 true; None for another value."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != _CONSTANT or not isinstance(value.type, ir.IntegerType):
        return None
    return ir.IntegerAttr(owner.operation.attributes["value"]).value


def number_of_all(tile: ir.Value) -> int | None:
    """The integer that all elements of a tile are; None if it is unknown."""
    op = owner_of(tile)
    if op is None or op.name not in (SplatOp.OPERATION_NAME, _CONSTANT):
        return None
    if op.name == SplatOp.OPERATION_NAME:
        return constant_of(op.operands[0])
    if not isinstance(op.attributes["value"], ir.DenseElementsAttr):
        return None
    elements = ir.DenseElementsAttr(op.attributes["value"])
    return ir.IntegerAttr(elements.get_splat_value()).value if elements.is_splat else None
