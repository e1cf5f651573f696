"""Element types: the register that holds one, its bits in memory, its suffix in PTX instructions."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.errors import UnsupportedError


@dataclass(frozen=True)
class Element:
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


ELEMENTS = {
    element.name: element
    for element in (
        Element("i1", "i1", 1, "predicate", "pred"),
        Element("i8", "i16", 8, "integer", "s16"),
        Element("i16", "i16", 16, "integer", "s16"),
        Element("i32", "i32", 32, "integer", "s32"),
        Element("i64", "i64", 64, "integer", "s64"),
        Element("f16", "i16", 16, "float", "f16"),
        Element("bf16", "i16", 16, "float", "bf16"),
        Element("tf32", "f32", 32, "float", "tf32"),
        Element("f32", "f32", 32, "float", "f32"),
        Element("f64", "f64", 64, "float", "f64"),
        Element("f8E4M3FN", "i16", 8, "float", "e4m3"),
        Element("f8E5M2", "i16", 8, "float", "e5m2"),
        Element("f8E8M0FNU", "i16", 8, "float", "ue8m0"),
    )
}


def element_named(name: str) -> Element:
    """The row of a builtin element type; UnsupportedError for one without."""
    if name not in ELEMENTS:
        raise UnsupportedError(f"elements of type {name} have no PTX register, expected one of {', '.join(ELEMENTS)}")
    return ELEMENTS[name]


def element_of(type: ir.Type) -> Element:
    """The row of a scalar type or of a register tile's elements."""
    return element_named(str(type.element_type if isinstance(type, ir.RankedTensorType) else type))
