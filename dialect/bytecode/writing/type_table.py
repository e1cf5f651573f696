"""The types of a file, each stored once as its tag and its fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilec.dialect.bytecode.tags import (
    DYNAMIC_EXTENT,
    NUMBER_TAGS,
    PADDING_VALUES,
    POINTER_ATTRIBUTE_SINCE,
    POINTER_ATTRIBUTES,
    TYPE_TAGS,
)
from tilec.dialect.bytecode.version import Version
from tilec.dialect.bytecode.writing.encoder import Encoder, table, varint
from tilec.dialect.bytecode.writing.version_gate import VersionGate
from tilec.dialect.cuda_tile.element import EXTENSION_FLOATS, NO_SIX_BITS
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
from tilec.dialect.spelling import quote, spell

# Pointers and tensor views have an options number since this version; for partition views it tells if padding follows.
_POINTER_OPTIONS = Version(13, 4)
_PADDING_OPTIONS = Version(13, 3)


class TypeTable:
    """Types in the order of first use, after their component types."""

    def __init__(self, gate: VersionGate) -> None:
        self._gate = gate
        self._numbers: dict[ir.Type, int] = {}
        self._entries: list[bytes] = []

    def index(self, type: ir.Type) -> int:
        """The index of a type; raises InputError if the version cannot express it."""
        number = self._numbers.get(type)
        if number is None:
            entry = self._entry(type)
            number = self._numbers[type] = len(self._entries)
            self._entries.append(entry)
        return number

    def payload(self) -> bytearray:
        """The section: 32-bit offsets, then the entries."""
        return table(self._entries, 4, "I")

    def _entry(self, type: ir.Type) -> bytes:
        number = NUMBER_TAGS.get(spell(type))
        if number is not None:
            self._gate.need(f"type {quote(type)}", number.since)
            return varint(number.tag)
        if spell(type) in EXTENSION_FLOATS:
            self._gate.refuse(f"type {quote(type)} has no form in bytecode: {NO_SIX_BITS}")
        if type.__class__ not in _FORMS:
            self._gate.refuse(f"type {quote(type)} has no form in bytecode: expected a type of Tile IR")
        name, write = _FORMS[type.__class__]
        self._gate.need(f"type {quote(type)}", TYPE_TAGS[name].since)
        encoder = Encoder()
        encoder.varint(TYPE_TAGS[name].tag)
        write(self, type, encoder)
        return bytes(encoder.data)

    def indices(self, types: Sequence[ir.Type]) -> list[int]:
        return [self.index(type) for type in types]

    def pointer_attribute(self, type: ir.Type) -> int | None:
        """The number of the attribute of a pointer or tensor view, or None."""
        if type.attribute is None:
            return None
        self._gate.need(f"type {quote(type)}", POINTER_ATTRIBUTE_SINCE[type.attribute])
        return POINTER_ATTRIBUTES.index(type.attribute)

    def since(self, version: Version) -> bool:
        """Whether the file has this version or a later one."""
        return self._gate.version >= version


def _options(table: TypeTable, encoder: Encoder, number: int | None) -> None:
    if table.since(_POINTER_OPTIONS):
        encoder.varint(number is not None)


def _pointer(table: TypeTable, type: PointerType, encoder: Encoder) -> None:
    number = table.pointer_attribute(type)
    _options(table, encoder, number)
    encoder.varint(table.index(type.element))
    if number is not None:
        encoder.varint(number)


def _tile(table: TypeTable, type: TileType, encoder: Encoder) -> None:
    encoder.varint(table.index(type.element))
    encoder.array(type.shape, "q")


def _tensor_view(table: TypeTable, type: TensorViewType, encoder: Encoder) -> None:
    number = table.pointer_attribute(type)
    _options(table, encoder, number)
    encoder.varint(table.index(type.element))
    encoder.array(_extents(type.shape), "Q")
    encoder.array(_extents(type.strides), "Q")
    if number is not None:
        encoder.varint(number)


def _extents(extents: Sequence[int | None]) -> list[int]:
    return [DYNAMIC_EXTENT if extent is None else extent for extent in extents]


def _partition_view(table: TypeTable, type: PartitionViewType, encoder: Encoder) -> None:
    early = not table.since(_PADDING_OPTIONS)
    if not early:
        encoder.varint(type.padding is not None)
    encoder.array(type.tile_shape, "i")
    encoder.varint(table.index(type.tensor_view))
    encoder.array(type.dim_map, "i")
    if early:
        encoder.byte(type.padding is not None)
    _padding(type, encoder)


def _strided_view(table: TypeTable, type: StridedViewType, encoder: Encoder) -> None:
    encoder.varint(type.padding is not None)
    encoder.array(type.tile_shape, "i")
    encoder.array(type.traversal_strides, "i")
    encoder.varint(table.index(type.tensor_view))
    encoder.array(type.dim_map, "i")
    _padding(type, encoder)


def _gather_scatter_view(table: TypeTable, type: GatherScatterViewType, encoder: Encoder) -> None:
    encoder.varint(type.padding is not None)
    encoder.array(type.tile_shape, "i")
    encoder.varint(table.index(type.tensor_view))
    encoder.varint(type.sparse_dim)
    _padding(type, encoder)


def _padding(type: ir.Type, encoder: Encoder) -> None:
    if type.padding is not None:
        encoder.varint(PADDING_VALUES.index(type.padding))


def _function(table: TypeTable, type: ir.FunctionType, encoder: Encoder) -> None:
    encoder.varints(table.indices(type.inputs))
    encoder.varints(table.indices(type.results))


def _nothing(_table: TypeTable, _type: ir.Type, _encoder: Encoder) -> None:
    pass


_FORMS: dict[type[ir.Type], tuple[str, Callable[[TypeTable, ir.Type, Encoder], None]]] = {
    PointerType: ("ptr", _pointer),
    TileType: ("tile", _tile),
    TensorViewType: ("tensor_view", _tensor_view),
    PartitionViewType: ("partition_view", _partition_view),
    StridedViewType: ("strided_view", _strided_view),
    GatherScatterViewType: ("gather_scatter_view", _gather_scatter_view),
    ir.FunctionType: ("function", _function),
    TokenType: ("token", _nothing),
}
