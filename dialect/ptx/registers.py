"""The register classes of PTX and the builtin types that stand for them.

A register of bits takes every instruction of its width, one of floats only .fX and .bX instructions (PTX ISA 9.0,
section 9.1, "Operand type checking"). So f16, bf16 and all 8-bit elements travel in i16, packed pairs in i32.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RegisterClass:
    """A row of the table: declaration, prefix and move instruction of a register class."""

    declaration: str
    prefix: str
    move: str
    width: int
    is_float: bool = False


REGISTER_CLASSES = {
    "i1": RegisterClass(".pred", "%p", "mov.pred", 1),
    "i16": RegisterClass(".b16", "%h", "mov.b16", 16),
    "i32": RegisterClass(".b32", "%r", "mov.b32", 32),
    "i64": RegisterClass(".b64", "%rd", "mov.b64", 64),
    "f32": RegisterClass(".f32", "%f", "mov.f32", 32, is_float=True),
    "f64": RegisterClass(".f64", "%fd", "mov.f64", 64, is_float=True),
}
