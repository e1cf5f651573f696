"""Reads the records of the function section as kernels of the module."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tilec.dialect.bytecode.reading.attribute_reader import AttributeReader
from tilec.dialect.bytecode.reading.cursor import Cursor, Malformed
from tilec.dialect.bytecode.reading.operation_reader import BodyReader, Plans
from tilec.dialect.bytecode.tags import ARGUMENT_ATTRIBUTES_SINCE, AttributeTag, FunctionFlag
from tilec.dialect.bytecode.version import Version
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import quote

_KERNEL_FLAGS = FunctionFlag.PRIVATE | FunctionFlag.KERNEL
# NVIDIA's tools ignore unknown flags in older files.
_FLAGS_CHECKED_SINCE = Version(13, 4)
# Returns the locations of a function, given the next number and its name: its own, then one per operation.
Locations = Callable[[Cursor, str], Iterator[ir.Location]]


class FunctionReader:
    """Reads the kernels of a file into a module; `names` are the symbols in use."""

    def __init__(self, plans: Plans, locations: Locations, names: set[str]) -> None:
        self._plans, self._locations, self._names = plans, locations, names
        self._attributes = plans.attributes
        # Hints and argument attributes are always present.
        self._recorded = self._attributes.version >= ARGUMENT_ATTRIBUTES_SINCE

    def read(self, cursor: Cursor, point: ir.InsertionPoint) -> None:
        """Reads all functions of the section."""
        for _ in range(cursor.count("functions", 5)):
            self._function(cursor, point)

    def _function(self, cursor: Cursor, point: ir.InsertionPoint) -> None:
        name = new_name(self._attributes, cursor, self._names)
        try:
            self._named(name, cursor, point)
        except Malformed as error:
            error.function = name
            raise

    def _named(self, name: str, cursor: Cursor, point: ir.InsertionPoint) -> None:
        start, signature = cursor.at, self._attributes.types.read(cursor)
        if not isinstance(signature, ir.FunctionType):
            cursor.fail(f"expected a function type as signature of '{name}', but got {quote(signature)}", start)
        flags = self._flags(cursor, name)
        locations = self._locations(cursor, name)
        stored = {"sym_name": ir.StringAttr.get(name), "function_type": ir.TypeAttr.get(signature)}
        if flags & FunctionFlag.HINTS or self._recorded:
            stored |= self._hints(cursor)
        if self._recorded:
            stored |= self._argument_attributes(cursor, len(signature.inputs))
        body, location = cursor.part(cursor.count("bytes of a body")), next(locations)
        entry = ir.Operation.create("cuda_tile.entry", [], [], stored, regions=1, loc=location, ip=point)
        inputs = signature.inputs
        block = entry.regions[0].blocks.append(*inputs, arg_locs=[location] * len(inputs))
        BodyReader(self._plans, body, locations).read(block)

    def _flags(self, cursor: Cursor, name: str) -> int:
        start, flags = cursor.at, cursor.byte()
        if not flags & FunctionFlag.KERNEL:
            cursor.fail(f"function '{name}' is not a kernel, which the public format requires", start)
        if flags & FunctionFlag.PRIVATE:
            cursor.fail(f"kernel '{name}' must have public visibility", start)
        known = _KERNEL_FLAGS | (0 if self._recorded else FunctionFlag.HINTS)
        if self._attributes.version >= _FLAGS_CHECKED_SINCE and flags & ~known:
            cursor.fail(f"unknown bits 0x{flags & ~known:x} in the flags of '{name}'", start)
        return flags

    def _hints(self, cursor: Cursor) -> dict[str, ir.Attribute]:
        _expect_tag(cursor, AttributeTag.OPTIMIZATION_HINTS, "optimization hints")
        hints = self._attributes.hints(cursor)
        return {"optimization_hints": hints} if len(hints) else {}

    def _argument_attributes(self, cursor: Cursor, arguments: int) -> dict[str, ir.Attribute]:
        _expect_tag(cursor, AttributeTag.ARRAY, "an array of attributes of arguments")
        found = []
        for _ in range(cursor.count("dictionaries", 2)):
            _expect_tag(cursor, AttributeTag.DICTIONARY, "a dictionary")
            found.append(self._attributes.dictionary(cursor))
        if not any(len(each) for each in found):
            return {}
        # Their number may differ from that of the arguments.
        found = [*found, *[ir.DictAttr.get({})] * (arguments - len(found))][:arguments]
        return {"arg_attrs": ir.ArrayAttr.get(found)}


def _expect_tag(cursor: Cursor, tag: AttributeTag, description: str) -> None:
    start, found = cursor.at, cursor.number()
    if found != tag:
        cursor.fail(f"expected {description} (tag {tag:d}), but got tag {found}", start)


def new_name(attributes: AttributeReader, cursor: Cursor, taken: set[str]) -> str:
    """Reads a name, which must not be in use in the module."""
    start, name = cursor.at, attributes.symbol(cursor)
    if name in taken:
        cursor.fail(f"the name '{name}' is already in use", start)
    taken.add(name)
    return name
