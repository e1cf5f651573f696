"""Reads the operations that upstream_printer.py prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tilec.dialect.assembly.attributes import read_attribute, read_dictionary
from tilec.dialect.assembly.generic_reader import ArgumentPlaces
from tilec.dialect.assembly.tokens import shown
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import quote
from tilec.dialect.stage_assembly.upstream import PREDICATES, SEGMENTS

if TYPE_CHECKING:
    from tilec.dialect.stage_assembly.reader import StageReader


def create(
    reader: StageReader,
    name: str,
    offset: int,
    point: ir.InsertionPoint,
    results: Sequence[ir.Type] = (),
    operands: Sequence[ir.Value] = (),
    attributes: Mapping[str, ir.Attribute] | None = None,
    regions: int = 0,
    successors: Sequence[ir.Block] = (),
) -> ir.Operation:
    """Creates the operation at its location in the text."""
    try:
        return ir.Operation.create(
            name,
            list(results),
            list(operands),
            dict(attributes or {}),
            successors=list(successors),
            regions=regions,
            loc=reader.source.location(offset),
            ip=point,
        )
    except (ir.MLIRError, ValueError) as error:
        diagnostics = getattr(error, "error_diagnostics", None)
        reader.tokens.fail_at(offset, str(diagnostics[0].message) if diagnostics else str(error))


def values_and_places(reader: StageReader) -> tuple[list[ir.Value], list[int]]:
    """`%a, %b`, possibly empty, with the token index of each."""
    values: list[ir.Value] = []
    places: list[int] = []
    while reader.tokens.peek()[:1] == "%":
        places.append(reader.tokens.at)
        values.append(reader.scope.use())
        if not reader.tokens.take(","):
            break
    return values, places


def check_types(reader: StageReader, values: list[ir.Value], places: list[int], types: Sequence[ir.Type]) -> None:
    """Checks the types of values."""
    if len(values) != len(types):
        reader.tokens.fail(f"expected as many types as values ({len(values)}), but got {len(types)}")
    for at, value, type in zip(places, values, types, strict=True):
        reader.scope.check(at, value, type)


def dictionary(reader: StageReader) -> dict[str, ir.Attribute]:
    """Reads an optional dictionary."""
    return read_dictionary(reader.tokens) if reader.tokens.peek() == "{" else {}


def read_upstream(reader: StageReader, name: str, offset: int, count: int, point: ir.InsertionPoint) -> ir.Operation:
    """Reads an operation without regions and successors."""
    tokens = reader.tokens
    attributes: dict[str, ir.Attribute] = {}
    if name in PREDICATES:
        word = tokens.peek()
        if word not in PREDICATES[name]:
            tokens.fail(f"expected one of {', '.join(PREDICATES[name])}, but got {shown(word)}")
        number = PREDICATES[name].index(tokens.next())
        attributes["predicate"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
        tokens.expect(",")
    values, places = values_and_places(reader)
    attributes |= dictionary(reader)
    if name in PREDICATES:
        return create(reader, name, offset, point, _compared(reader, values, places), values, attributes)
    results: list[ir.Type] = []
    if tokens.take(":"):
        types = reader.bare_types() if tokens.peek() != "->" else []
        if tokens.take("to") or tokens.take("->"):
            check_types(reader, values, places, types)
            results = reader.bare_types()
        elif count:
            results = types[:1] * count
            check_types(reader, values, places, types * len(values) if len(types) == 1 else types)
        else:
            check_types(reader, values, places, types)
    return create(reader, name, offset, point, results, values, attributes)


def _compared(reader: StageReader, values: list[ir.Value], places: list[int]) -> list[ir.Type]:
    """`: i32`, the type of the compared operands; the result has their shape."""
    reader.tokens.expect(":")
    type = reader.tokens.type()
    check_types(reader, values, places, [type] * len(values))
    bit = ir.IntegerType.get_signless(1)
    if isinstance(type, ir.RankedTensorType):
        return [ir.RankedTensorType.get(type.shape, bit, type.encoding)]
    return [bit]


def _constant(reader: StageReader, name: str, offset: int, count: int, point: ir.InsertionPoint) -> ir.Operation:
    attributes = dictionary(reader)
    start = reader.tokens.offset()
    value: ir.Attribute = read_attribute(reader.tokens)
    type = getattr(value, "type", None)
    if not isinstance(value, ir.IntegerAttr | ir.FloatAttr | ir.BoolAttr | ir.DenseElementsAttr):
        reader.tokens.fail_at(start, f"expected a number or elements with their type, but got {value}")
    return create(reader, name, offset, point, [type], [], {**attributes, "value": value})


def _argument(reader: StageReader) -> tuple[str, int]:
    tokens = reader.tokens
    if tokens.peek()[:1] != "%":
        tokens.fail(f"expected an argument name (%name), but got {shown(tokens.peek())}")
    return tokens.next(), tokens.offsets[tokens.at - 1]


def _initial(reader: StageReader) -> tuple[list[tuple[str, int]], list[ir.Value], list[int]]:
    """`(%a = %x, ..)`: names, values, and the token index of each value."""
    names: list[tuple[str, int]] = []
    values: list[ir.Value] = []
    places: list[int] = []

    def entry() -> None:
        names.append(_argument(reader))
        reader.tokens.expect("=")
        places.append(reader.tokens.at)
        values.append(reader.scope.use())

    reader.tokens.comma_list("(", ")", entry)
    return names, values, places


def named_arguments(
    reader: StageReader, places: ArgumentPlaces | None = None
) -> tuple[list[tuple[str, int]], list[ir.Type]]:
    """`(%a: i32, ..)`, each with an optional location if `places` is set."""
    names: list[tuple[str, int]] = []

    def entry() -> ir.Type:
        names.append(_argument(reader))
        reader.tokens.expect(":")
        type = reader.tokens.type()
        if places is not None:
            reader.locations.take(places.setter(len(names) - 1))
        return type

    return names, reader.tokens.comma_list("(", ")", entry)


def _trailing(reader: StageReader, operation: ir.Operation) -> ir.Operation:
    for name, attribute in dictionary(reader).items():
        operation.attributes[name] = attribute
    return operation


def _for(reader: StageReader, name: str, offset: int, count: int, point: ir.InsertionPoint) -> ir.Operation:
    tokens = reader.tokens
    variable = _argument(reader)
    bounds, places = [], []
    for word in ("=", "to", "step"):
        tokens.expect(word)
        places.append(tokens.at)
        bounds.append(reader.scope.use())
    names: list[tuple[str, int]] = []
    values: list[ir.Value] = []
    results: list[ir.Type] = []
    if tokens.take("iter_args"):
        names, values, at = _initial(reader)
        tokens.expect("->")
        results = reader.types()
        check_types(reader, values, at, results)
    tokens.expect(":")
    type = tokens.type()
    check_types(reader, bounds, places, [type] * 3)
    operation = create(reader, name, offset, point, results, [*bounds, *values], regions=1)
    reader.block(operation.regions[0], [type, *results], [variable, *names], "scf.yield")
    return _trailing(reader, operation)


def _if(reader: StageReader, name: str, offset: int, count: int, point: ir.InsertionPoint) -> ir.Operation:
    at = reader.tokens.at
    condition = reader.scope.use()
    reader.scope.check(at, condition, ir.IntegerType.get_signless(1))
    results = reader.types() if reader.tokens.take("->") else []
    operation = create(reader, name, offset, point, results, [condition], regions=2)
    reader.block(operation.regions[0], [], [], "scf.yield")
    if reader.tokens.take("else"):
        reader.block(operation.regions[1], [], [], "scf.yield")
    return _trailing(reader, operation)


def _while(reader: StageReader, name: str, offset: int, count: int, point: ir.InsertionPoint) -> ir.Operation:
    tokens = reader.tokens
    names, values, places = _initial(reader)
    tokens.expect(":")
    start, function = tokens.offset(), tokens.type()
    if not isinstance(function, ir.FunctionType):
        tokens.fail_at(start, f"expected the types of operands and results, but got {quote(function)}")
    check_types(reader, values, places, list(function.inputs))
    operation = create(reader, name, offset, point, list(function.results), values, regions=2)
    reader.block(operation.regions[0], list(function.inputs), names, "")
    tokens.expect("do")
    names, types = named_arguments(reader)
    reader.block(operation.regions[1], types, names, "scf.yield")
    return _trailing(reader, operation)


def _condition(reader: StageReader, name: str, offset: int, count: int, point: ir.InsertionPoint) -> ir.Operation:
    reader.tokens.expect("(")
    first = reader.scope.use()
    reader.tokens.expect(")")
    values, places = values_and_places(reader)
    if values:
        reader.tokens.expect(":")
        check_types(reader, values, places, reader.bare_types())
    return create(reader, name, offset, point, [], [first, *values])


def _branch(reader: StageReader, name: str, offset: int, count: int, point: ir.InsertionPoint) -> ir.Operation:
    operands: list[ir.Value] = []
    if name == "cf.cond_br":
        operands.append(reader.scope.use())
        reader.tokens.expect(",")
    targets = reader.tokens.separated(lambda: _target(reader))
    passed = [value for _, values in targets for value in values]
    attributes = dictionary(reader)
    if name == "cf.cond_br":
        attributes[SEGMENTS] = ir.DenseI32ArrayAttr.get([1, *(len(values) for _, values in targets)])
    blocks = [block for block, _ in targets]
    return create(reader, name, offset, point, [], [*operands, *passed], attributes, successors=blocks)


def _target(reader: StageReader) -> tuple[ir.Block, list[ir.Value]]:
    tokens = reader.tokens
    name = tokens.peek()
    if name not in reader.blocks:
        tokens.fail(f"expected a block of the kernel (^bb1), but got {shown(name)}")
    tokens.next()
    values = tokens.comma_list("(", ")", reader.scope.use) if tokens.peek() == "(" else []
    return reader.blocks[name], values


UPSTREAM: dict[str, Callable[[StageReader, str, int, int, ir.InsertionPoint], ir.Operation]] = {
    "arith.constant": _constant,
    "scf.for": _for,
    "scf.if": _if,
    "scf.while": _while,
    "scf.condition": _condition,
    "cf.br": _branch,
    "cf.cond_br": _branch,
}
