"""Reads the types of a file, each on first use and once."""

from __future__ import annotations

from collections.abc import Callable

from tilec.dialect.assembly.types import element_type
from tilec.dialect.bytecode.reading.cursor import Cursor
from tilec.dialect.bytecode.reading.table_reader import Table
from tilec.dialect.bytecode.tags import (
    DYNAMIC_EXTENT,
    NUMBER_TAGS,
    PADDING_VALUES,
    POINTER_ATTRIBUTE_SINCE,
    POINTER_ATTRIBUTES,
    TYPE_TAGS,
    TypeTag,
)
from tilec.dialect.bytecode.version import OLDEST, Version
from tilec.dialect.cuda_tile.types import (
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TokenType,
)
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import quote

# A function of tiles of pointers to numbers is four levels deep; a view of a tensor of numbers is three.
_DEEPEST = 8
_DYNAMIC = DYNAMIC_EXTENT - (1 << 64)
_NAMES = {tag.tag: (name, tag) for name, tag in (NUMBER_TAGS | TYPE_TAGS).items()}
_OPTION = 1
# The first version in which the presence of a view's padding is stored in front.
_OPTIONS_SINCE = Version(13, 3)


class TypeReader:
    """The types by index; `known` holds those already read."""

    def __init__(self, table: Table, version: Version) -> None:
        self.known: dict[int, ir.Type] = {}
        self._table, self._version = table, version
        self._open: list[int] = []

    def read(self, cursor: Cursor) -> ir.Type:
        """Reads an index and returns the type."""
        start, index = cursor.at, cursor.number()
        found = self.known.get(index)
        return found if found is not None else self._resolve(index, cursor, start)

    def _resolve(self, index: int, user: Cursor, at: int) -> ir.Type:
        if index in self._open:
            user.fail(f"type {index} contains itself", at)
        if len(self._open) >= _DEEPEST:
            user.fail(f"types are nested more than {_DEEPEST} deep", at)
        blob = self._table.entry(index, user, at)
        self._open.append(index)
        try:
            found = self.known[index] = self._type(blob)
        except ValueError as error:
            blob.fail(str(error), 0)
        finally:
            self._open.pop()
        return found

    def _type(self, blob: Cursor) -> ir.Type:
        number = blob.number()
        if number not in _NAMES:
            blob.fail(f"unknown type tag {number}", 0)
        name, tag = _NAMES[number]
        self._check_version(f"type {name}", tag, blob)
        found = element_type(name) if name in NUMBER_TAGS else _READERS[name](self, blob)
        if blob.left:
            message = f"expected no data after type {name}, but got {blob.left} bytes"
            blob.fail(f"{message}: extensions of the preview are unknown")
        return found

    def _check_version(self, description: str, tag: TypeTag, blob: Cursor) -> None:
        if tag.since > self._version:
            blob.fail(f"{description} needs Tile IR {tag.since} or newer, but the file is of {self._version}", 0)

    def _option(self, blob: Cursor, since: Version) -> bool:
        """Whether the optional parameter of a type is present; older versions do not store that."""
        start, bits = blob.at, blob.number() if self._version >= since else 0
        if bits & ~_OPTION:
            blob.fail(f"unknown bits 0x{bits & ~_OPTION:x} among the options of a type", start)
        return bool(bits)

    def _pointer_attribute(self, blob: Cursor, given: bool) -> str | None:
        if not given:
            return None
        start = blob.at
        keyword = _keyword(blob, POINTER_ATTRIBUTES, "pointer attribute")
        if POINTER_ATTRIBUTE_SINCE[keyword] > self._version:
            needed = f"needs Tile IR {POINTER_ATTRIBUTE_SINCE[keyword]} or newer, but the file is of {self._version}"
            blob.fail(f"pointer attribute {keyword} {needed}", start)
        return keyword

    def _pointer(self, blob: Cursor) -> ir.Type:
        given = self._option(blob, Version(13, 4))
        element = self.read(blob)
        return PointerType.get(element, self._pointer_attribute(blob, given))

    def _tile(self, blob: Cursor) -> ir.Type:
        element = self.read(blob)
        return TileType.get(blob.integers(8, "extents"), element)

    def _tensor_view(self, blob: Cursor) -> ir.Type:
        given = self._option(blob, Version(13, 4))
        element = self.read(blob)
        shape, strides = _extents(blob, "extents"), _extents(blob, "strides")
        return TensorViewType.get(shape, element, strides, self._pointer_attribute(blob, given))

    def _partition_view(self, blob: Cursor) -> ir.Type:
        padded = self._option(blob, _OPTIONS_SINCE)
        shape, view, mapping = blob.integers(4, "extents"), self.read(blob), blob.integers(4, "dimensions")
        if self._version < _OPTIONS_SINCE:
            padded = self._option(blob, OLDEST)
        return PartitionViewType.get(shape, _tensor(view, blob), mapping, _padding(blob, padded))

    def _strided_view(self, blob: Cursor) -> ir.Type:
        padded = self._option(blob, _OPTIONS_SINCE)
        shape, traversal = blob.integers(4, "extents"), blob.integers(4, "traversal strides")
        view, mapping = self.read(blob), blob.integers(4, "dimensions")
        return StridedViewType.get(shape, traversal, _tensor(view, blob), mapping, _padding(blob, padded))

    def _gather_scatter_view(self, blob: Cursor) -> ir.Type:
        padded = self._option(blob, _OPTIONS_SINCE)
        shape, view, sparse = blob.integers(4, "extents"), self.read(blob), blob.number()
        return GatherScatterViewType.get(shape, _tensor(view, blob), sparse, _padding(blob, padded))

    def _function(self, blob: Cursor) -> ir.Type:
        inputs = [self.read(blob) for _ in range(blob.count("argument types"))]
        return ir.FunctionType.get(inputs, [self.read(blob) for _ in range(blob.count("result types"))])


def _extents(blob: Cursor, description: str) -> list[int | None]:
    return [None if extent == _DYNAMIC else extent for extent in blob.integers(8, description)]


def _tensor(view: ir.Type, blob: Cursor) -> TensorViewType:
    if not isinstance(view, TensorViewType):
        blob.fail(f"expected a tensor_view inside, but got {quote(view)}", 0)
    return view


def _padding(blob: Cursor, given: bool) -> str | None:
    return _keyword(blob, PADDING_VALUES, "padding value") if given else None


def _keyword(blob: Cursor, keywords: tuple[str, ...], description: str) -> str:
    start, number = blob.at, blob.number()
    if number >= len(keywords):
        blob.fail(f"invalid {description} {number}, expected one of 0 to {len(keywords) - 1}", start)
    return keywords[number]


_READERS: dict[str, Callable[[TypeReader, Cursor], ir.Type]] = {
    "ptr": TypeReader._pointer,
    "tile": TypeReader._tile,
    "tensor_view": TypeReader._tensor_view,
    "partition_view": TypeReader._partition_view,
    "function": TypeReader._function,
    "token": lambda reader, blob: TokenType.get(),
    "gather_scatter_view": TypeReader._gather_scatter_view,
    "strided_view": TypeReader._strided_view,
}
