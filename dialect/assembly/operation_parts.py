"""The parsed parts of an operation, and the operation created from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

from tilec.dialect.assembly.scope import Scope
from tilec.dialect.assembly.tokens.tokens import Tokens
from tilec.dialect.build import segment_attribute
from tilec.dialect.cache import cached
from tilec.dialect.fields import MIXED, ONE, OPTIONAL, TypeVariable, ValueField
from tilec.dialect.mlir import ir
from tilec.dialect.operation import OPERATIONS


class Parts:
    """The parsed parts of an operation."""

    __slots__ = ("attributes", "count", "extents", "name", "offset", "operands", "positions", "types")

    def __init__(self, name: str, offset: int, count: int) -> None:
        self.name, self.offset, self.count = name, offset, count
        self.operands: dict[str, list[ir.Value]] = {}
        self.positions: dict[str, int] = {}
        self.types: dict[str, list[ir.Type]] = {}
        self.attributes: dict[str, ir.Attribute] = {}
        # Entries of shape and strides with the indices of their first tokens.
        self.extents: dict[str, list[tuple[int, ir.Value | int]]] = {}


@dataclass(frozen=True)
class _Plan:
    """Data for creating operations of a class, computed once."""

    operands: tuple[ValueField, ...]
    results: tuple[ValueField, ...]
    regions: int
    defaults: dict[str, ir.Attribute]
    operand_segments: bool
    result_segments: bool
    # Operands that share the type variable of the result with this index.
    shared: tuple[tuple[ValueField, int], ...]
    # Operands that share a type variable with another operand, but with no result.
    alike: tuple[tuple[ValueField, str], ...]


@cached
def _plan(name: str, context: ir.Context) -> _Plan:
    cls = OPERATIONS[name]
    operands, results = cls.operand_fields, cls.result_fields
    fields = cls.attribute_fields.values()
    return _Plan(
        operands,
        results,
        len(cls.region_fields),
        {field.name: field.to_attribute(field.default) for field in fields if field.default is not None},
        any(field.arity != ONE for field in operands),
        any(field.arity != ONE for field in results),
        tuple(_shared(operands, results)),
        tuple(_alike(operands, results)),
    )


def _shared(operands: tuple[ValueField, ...], results: tuple[ValueField, ...]) -> Iterator[tuple[ValueField, int]]:
    for at, result in enumerate(results):
        for field in operands:
            if (
                isinstance(result.constraint, TypeVariable)
                and field.constraint is result.constraint
                and field.arity == ONE
            ):
                yield field, at


def _alike(operands: tuple[ValueField, ...], results: tuple[ValueField, ...]) -> Iterator[tuple[ValueField, str]]:
    known = {result.constraint for result in results}
    for field, other in permutations(operands, 2):
        variable = field.constraint
        if isinstance(variable, TypeVariable) and variable is other.constraint and variable not in known:
            yield field, other.name


class OperationMaker:
    """Creates operations from parts; result types are inferred from the types in the text."""

    def __init__(self, tokens: Tokens, scope: Scope) -> None:
        self.tokens = tokens
        self.scope = scope
        self.context = ir.Context.current

    def create(self, parts: Parts, point: ir.InsertionPoint) -> ir.Operation:
        """Creates the operation, with result types inferred from the types that were read."""
        plan = _plan(parts.name, self.context)
        operands: list[ir.Value] = []
        lengths: list[int | tuple[int, ...]] = []
        for field in plan.operands:
            group = parts.operands.get(field.name, ())
            operands += group
            if plan.operand_segments:
                lengths.append(field.lengths([value.type for value in group]) if field.arity == MIXED else len(group))
        results: list[ir.Type] = []
        result_lengths: list[int | tuple[int, ...]] = []
        derived = OPERATIONS[parts.name].result_types(parts.operands)
        for field in plan.results:
            types = parts.types.get(field.name) or (
                self._inferred(plan, field, parts) if derived is None else derived.get(field.name, [])
            )
            results += types
            if plan.result_segments:
                result_lengths.append(field.lengths(types))
        for field, at in plan.shared:
            if field.name not in parts.types:
                self.check_operands(field, [results[at]], parts)
        for field, other in plan.alike:
            if field.name not in parts.types and other in parts.types:
                self.check_operands(field, parts.types[other], parts)
        attributes = {**plan.defaults, **parts.attributes}
        if plan.operand_segments:
            attributes["operandSegmentSizes"] = self._segments(plan.operands, lengths, parts)
        if plan.result_segments:
            attributes["resultSegmentSizes"] = self._segments(plan.results, result_lengths, parts)
        location = self.tokens.source.location(parts.offset)
        return ir.Operation.create(
            parts.name, results, operands, attributes, regions=plan.regions, loc=location, ip=point
        )

    def _segments(
        self, fields: tuple[ValueField, ...], lengths: list[int | tuple[int, ...]], parts: Parts
    ) -> ir.Attribute:
        try:
            return segment_attribute(fields, tuple(lengths), parts.name)
        except ValueError as error:
            self.tokens.fail_at(parts.offset, str(error))

    def _inferred(self, plan: _Plan, field: ValueField, parts: Parts) -> list[ir.Type]:
        if field.arity not in (ONE, OPTIONAL):
            return []
        if field.set.only:
            return [ir.Type.parse(field.set.only)]
        # A type variable is one type, and several results of one kind (x, y, z of get_tile_block_id) have one type.
        alike = [*plan.operands, *plan.results] if isinstance(field.constraint, TypeVariable) else plan.results
        known = (
            parts.types.get(other.name) or [value.type for value in parts.operands.get(other.name, ())]
            for other in alike
            if other.constraint is field.constraint
        )
        return next(types[:1] for types in known if types)

    def check_operands(self, field: ValueField, types: list[ir.Type], parts: Parts) -> None:
        """Checks that operands have the types in the text."""
        operands = parts.operands.get(field.name, [])
        if len(operands) != len(types):
            self.tokens.fail(
                f"expected as many types as operands of '{field.name}' ({len(operands)}), but got {len(types)}"
            )
        for index, (value, expected) in enumerate(zip(operands, types, strict=True)):
            # Operands of a group are two tokens apart: name and comma.
            self.scope.check(parts.positions[field.name] + 2 * index, value, expected)
