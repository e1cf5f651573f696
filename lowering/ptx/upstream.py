"""PTX for the arith operations that upstream's canonicalization of `cf` creates between ptx operations.

A branch on a condition makes the condition a constant in its targets, two branches to one block become a select,
and a select of predicates becomes logic.
"""

from __future__ import annotations

import struct

from tilec.dialect.mlir import ir
from tilec.dialect.ptx.registers import REGISTER_CLASSES

_LOGIC = {"arith.andi": "and", "arith.ori": "or", "arith.xori": "xor"}
# PTX has no selp for predicates.
_SELECT_PREDICATE = (
    "{ .reg .pred %yes, %no; and.pred %yes, $1, $2; not.pred %no, $1; and.pred %no, %no, $3; or.pred $0, %yes, %no; }"
)


def upstream_text(operation: ir.Operation) -> str | None:
    """The instruction for an upstream operation, or None if it has none."""
    kind = str(operation.results[0].type) if len(operation.results) == 1 else ""
    row = REGISTER_CLASSES.get(kind)
    if row is None:
        return None
    if operation.name == "arith.constant":
        return f"{row.move} $0, {_literal(operation.attributes['value'], kind)};"
    if operation.name in _LOGIC:
        return f"{_LOGIC[operation.name]}.{'pred' if kind == 'i1' else f'b{row.width}'} $0, $1, $2;"
    if operation.name == "arith.select":
        return _SELECT_PREDICATE if kind == "i1" else f"selp.{row.suffix} $0, $2, $3, $1;"
    if operation.name == "arith.extui" and str(operation.operands[0].type) == "i1":
        return f"selp.b{row.width} $0, 1, 0, $1;"
    return None


def _literal(value: ir.Attribute, kind: str) -> str:
    if kind == "f32":
        return f"0f{struct.unpack('<I', struct.pack('<f', value.value))[0]:08X}"
    if kind == "f64":
        return f"0d{struct.unpack('<Q', struct.pack('<d', value.value))[0]:016X}"
    return str(int(value.value))
