"""Element types in PTX: register type, bits in memory, instruction suffix."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.dialect.cache import cached
from tilec.dialect.mlir import ir
from tilec.dialect.ptx.registers import REGISTER_CLASSES
from tilec.dialect.spelling import spell
from tilec.element_types import ELEMENT_TYPES, FLOAT, PREDICATE, ElementType
from tilec.errors import UnsupportedError
from tilec.lowering.layout.linear_layout import LANE_BITS, LinearLayout, parse_layout

_SCALAR = LinearLayout((), ((),) * LANE_BITS, (), ())


@dataclass(frozen=True)
class PtxElement:
    """An element type with a PTX register: name, register type, bits in memory, kind, instruction suffix.

    An element of 8 or 4 bits occupies the low bits of a 16-bit register; the other bits are undefined. Floats below 16
    bits and tf32 support only storage and conversion.
    """

    name: str
    register: str
    bits: int
    kind: str
    suffix: str

    @property
    def bytes(self) -> int:
        """Bytes in scratch memory. Predicates and elements of 4 bits have a byte, so that no two threads share one."""
        return max(1, self.bits // 8)

    @property
    def is_float(self) -> bool:
        return self.kind == FLOAT

    @property
    def is_predicate(self) -> bool:
        return self.kind == PREDICATE

    @property
    def register_bits(self) -> int:
        return REGISTER_CLASSES[self.register].width

    @property
    def register_suffix(self) -> str:
        """The suffix of instructions that take any value of the register, such as selp: `b16`, `f32`."""
        return REGISTER_CLASSES[self.register].suffix


def _element(row: ElementType) -> PtxElement:
    suffix = row.ptx or REGISTER_CLASSES[row.register].suffix
    return PtxElement(row.name, row.register, 1 if row.kind == PREDICATE else row.storage_bits, row.kind, suffix)


ELEMENTS = {row.name: _element(row) for row in ELEMENT_TYPES.values()}


def element_named(name: str) -> PtxElement:
    """The PTX element type with this name in Tile IR; raises UnsupportedError for a type without a register."""
    if name not in ELEMENTS:
        raise UnsupportedError(f"elements of type {name} have no PTX register, expected one of {', '.join(ELEMENTS)}")
    return ELEMENTS[name]


def element_of(type: ir.Type) -> PtxElement:
    """The PTX element type of a scalar or tile type."""
    return element_named(spell(type.element_type if isinstance(type, ir.RankedTensorType) else type))


@cached
def layout_of(type: ir.Type) -> LinearLayout:
    """The layout of a register tile; a scalar occupies one register with the same value in every thread."""
    return parse_layout(type.encoding.value) if isinstance(type, ir.RankedTensorType) else _SCALAR


def element(value: ir.Value) -> PtxElement:
    """The element type of a scalar or register tile."""
    return element_of(value.type)
