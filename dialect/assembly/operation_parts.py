"""What has been read of an operation, and the operation that is made of it."""

from __future__ import annotations

from typing import Any

from tilec.dialect.assembly.scope import Scope
from tilec.dialect.assembly.tokens import Tokens
from tilec.dialect.build import segment_attribute
from tilec.dialect.cuda_tile.types import TokenType
from tilec.dialect.fields import ONE, OPTIONAL, TypeVariable, ValueField
from tilec.dialect.mlir import ir
from tilec.dialect.operation import OPERATIONS


class Parts:
    """What has been read of an operation."""

    __slots__ = ("attributes", "count", "name", "offset", "operands", "places", "types")

    def __init__(self, name: str, offset: int, count: int) -> None:
        self.name, self.offset, self.count = name, offset, count
        self.operands: dict[str, list[ir.Value]] = {}
        self.places: dict[str, int] = {}
        self.types: dict[str, list[ir.Type]] = {}
        self.attributes: dict[str, ir.Attribute] = {}


class OperationMaker:
    """Makes operations of parts: the types of results are inferred from those that the text names."""

    def __init__(self, tokens: Tokens, scope: Scope) -> None:
        self.tokens = tokens
        self.scope = scope

    def create(self, parts: Parts, point: ir.InsertionPoint) -> ir.Operation:
        """The operation, with result types inferred from the types that were read."""
        cls = OPERATIONS[parts.name]
        operands: list[ir.Value] = []
        sizes: list[int] = []
        for field in cls.operand_fields:
            group = parts.operands.get(field.name, [])
            operands += group
            sizes.append(len(group))
        results: list[ir.Type] = []
        result_sizes: list[int] = []
        for field in cls.result_fields:
            types = parts.types.get(field.name) or self._inferred(cls, field, parts)
            results += types
            result_sizes.append(len(types))
        self._check_variables(cls, parts, results)
        attributes = self._with_defaults(cls, parts.attributes)
        for kind, fields, counted in (
            ("operand", cls.operand_fields, sizes),
            ("result", cls.result_fields, result_sizes),
        ):
            if any(field.arity != ONE for field in fields):
                attributes[f"{kind}SegmentSizes"] = self._segments(fields, counted, parts)
        location = self.tokens.source.location(parts.offset)
        return ir.Operation.create(
            parts.name, results, operands, attributes, regions=len(cls.region_fields), loc=location, ip=point
        )

    def _segments(self, fields: tuple[ValueField, ...], sizes: list[int], parts: Parts) -> ir.Attribute:
        try:
            return segment_attribute(fields, tuple(sizes), parts.name)
        except ValueError as error:
            self.tokens.fail_at(parts.offset, str(error))

    def _with_defaults(self, cls: Any, given: dict[str, ir.Attribute]) -> dict[str, ir.Attribute]:
        for name, field in cls.attribute_fields.items():
            if field.default is not None and name not in given:
                given[name] = field.to_attribute(field.default)
        return given

    def _inferred(self, cls: Any, field: ValueField, parts: Parts) -> list[ir.Type]:
        if field.arity not in (ONE, OPTIONAL):
            return []
        if field.set.name == "Token":
            return [TokenType.get()]
        if isinstance(field.constraint, TypeVariable):
            for other in cls.fields:
                if isinstance(other, ValueField) and other.constraint == field.constraint:
                    known = parts.types.get(other.name) or [v.type for v in parts.operands.get(other.name, [])]
                    if known:
                        return [known[0]]
        # Several results of one kind are written with one type: x, y and z of get_tile_block_id.
        for other in cls.result_fields:
            if other.constraint == field.constraint and other.name in parts.types:
                return [parts.types[other.name][0]]
        self.tokens.fail_at(parts.offset, f"expected a type for '{field.name}'")

    def _check_variables(self, cls: Any, parts: Parts, results: list[ir.Type]) -> None:
        # An operand whose type the text leaves out must have the type of the result it shares a variable with.
        for result, type in zip(cls.result_fields, results, strict=False):
            if isinstance(result.constraint, TypeVariable):
                for field in cls.operand_fields:
                    if field.constraint is result.constraint and field.name not in parts.types and field.arity == ONE:
                        self.check_operands(field, [type], parts)

    def check_operands(self, field: ValueField, types: list[ir.Type], parts: Parts) -> None:
        """Operands must have the types that the text says."""
        operands = parts.operands.get(field.name, [])
        if len(operands) != len(types):
            self.tokens.fail(
                f"expected as many types as operands of '{field.name}' ({len(operands)}), but got {len(types)}"
            )
        for index, (value, expected) in enumerate(zip(operands, types, strict=True)):
            # Operands of a group are two tokens apart: a name and a comma.
            self.scope.check(parts.places[field.name] + 2 * index, value, expected)
