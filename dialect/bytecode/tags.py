"""The numbers of the format: sections, types, self-contained attributes and debug information."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from tilec.dialect.bytecode.version import Version

MAGIC = b"\x7fTileIR\x00"
# The padding byte before an aligned payload or table.
PADDING = 0xCB
# The bit of a section's number for an aligned payload.
ALIGNED = 0x80
# A dynamic extent or stride.
DYNAMIC_EXTENT = 1 << 63
# The depth limit of nested regions: each level uses stack here, in the verifier and in the printer.
DEEPEST_REGIONS = 500
# Bit 0 of the header's tag: content of the public preview.
PREVIEW_TAG = 1


def is_bytecode(content: bytes) -> bool:
    """Whether bytes begin with the magic number of bytecode, which no text begins with."""
    return content[:1] == MAGIC[:1]


class Section(IntEnum):
    """The sections of a file; `END` closes it."""

    END = 0
    STRINGS = 1
    FUNCTIONS = 2
    DEBUG = 3
    CONSTANTS = 4
    TYPES = 5
    GLOBALS = 6
    PRODUCER = 7


# The alignment of sections in bytes.
SECTION_ALIGNMENT = {
    Section.STRINGS: 4,
    Section.FUNCTIONS: 8,
    Section.DEBUG: 8,
    Section.CONSTANTS: 8,
    Section.TYPES: 4,
    Section.GLOBALS: 1,
    Section.PRODUCER: 1,
}
# The versions of later sections, and of the current form of function records.
SECTION_SINCE = {Section.PRODUCER: Version(13, 3)}
ARGUMENT_ATTRIBUTES_SINCE = Version(13, 5)
# The version that added flags, so far unused, to the end of a subprogram in the debug section.
SUBPROGRAM_FLAGS_SINCE = Version(13, 5)


class TypeTag(NamedTuple):
    """The number of a type and the version that introduced it."""

    tag: int
    since: Version = Version(13, 1)


# Number types by the name they have in Tile IR assembly.
NUMBER_TAGS = {
    "i1": TypeTag(0),
    "i8": TypeTag(1),
    "i16": TypeTag(2),
    "i32": TypeTag(3),
    "i64": TypeTag(4),
    "f16": TypeTag(5),
    "bf16": TypeTag(6),
    "f32": TypeTag(7),
    "tf32": TypeTag(8),
    "f64": TypeTag(9),
    "f8E4M3FN": TypeTag(10),
    "f8E5M2": TypeTag(11),
    "f8E8M0FNU": TypeTag(18, Version(13, 2)),
    "f4E2M1FN": TypeTag(19, Version(13, 3)),
    "i4": TypeTag(22, Version(13, 3)),
    "fnv8E5M3FNU": TypeTag(130, Version(13, 4)),
}
# The other types by their mnemonic.
TYPE_TAGS = {
    "ptr": TypeTag(12),
    "tile": TypeTag(13),
    "tensor_view": TypeTag(14),
    "partition_view": TypeTag(15),
    "function": TypeTag(16),
    "token": TypeTag(17),
    "gather_scatter_view": TypeTag(20, Version(13, 3)),
    "strided_view": TypeTag(21, Version(13, 3)),
}
# Keywords in numeric order, with the version of each keyword that is younger than its type.
POINTER_ATTRIBUTES = ("none", "unicast", "multicast")
POINTER_ATTRIBUTE_SINCE = {"none": Version(13, 4), "unicast": Version(13, 5), "multicast": Version(13, 5)}
PADDING_VALUES = ("zero", "neg_zero", "nan", "pos_inf", "neg_inf")
# Keywords of operations that are younger than the rest of their enumeration.
KEYWORD_SINCE = {"nearest_away": Version(13, 4)}


class AttributeTag(IntEnum):
    """The first byte of a self-contained attribute."""

    INTEGER = 1
    FLOAT = 2
    BOOLEAN = 3
    TYPE = 4
    STRING = 5
    ARRAY = 6
    DENSE_ELEMENTS = 7
    DIV_BY = 8
    SAME_ELEMENTS = 9
    DICTIONARY = 10
    OPTIMIZATION_HINTS = 11
    BOUNDED = 12


class DebugTag(IntEnum):
    """The first byte of an entry in the debug section."""

    UNKNOWN = 0
    COMPILE_UNIT = 1
    FILE = 2
    LEXICAL_BLOCK = 3
    LOCATION = 4
    SUBPROGRAM = 5
    CALL_SITE = 6


class FunctionFlag(IntEnum):
    """The bits of a function record's flags."""

    PRIVATE = 1
    KERNEL = 2
    HINTS = 4
