"""The layout of each operation in bytecode, derived from the fields of its class.

An operation is its opcode, then the number of results (where that varies), the result types, a number with one bit for
each member that may be absent, the attributes in order, the operands, the regions. Members younger than the version of
the file are left out. See the specification of Tile IR, section "Binary format".
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilec.dialect.bytecode.version import Version
from tilec.dialect.fields import ONE, OPTIONAL, AttributeField, AttributeKind, ValueField
from tilec.dialect.operation import OPERATIONS

if TYPE_CHECKING:
    from tilec.dialect.class_interfaces import Operation

FIXED, COUNTED, SEGMENTS = "fixed", "counted", "segments"


@dataclass(frozen=True)
class OperationLayout:
    """The members of an operation in a version of the format, in order.

    `operand_layout` says how operands are written: FIXED, each one; COUNTED, all of them after their number; SEGMENTS,
    field by field, a variadic one after its number and an optional one where its bit in `flags` is set. `flags` names
    the members that have a bit, from bit 0; where it is empty, the flags are not written.
    """

    operation_class: type[Operation]
    opcode: int
    since: Version
    result_count: bool
    results: tuple[ValueField, ...]
    flags: tuple[AttributeField | ValueField, ...]
    attributes: tuple[AttributeField, ...]
    operand_layout: str
    operands: tuple[ValueField, ...]
    regions: int


@functools.cache
def classes_by_opcode() -> dict[int, type[Operation]]:
    """The classes of the operations in bytecode."""
    return {cls.opcode: cls for cls in OPERATIONS.values() if cls.opcode is not None}


@functools.cache
def layout(operation_class: type[Operation], version: Version) -> OperationLayout:
    """The layout of an operation in a version, which may be older than the operation."""
    cls = operation_class
    assert cls.opcode is not None, cls.OPERATION_NAME
    since = Version.parse(cls.since)
    flagged: list[AttributeField | ValueField] = [field for field in cls.attribute_fields.values() if _has_bit(field)]
    groups = [field for field in cls.operand_fields if field.arity != ONE]
    segments = len(groups) > 1
    if segments:
        flagged += [field for field in groups if field.arity == OPTIONAL]
    # Members of one version keep the order of declaration, so that younger ones take higher bits.
    flagged.sort(key=lambda field: _since(field, since))
    return OperationLayout(
        cls,
        cls.opcode,
        since,
        any(field.arity not in (ONE, OPTIONAL) for field in (*cls.operand_fields, *cls.result_fields)),
        tuple(field for field in cls.result_fields if _since(field, since) <= version),
        tuple(field for field in flagged if _since(field, since) <= version),
        tuple(
            f for f in cls.attribute_fields.values() if f.kind is not AttributeKind.FLAG and _since(f, since) <= version
        ),
        SEGMENTS if segments else COUNTED if groups else FIXED,
        cls.operand_fields,
        len(cls.region_fields),
    )


def member_since(operation_class: type[Operation], field: AttributeField | ValueField) -> Version:
    """The version that introduced a member of an operation."""
    return _since(field, Version.parse(operation_class.since))


def _since(field: AttributeField | ValueField, operation: Version) -> Version:
    return Version.parse(field.since) if field.since else operation


def _has_bit(field: AttributeField) -> bool:
    # An array of booleans is always written: absent means that all of them are false.
    return not field.required and field.kind is not AttributeKind.BOOLEANS
