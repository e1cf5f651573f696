"""Reads operations with a custom syntax: kernels, branches, loops, reductions, terminators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tilec.dialect.assembly.attributes import read_attribute, read_dictionary, read_hints, read_integer
from tilec.dialect.build import build
from tilec.dialect.mlir import ir

if TYPE_CHECKING:
    from tilec.dialect.assembly.reader import Reader


def _build(
    reader: Reader,
    name: str,
    offset: int,
    point: ir.InsertionPoint,
    operands: Sequence[ir.Value] = (),
    results: Sequence[ir.Type] = (),
    attributes: Mapping[str, object] | None = None,
) -> ir.Operation:
    try:
        with point:
            return build(name, operands, results, attributes, loc=reader.source.location(offset))
    except ValueError as error:
        reader.source.fail(offset, str(error))


def _trailing_attributes(reader: Reader, operation: ir.Operation) -> None:
    if reader.tokens.peek() == "{":
        for name, attribute in read_dictionary(reader.tokens).items():
            operation.attributes[name] = attribute


def _values(reader: Reader, name: str, offset: int, point: ir.InsertionPoint) -> ir.Operation:
    """`yield %a, %b : type, type`."""
    tokens = reader.tokens
    attributes = read_dictionary(tokens) if tokens.peek() == "{" else {}
    values: list[ir.Value] = []
    if tokens.peek()[:1] == "%":
        start = tokens.at
        values = reader.tokens.separated(reader.scope.use)
        tokens.expect(":")
        _check_types(reader, values, reader.bare_types(), start)
    return _build(reader, name, offset, point, values, (), attributes)


def _check_types(reader: Reader, values: list[ir.Value], types: list[ir.Type], start: int, stride: int = 2) -> None:
    """Checks the types of values, whose names are at token `start` and every `stride` tokens after it."""
    if len(values) != len(types):
        reader.tokens.fail(f"expected as many types as values ({len(values)}), but got {len(types)}")
    for index, (value, type) in enumerate(zip(values, types, strict=True)):
        reader.scope.check(start + stride * index, value, type)


def _terminator(name: str) -> Callable[..., ir.Operation]:
    return lambda reader, offset, count, point: _values(reader, name, offset, point)


def _if(reader: Reader, offset: int, count: int, point: ir.InsertionPoint) -> ir.Operation:
    condition = reader.scope.use()
    types = reader.types() if reader.tokens.take("->") else []
    operation = _build(reader, "if", offset, point, [condition], types)
    reader.block(operation.regions[0], [], [], "cuda_tile.yield")
    if reader.tokens.take("else"):
        reader.block(operation.regions[1], [], [], "cuda_tile.yield")
    _trailing_attributes(reader, operation)
    return operation


def _argument_name(reader: Reader) -> tuple[str, int]:
    tokens = reader.tokens
    if tokens.peek()[:1] != "%":
        tokens.fail(f"expected an argument name (%name), but got '{tokens.peek()}'")
    return tokens.next(), tokens.offsets[tokens.at - 1]


def _carried(reader: Reader) -> tuple[list[tuple[str, int]], list[ir.Value], int]:
    """`iter_values(%a = %x, ..)`: names, values, and the index of the first value's token."""
    tokens = reader.tokens
    names: list[tuple[str, int]] = []
    values: list[ir.Value] = []
    if not tokens.take("iter_values"):
        return names, values, tokens.at
    start = tokens.at + 3

    def entry() -> None:
        names.append(_argument_name(reader))
        tokens.expect("=")
        values.append(reader.scope.use())

    tokens.comma_list("(", ")", entry)
    return names, values, start


def _check_carried(reader: Reader, values: list[ir.Value], types: list[ir.Type], start: int) -> None:
    if len(values) != len(types):
        reader.tokens.fail(f"found different number of iter_values and types: {len(values)} and {len(types)}")
    # `%name = %value ,` are four tokens.
    _check_types(reader, values, types, start, stride=4)


def _for(reader: Reader, offset: int, count: int, point: ir.InsertionPoint) -> ir.Operation:
    tokens = reader.tokens
    unsigned = tokens.take("unsigned")
    variable = _argument_name(reader)
    bounds, places = [], []
    for word in ("in", "(", None, "to", None, ",", "step", None, ")", ":"):
        if word is None:
            places.append(tokens.at)
            bounds.append(reader.scope.use())
        else:
            tokens.expect(word)
    type = tokens.type()
    for value, at in zip(bounds, places, strict=True):
        _check_types(reader, [value], [type], at)
    names, values, start = _carried(reader)
    types: list[ir.Type] = []
    if values:
        tokens.expect("->")
        types = reader.types()
    _check_carried(reader, values, types, start)
    operation = _build(reader, "for", offset, point, [*bounds, *values], types, {"unsignedCmp": unsigned})
    reader.block(operation.regions[0], [type, *types], [variable, *names], "cuda_tile.continue")
    _trailing_attributes(reader, operation)
    return operation


def _loop(reader: Reader, offset: int, count: int, point: ir.InsertionPoint) -> ir.Operation:
    tokens = reader.tokens
    names, values, start = _carried(reader)
    types: list[ir.Type] = []
    results: list[ir.Type] = []
    if tokens.take(":"):
        first = reader.bare_types()
        if values:
            types, results = first, reader.bare_types() if tokens.take("->") else []
        else:
            results = first
    _check_carried(reader, values, types, start)
    operation = _build(reader, "loop", offset, point, values, results)
    reader.block(operation.regions[0], types, names, "cuda_tile.continue")
    _trailing_attributes(reader, operation)
    return operation


def _named_arguments(reader: Reader) -> list[tuple[tuple[str, int], ir.Type]]:
    def entry() -> tuple[tuple[str, int], ir.Type]:
        name = _argument_name(reader)
        reader.tokens.expect(":")
        return name, reader.tokens.type()

    return reader.tokens.comma_list("(", ")", entry)


def _fold(name: str) -> Callable[..., ir.Operation]:
    def read(reader: Reader, offset: int, count: int, point: ir.InsertionPoint) -> ir.Operation:
        tokens, start = reader.tokens, reader.tokens.at
        values = reader.tokens.separated(reader.scope.use)
        attributes: dict[str, object] = read_dictionary(tokens) if tokens.peek() == "{" else {}
        tokens.expect("dim")
        tokens.expect("=")
        attributes["dim"] = read_integer(tokens, bits=32)
        if name == "scan":
            tokens.expect("reverse")
            tokens.expect("=")
            attributes["reverse"] = read_attribute(tokens)
        tokens.expect("identities")
        tokens.expect("=")
        attributes["identities"] = read_attribute(tokens)
        tokens.expect(":")
        _check_types(reader, values, reader.bare_types(), start)
        tokens.expect("->")
        results = reader.bare_types()
        arguments = _named_arguments(reader)
        operation = _build(reader, name, offset, point, values, results, attributes)
        names = [argument for argument, _ in arguments]
        reader.block(operation.regions[0], [type for _, type in arguments], names, "cuda_tile.yield")
        return operation

    return read


class _ArgumentLocations:
    """The locations of a kernel's arguments, known before they exist or after the whole text is read."""

    def __init__(self) -> None:
        self.known: list[ir.Location] = []
        self._without: list[int] = []
        self._arguments: list[ir.Value] = []

    def read(self, reader: Reader, start: int) -> None:
        """Reads an optional argument location; the default is the position in the text, or the kernel's location."""
        index = len(self.known)
        self.known.append(reader.source.location(start))
        if not reader.locations.take(lambda location: self._place(index, location)):
            self._without.append(index)

    def _place(self, index: int, location: ir.Location) -> None:
        self.known[index] = location
        if self._arguments:
            self._arguments[index].set_location(location)

    def give(self, reader: Reader, block: ir.Block) -> None:
        """Assigns the locations to the created arguments."""
        self._arguments = list(block.arguments)
        for index in self._without:
            reader.locations.follow(self._arguments[index].set_location)


def _entry(reader: Reader, offset: int, count: int, point: ir.InsertionPoint) -> ir.Operation:
    tokens = reader.tokens
    attributes: dict[str, object] = {"sym_name": tokens.symbol()}
    names: list[tuple[str, int]] = []
    types: list[ir.Type] = []
    dictionaries: list[dict[str, ir.Attribute]] = []
    locations = _ArgumentLocations()

    def argument() -> None:
        start = tokens.offset()
        if tokens.peek()[:1] == "%":
            names.append(_argument_name(reader))
            tokens.expect(":")
        types.append(tokens.type())
        dictionaries.append(read_dictionary(tokens) if tokens.peek() == "{" else {})
        locations.read(reader, start)

    tokens.comma_list("(", ")", argument)
    if tokens.take("->"):
        results = reader.types() if tokens.peek() == "(" else [tokens.type()]
    else:
        results = []
    if names and len(names) != len(types):
        reader.source.fail(offset, "expected all arguments of the entry to be named, or none")
    if tokens.peek() == "optimization_hints":
        tokens.next()
        tokens.expect("=")
        attributes["optimization_hints"] = read_hints(tokens)
    if any(dictionaries):
        attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(each) for each in dictionaries])
    attributes["function_type"] = ir.FunctionType.get(types, results)
    operation = _build(reader, "entry", offset, point, (), (), attributes)
    unnamed = [(f"%<argument {index}>", offset) for index in range(len(types))]
    block = reader.block(operation.regions[0], types, names or unnamed, "cuda_tile.return", locations.known)
    locations.give(reader, block)
    _trailing_attributes(reader, operation)
    return operation


STRUCTURES: dict[str, Callable[..., ir.Operation]] = {
    "cuda_tile.entry": _entry,
    "cuda_tile.if": _if,
    "cuda_tile.for": _for,
    "cuda_tile.loop": _loop,
    "cuda_tile.reduce": _fold("reduce"),
    "cuda_tile.scan": _fold("scan"),
    "cuda_tile.yield": _terminator("yield"),
    "cuda_tile.continue": _terminator("continue"),
    "cuda_tile.break": _terminator("break"),
    "cuda_tile.return": _terminator("return"),
}
