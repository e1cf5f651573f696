"""The register classes of PTX and the builtin types that stand for them.

A register of bits takes every instruction of its width, one of floats only .fX and .bX instructions (PTX ISA 9.0,
section 9.1, "Operand type checking"). So f16, bf16 and all 8-bit elements travel in i16, packed pairs in i32.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RegisterClass:
    """A row of the table: the type of a register class, which is the suffix of its move, prefix of names and width."""

    suffix: str
    prefix: str
    width: int
    is_float: bool = False

    @property
    def move(self) -> str:
        return f"mov.{self.suffix}"


REGISTER_CLASSES = {
    "i1": RegisterClass("pred", "%p", 1),
    "i16": RegisterClass("b16", "%h", 16),
    "i32": RegisterClass("b32", "%r", 32),
    "i64": RegisterClass("b64", "%rd", 64),
    "i128": RegisterClass("b128", "%q", 128),
    "f32": RegisterClass("f32", "%f", 32, is_float=True),
    "f64": RegisterClass("f64", "%fd", 64, is_float=True),
}
