"""Checks an operation against its fields and rules, with types in messages as the user writes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tilec.dialect.cache import table
from tilec.dialect.fields import ONE, OPTIONAL, UNIFORM, TypeVariable, ValueField, group_sizes
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import quote, spell

if TYPE_CHECKING:
    from tilec.dialect.class_interfaces import Operation

_SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")
# The types whose problem() has returned None.
_SOUND: dict[ir.Type, None] = table()
# Location classes that need no check, as nearly all.
_PLAIN = (ir.FileLineColLoc, ir.UnknownLoc)


def types_only(rule: Callable[[ir.OpView], str | None]) -> Callable[[ir.OpView], str | None]:
    """Marks a rule that depends on types alone, so that its result is cached by types."""
    rule.types_only = True  # type: ignore[attr-defined]
    return rule


def noted(problem: str, note: str, at: ir.Operation) -> str:
    """A problem with a note at another operation; the bindings cannot attach notes."""
    return f"{problem}\nnote: {note} at {at.location}"


class OperationVerifier:
    """The checks of one operation class, with caches of the combinations of types and of attributes that passed."""

    def __init__(self, operation_class: type[Operation]) -> None:
        rules = operation_class.rules
        self._operation_class = operation_class
        self._type_rules = [rule for rule in rules if getattr(rule, "types_only", False)]
        self._other_rules = [rule for rule in rules if not getattr(rule, "types_only", False)]
        self._passed: dict[object, None] = table()
        # The sets of attributes that passed, each with the sizes of the groups of operands and of results in it.
        self._sound: dict[tuple[Any, ...], tuple[ir.Attribute | None, ir.Attribute | None]] = table()
        fields = {"operand": operation_class.operand_fields, "result": operation_class.result_fields}
        # Most operations have one value for each field, which needs no groups.
        self.has_only_single_values = {kind: all(each.arity == ONE for each in of) for kind, of in fields.items()}

    def problem(self, op: ir.OpView) -> str | None:
        """The first problem with an operation, or None; runs before MLIR's own checks."""
        operation = op.operation
        attributes = tuple(operation.attributes.items())
        known = self._sound.get(attributes)
        sizes = known or self._sizes_of_groups(attributes)
        key = (
            tuple([value.type for value in operation.operands]),
            tuple([value.type for value in operation.results]),
            *sizes,
        )
        if key not in self._passed:
            found = self._type_problem(op, key)
            if found is not None:
                return found
            self._passed[key] = None
        if known is None:
            found = self._attribute_problem(dict(attributes))
            if found is not None:
                return found
            self._sound[attributes] = sizes
        found = self._other_problem(op)
        location = operation.location
        return found if found or type(location) in _PLAIN else op.check_location(location)

    def region_problem(self, op: ir.OpView) -> str | None:
        """The problem with the regions of an operation whose fields and nested operations are valid, or None."""
        for index, (field, region) in enumerate(zip(self._operation_class.region_fields, op.regions, strict=True)):
            blocks = len(list(region.blocks))
            if blocks > 1 or (blocks == 0 and field.required):
                return f"region #{index} ('{field.name}') must have exactly one block, but has {blocks}"
        return op.check_regions()

    @staticmethod
    def _sizes_of_groups(attributes: tuple[Any, ...]) -> tuple[ir.Attribute | None, ir.Attribute | None]:
        stored = dict(attributes)
        return stored.get(_SEGMENTS[0]), stored.get(_SEGMENTS[1])

    def _other_problem(self, op: ir.OpView) -> str | None:
        for rule in self._other_rules:
            found = rule(op)
            if found is not None:
                return found
        return op.check()

    def _attribute_problem(self, stored: dict[str, ir.Attribute]) -> str | None:
        fields = self._operation_class.attribute_fields
        for name, field in fields.items():
            attribute = stored.get(name)
            if attribute is None:
                if field.required:
                    return f"requires attribute '{name}'"
                continue
            found = field.problem(attribute)
            if found is not None:
                return f"attribute '{name}' {found}"
        for name in stored:
            if not self._operation_class.discardable_attributes and is_stray(self._operation_class, name):
                return f"has no attribute '{name}'"
        return None

    def _type_problem(self, op: ir.OpView, key: tuple[Any, ...]) -> str | None:
        cls = self._operation_class
        bound: dict[str, tuple[str, ir.Type]] = {}
        for kind, fields, types, segments in (
            ("operand", cls.operand_fields, key[0], key[2]),
            ("result", cls.result_fields, key[1], key[3]),
        ):
            if self.has_only_single_values[kind] and segments is None and len(types) == len(fields):
                pairs = enumerate(zip(fields, types, strict=True))
                found = next(filter(None, (_type_problem(kind, at, *pair, bound) for at, pair in pairs)), None)
            else:
                found = _group_problem(kind, fields, types, segments, bound)
            if found is not None:
                return found
        if len(op.regions) != len(cls.region_fields):
            return f"expected {len(cls.region_fields)} regions, but got {len(op.regions)}"
        for rule in self._type_rules:
            found = rule(op)
            if found is not None:
                return found
        return op.check_types()


def is_stray(operation_class: type[Operation], name: str) -> bool:
    """Whether an attribute is neither a field of the operation nor of another dialect, whose names contain a dot."""
    return name not in operation_class.attribute_fields and "." not in name and name not in _SEGMENTS


def _group_problem(
    kind: str,
    fields: tuple[ValueField, ...],
    types: tuple[ir.Type, ...],
    segments: ir.Attribute | None,
    bound: dict[str, tuple[str, ir.Type]],
) -> str | None:
    sizes = group_sizes(fields, segments)
    if segments is None and any(field.arity != ONE for field in fields):
        return f"requires attribute '{kind}SegmentSizes'"
    if sizes is None or sum(sizes) != len(types):
        return f"expected {_expected(kind, fields, sizes)}, but got {len(types)}"
    at = 0
    for field, size in zip(fields, sizes, strict=True):
        if (field.arity == ONE and size != 1) or (field.arity == OPTIONAL and size > 1):
            return f"expected {'one' if field.arity == ONE else 'at most one'} {kind} '{field.name}', but got {size}"
        for index in range(at, at + size):
            found = _type_problem(kind, index, field, types[index], bound) or _uniform_problem(
                kind, field, types[at], types[index]
            )
            if found is not None:
                return found
        at += size
    return None


def _expected(kind: str, fields: tuple[ValueField, ...], sizes: list[int] | None) -> str:
    if sizes is None:
        return f"'{kind}SegmentSizes' to have {sum(field.width for field in fields)} entries that are not negative"
    return f"{sum(sizes)} {kind}{'' if sum(sizes) == 1 else 's'}"


def _type_problem(
    kind: str, index: int, field: ValueField, type: ir.Type, bound: dict[str, tuple[str, ir.Type]]
) -> str | None:
    if type not in _SOUND:
        broken = getattr(type, "problem", None)
        if broken is not None and broken() is not None:
            return f"{kind} #{index} has an invalid type: {broken()}"
        _SOUND[type] = None
    if not field.set.contains(type):
        return f"{kind} #{index} must be {field.set.description}, but got {quote(type)}"
    if isinstance(field.constraint, TypeVariable):
        first, expected = bound.setdefault(field.constraint.name, (field.name, type))
        if expected != type:
            pair = f"{{{first}, {field.name}}}"
            return f"failed to verify that all of {pair} have same type: {spell(expected)} and {spell(type)}"
    return None


def _uniform_problem(kind: str, field: ValueField, first: ir.Type, type: ir.Type) -> str | None:
    if field.arity == UNIFORM and first != type:
        return f"all {kind}s of '{field.name}' must have one type, but got {quote(first)} and {quote(type)}"
    return None
