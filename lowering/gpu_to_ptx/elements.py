"""Element types: the register that holds one, its bits in memory, its suffix in PTX instructions."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.element_types import ELEMENT_TYPES, PREDICATE, ElementType
from tilec.errors import UnsupportedError


@dataclass(frozen=True)
class PtxElement:
    """A row: builtin name, register type, bits in memory, `float`, `integer` or `predicate`, suffix of arithmetic.

    An 8-bit element is the low half of a 16-bit register whose upper half means nothing. Floats below 16 bits and
    tf32 are stored and converted only.
    """

    name: str
    register: str
    bits: int
    kind: str
    suffix: str

    @property
    def bytes(self) -> int:
        """In memory; a predicate takes one byte."""
        return max(1, self.bits // 8)

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def signed(self) -> str:
        return f"s{self.bits}"

    @property
    def unsigned(self) -> str:
        return f"u{self.bits}"

    @property
    def register_bits(self) -> int:
        return {"i1": 1, "i16": 16, "i32": 32, "f32": 32, "i64": 64, "f64": 64}[self.register]


def _element(row: ElementType) -> PtxElement | None:
    if row.register is None or row.ptx is None:
        return None
    return PtxElement(row.name, row.register, 1 if row.kind == PREDICATE else row.storage_bits, row.kind, row.ptx)


ELEMENTS = {row.name: element for row in ELEMENT_TYPES.values() if (element := _element(row)) is not None}


def element_named(name: str) -> PtxElement:
    """The row of a builtin element type; UnsupportedError for one without."""
    if name not in ELEMENTS:
        raise UnsupportedError(f"elements of type {name} have no PTX register, expected one of {', '.join(ELEMENTS)}")
    return ELEMENTS[name]


def element_of(type: ir.Type) -> PtxElement:
    """The row of a scalar type or of a register tile's elements."""
    return element_named(str(type.element_type if isinstance(type, ir.RankedTensorType) else type))
