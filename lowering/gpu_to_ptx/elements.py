"""Element types in PTX: register type, bits in memory, instruction suffix."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.element_types import ELEMENT_TYPES, PREDICATE, ElementType
from tilec.errors import UnsupportedError


@dataclass(frozen=True)
class PtxElement:
    """An element type with a PTX register: builtin name, register type, bits in memory, kind, instruction suffix.

    An 8-bit element occupies the low half of a 16-bit register; the upper half is undefined. Floats below 16 bits and
    tf32 support only storage and conversion.
    """

    name: str
    register: str
    bits: int
    kind: str
    suffix: str

    @property
    def bytes(self) -> int:
        """Bytes in memory; a predicate occupies one byte."""
        return max(1, self.bits // 8)

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def register_bits(self) -> int:
        return {"i1": 1, "i16": 16, "i32": 32, "f32": 32, "i64": 64, "f64": 64}[self.register]


def _element(row: ElementType) -> PtxElement | None:
    if row.register is None or row.ptx is None:
        return None
    return PtxElement(row.name, row.register, 1 if row.kind == PREDICATE else row.storage_bits, row.kind, row.ptx)


ELEMENTS = {row.name: element for row in ELEMENT_TYPES.values() if (element := _element(row)) is not None}


def element_named(name: str) -> PtxElement:
    """The PTX element type of a builtin type; raises UnsupportedError for a type without a register."""
    if name not in ELEMENTS:
        raise UnsupportedError(f"elements of type {name} have no PTX register, expected one of {', '.join(ELEMENTS)}")
    return ELEMENTS[name]


def element_of(type: ir.Type) -> PtxElement:
    """The PTX element type of a scalar or tile type."""
    return element_named(str(type.element_type if isinstance(type, ir.RankedTensorType) else type))
