"""How to write an operation class in one version, computed once, and the members that the version lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilec.dialect.bytecode.layout import SEGMENTS, OperationLayout, layout, member_since
from tilec.dialect.bytecode.version import Version
from tilec.dialect.bytecode.writing.version_gate import VersionGate
from tilec.dialect.fields import AttributeField, AttributeKind, ValueField
from tilec.dialect.mlir import ir
from tilec.dialect.operation import group_slices

if TYPE_CHECKING:
    from tilec.dialect.class_interfaces import Operation

Slices = dict[str, slice]


@dataclass(frozen=True)
class OperationPlan:
    """The layout of an operation, and its members that are younger than the version."""

    layout: OperationLayout
    younger: tuple[AttributeField | ValueField, ...]
    grouped: bool
    drops_results: bool

    @classmethod
    def of(cls, operation_class: type[Operation], version: Version) -> OperationPlan:
        found = layout(operation_class, version)  # type: ignore[arg-type]
        members: tuple[AttributeField | ValueField, ...] = (
            *operation_class.attribute_fields.values(),
            *operation_class.operand_fields,
            *operation_class.result_fields,
        )
        younger = tuple(field for field in members if member_since(operation_class, field) > version)
        drops_results = any(isinstance(field, ValueField) and field.kind == "result" for field in younger)
        return cls(found, younger, found.operand_layout == SEGMENTS or bool(younger), drops_results)

    def operand_slices(self, operation: ir.Operation) -> Slices:
        """The slice of operands of each field; empty if the layout does not need it."""
        return _slices(self.layout.operation_class, "operand", operation) if self.grouped else {}

    def known_results(self, operation: ir.Operation) -> list[ir.Value]:
        """The results that exist in the version."""
        results = list(operation.results)
        if not self.drops_results:
            return results
        slices = _slices(self.layout.operation_class, "result", operation)
        return [value for field in self.layout.results for value in results[slices[field.name]]]

    def check(self, operation: ir.Operation, gate: VersionGate) -> None:
        """Raises InputError if a member that the version lacks differs from its default."""
        cls = self.layout.operation_class
        for field in self.younger:
            if isinstance(field, AttributeField):
                found = _attribute(field, operation)
            else:
                found = _values(field, operation, _slices(cls, field.kind, operation)[field.name])
            if found is not None:
                gate.need(f"{found} of '{operation.name}'", member_since(cls, field))


def _slices(operation_class: type[Operation], kind: str, operation: ir.Operation) -> Slices:
    name, attributes = f"{kind}SegmentSizes", operation.attributes
    return group_slices(operation_class, kind, attributes[name] if name in attributes else None) or {}


def _attribute(field: AttributeField, operation: ir.Operation) -> str | None:
    """A description of an attribute that differs from its default."""
    if field.name not in operation.attributes:
        return None
    value: Any = field.to_python(operation.attributes[field.name])
    if field.kind is AttributeKind.BOOLEANS:
        return f"'true' in {field.name}" if any(value) else None
    if field.kind is AttributeKind.FLAG:
        return f"'{field.name}'"
    return f"'{value}' as {field.name}" if value != field.default else None


def _values(field: ValueField, operation: ir.Operation, group: slice) -> str | None:
    """A description of present operands and used results."""
    values = list(operation.operands if field.kind == "operand" else operation.results)[group]
    if field.kind == "operand":
        return f"operand '{field.name}'" if values else None
    used = any(True for value in values for _ in value.uses)
    return f"a use of result '{field.name}'" if used else None
