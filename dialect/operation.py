"""The base class of all operation classes: fields from annotations, accessors, verification.

    class CmpIOp(Operation, name="cmpi", opcode=0x0F, traits=[ext.Pure]):
        \"\"\"result[i] = lhs[i] <predicate> rhs[i].\"\"\"
        result: Result[BoolTile]
        lhs: Operand[T]
        rhs: Operand[T]
        comparison_predicate: Predicate
        signedness: Signedness
        rules = [same_shape("lhs", "result")]
        assembly = "$comparison_predicate $lhs `,` $rhs `,` $signedness attr-dict `:` type($lhs) `->` type($result)"

Accessors give Python values: `op.signedness` is `"signed"`, an absent optional None, a flag a bool, a group a list.
"""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar

from tilec.dialect.cache import table
from tilec.dialect.constraints import Constraint
from tilec.dialect.constraints import keyword as one_of_keywords
from tilec.dialect.fields import (
    MIXED,
    ONE,
    OPTIONAL,
    AttributeField,
    AttributeKind,
    Field,
    RegionField,
    TypeVariable,
    ValueField,
    field_of,
    group_sizes,
)
from tilec.dialect.mlir import ext, ir
from tilec.dialect.verify import OperationVerifier

if TYPE_CHECKING:
    from tilec.dialect.class_interfaces import Operation

# Every operation class of our dialects by its full name.
OPERATIONS: dict[str, type[Operation]] = {}
# Spellings in text that differ from the key in OPERATIONS (`cuda_tile.preview$call`, and `cuda_tile.pow` of 13.3).
SPELLED: dict[str, str] = {}


def operation_base(dialect: Any, discardable: bool = False) -> Any:
    """Creates the base class of a dialect's operations; subclasses with a `name` are operations.

    `discardable`: operations accept attributes without a field, as discardable attributes of MLIR. Each dialect has its
    own class because classes of the bindings cannot have two bases.
    """

    class Operation(dialect.Operation):
        fields: tuple[Field, ...] = ()
        operand_fields: tuple[ValueField, ...] = ()
        result_fields: tuple[ValueField, ...] = ()
        attribute_fields: dict[str, AttributeField] = {}
        region_fields: tuple[RegionField, ...] = ()
        rules: Sequence[Callable[[ir.OpView], str | None]] = ()
        assembly = ""
        opcode: int | None = None
        since = "13.1"
        preview = False
        discardable_attributes = discardable
        spelled_name: str
        verifier: OperationVerifier
        __annotations__ = {}

        def __init_subclass__(
            cls,
            *,
            name: str | None = None,
            traits: list[type] | None = None,
            opcode: int | None = None,
            since: str = "13.1",
            preview: bool = False,
            spelled: str | None = None,
            formerly: str | None = None,
            **keywords: Any,
        ) -> None:
            if name is not None:
                # The bytecode number, the version of Tile IR that added the operation, and whether files need the
                # public preview tag.
                cls.opcode, cls.since, cls.preview = opcode, since, preview
                _declare(cls)
            super().__init_subclass__(name=name, traits=traits, **keywords)
            if name is not None:
                _repeat_mixed_fields(cls)
                _add_accessors(cls)
                OPERATIONS[cls.OPERATION_NAME] = cls
                # IRDL allows no `$` in a name, so such an operation is stored under another one.
                cls.spelled_name = cls.OPERATION_NAME.removesuffix(name) + (spelled or name)
                SPELLED[cls.spelled_name] = cls.OPERATION_NAME
                if formerly is not None:
                    # The name in older texts.
                    SPELLED[cls.OPERATION_NAME.removesuffix(name) + formerly] = cls.OPERATION_NAME

        # The methods of ext that make the constructor and the accessors take a third of the time of loading a class:
        # the constructor is made when it is first called, and an accessor if `_add_accessors` makes none.

        @classmethod
        def _generate_init_method(cls, fields: Any) -> None:
            make = super()._generate_init_method

            def __init__(*arguments: Any, **keywords: Any) -> None:
                make(cls._fields)
                cls.__init__(*arguments, **keywords)

            cls.__init__ = __init__  # type: ignore[method-assign]

        @classmethod
        def _generate_attr_properties(cls, fields: Any) -> None:
            if _is_of_opview(fields):
                super()._generate_attr_properties(fields)

        @classmethod
        def _generate_operand_properties(cls, fields: Any) -> None:
            if _is_of_opview(fields):
                super()._generate_operand_properties(fields)

        @classmethod
        def _generate_result_properties(cls, fields: Any) -> None:
            if _is_of_opview(fields):
                super()._generate_result_properties(fields)

        @classmethod
        def _generate_region_properties(cls, fields: Any) -> None:
            if _is_of_opview(fields):
                super()._generate_region_properties(fields)

        @classmethod
        def verify_invariants(cls, op: ir.OpView) -> bool:
            return _emit(op, cls.verifier.problem(op))

        @staticmethod
        def result_types(operands: Mapping[str, Sequence[ir.Value]]) -> dict[str, list[ir.Type]] | None:
            """The types of the results by field, if they follow from operands and the assembly line leaves them out."""
            return None

        def has_assembly(self) -> bool:
            """Whether the assembly format can express the operation; otherwise the generic form is printed."""
            return True

        def check_types(self) -> str | None:
            """The problem with the types beyond fields and rules, or None; cached by types."""
            return None

        def check(self) -> str | None:
            """The problem with the attributes or the parent of the operation, or None; called after other checks."""
            return None

        def check_location(self, location: ir.Location) -> str | None:
            """The problem with a location that is not a plain file position, or None; called last."""
            return None

        def check_regions(self) -> str | None:
            """The problem with the regions, or None; called after their operations are verified."""
            return None

    return Operation


def _is_of_opview(fields: Any) -> bool:
    """Whether MLIR's OpView has a member of the name of a field, which `_add_accessors` then leaves alone."""
    return any(hasattr(ir.OpView, field.name) for field in fields)


def _declare(cls: type[Operation]) -> None:
    fields = _take_fields(cls)
    cls.fields = fields
    cls.operand_fields = tuple(f for f in fields if isinstance(f, ValueField) and f.kind == "operand")
    cls.result_fields = tuple(f for f in fields if isinstance(f, ValueField) and f.kind == "result")
    cls.attribute_fields = {f.name: f for f in fields if isinstance(f, AttributeField)}
    cls.region_fields = tuple(f for f in fields if isinstance(f, RegionField))
    cls.__annotations__ = _irdl_annotations(fields)
    cls.verifier = OperationVerifier(cls)
    if cls.region_fields:
        cls.verify_region_invariants = classmethod(_verify_regions)


def _verify_regions(cls: type[Operation], op: ir.OpView) -> bool:
    return _emit(op, cls.verifier.region_problem(op))


def _emit(op: ir.OpView, problem: str | None) -> bool:
    if problem is None:
        return True
    op.location.emit_error(f"'{op.spelled_name}' op {problem}")
    return False


def _take_fields(cls: type[Operation]) -> tuple[Field, ...]:
    fields = []
    for key, annotation in inspect.get_annotations(cls).items():
        fields.append(field_of(key, annotation, cls.__dict__.get(key)))
        # ext would interpret a default as one of its own specifiers.
        if key in cls.__dict__:
            delattr(cls, key)
    return tuple(fields)


def _irdl_annotations(fields: tuple[Field, ...]) -> dict[str, Constraint]:
    annotations: dict[str, Constraint] = {}
    for field in fields:
        if isinstance(field, ValueField):
            annotations.update(_irdl_values(field))
        elif isinstance(field, AttributeField):
            # IRDL cannot express optional attributes and ignores undeclared ones.
            if field.required:
                annotations[field.name] = one_of_keywords(field.keywords) if field.keywords else field.irdl
        else:
            annotations[field.name] = ext.Region
    return annotations


def _irdl_values(field: ValueField) -> dict[str, Constraint]:
    constraint = field.set.irdl
    if isinstance(field.constraint, TypeVariable) and field.arity == ONE:
        constraint = TypeVar(field.constraint.name, bound=constraint)  # type: ignore[misc]
    value = (ext.Operand if field.kind == "operand" else ext.Result)[constraint]
    name = _irdl_name(field.name)
    if field.arity == MIXED:
        # `_repeat_mixed_fields` adds the other runs.
        return {f"{name}0": Sequence[value]}  # type: ignore[valid-type]
    if field.arity == OPTIONAL:
        return {name: value | None}
    return {name: value if field.arity == ONE else Sequence[value]}  # type: ignore[valid-type]


def _repeat_mixed_fields(cls: type[Operation]) -> None:
    """Adds the other runs of MIXED fields, which ext would derive one by one from annotations, at 20 times the cost."""
    mixed = [field for field in cls.fields if isinstance(field, ValueField) and field.arity == MIXED]
    if not mixed:
        return
    runs = {f"{_irdl_name(field.name)}0": field.runs for field in mixed}
    cls._fields = [copied for field in cls._fields for copied in _copies(field, runs.get(field.name, 1))]
    cls._generate_class_attributes(cls._dialect_obj.DIALECT_NAMESPACE, cls._op_name, cls._fields)


def _copies(field: Any, count: int) -> list[Any]:
    """`count` fields like this one, whose name ends in 0, numbered from 0."""
    if count == 1:
        return [field]
    copies = [copy(field) for _ in range(count)]
    for number, copied in enumerate(copies):
        copied.name = f"{field.name[:-1]}{number}"
    return copies


def _irdl_name(name: str) -> str:
    # IRDL rejects capitals, and ext uses the name as a parameter of a Python constructor.
    snake = re.sub("[A-Z]", lambda capital: f"_{capital[0].lower()}", name)
    return f"{snake}_" if keyword.iskeyword(snake) else snake


# The slices of values of each field, by operation, kind and segment attribute.
_SLICES: dict[object, dict[str, slice] | None] = table()


def group_slices(cls: type[Operation], kind: str, segments: ir.Attribute | None) -> dict[str, slice] | None:
    """The slice of each field among the operands or results, or None if the segments do not fit the fields."""
    key = (cls.OPERATION_NAME, kind, segments)
    if key not in _SLICES:
        fields = cls.operand_fields if kind == "operand" else cls.result_fields
        sizes = group_sizes(fields, segments)
        _SLICES[key] = None if sizes is None else _slices(fields, sizes)
    return _SLICES[key]


def _slices(fields: tuple[ValueField, ...], sizes: list[int]) -> dict[str, slice]:
    ends = accumulate(sizes)
    return {field.name: slice(end - size, end) for field, size, end in zip(fields, sizes, ends, strict=True)}


def groups(op: ir.OpView, kind: str) -> dict[str, list[ir.Value]] | None:
    """The values of an operation by field, or None if the segments are malformed."""
    values = list(op.operation.operands if kind == "operand" else op.operation.results)
    slices = group_slices(type(op), kind, _segments(op, kind))
    return None if slices is None else {name: values[group] for name, group in slices.items()}


def _segments(op: ir.OpView, kind: str) -> ir.Attribute | None:
    return op.attributes.get(f"{kind}SegmentSizes")


def _add_accessors(cls: type[Operation]) -> None:
    for field in cls.fields:
        name = field.name
        if isinstance(field, AttributeField):
            accessor = _attribute_accessor(field)
        elif isinstance(field, ValueField):
            accessor = _value_accessor(cls, field)
        else:
            accessor = _region_accessor(cls.region_fields.index(field))
        # Fields named operands, results or name keep MLIR's accessor, which is equal or needed.
        if not hasattr(ir.OpView, name):
            setattr(cls, name, accessor)
        setattr(cls, f"{name}_", accessor)


def _region_accessor(at: int) -> property:
    return property(lambda op: op.regions[at])


def _attribute_accessor(field: AttributeField) -> property:
    name, to_python = field.name, field.to_python
    absent = False if field.kind is AttributeKind.FLAG else field.default
    return property(lambda op: absent if (found := op.attributes.get(name)) is None else to_python(found))


def _value_accessor(cls: type[Operation], field: ValueField) -> property:
    fields = cls.operand_fields if field.kind == "operand" else cls.result_fields
    at, kind, many = fields.index(field), field.kind, field.arity not in (ONE, OPTIONAL)
    if all(f.arity == ONE for f in fields[: at + 1]):
        return property((lambda op: op.operands[at]) if kind == "operand" else (lambda op: op.results[at]))

    # The fields from this one on.
    name, behind = field.name, len(fields) - at

    def accessor_by_count(op: ir.OpView) -> Any:
        values = op.operands if kind == "operand" else op.results
        count = len(values)
        if many:
            return [values[number] for number in range(at, count - behind + 1)]
        if field.arity == ONE:
            return values[count - behind]
        return values[at] if count == len(fields) else None

    # With one optional or variadic group its size follows from the number of values, without a look at the attributes.
    if sum(f.arity != ONE for f in fields) == 1:
        return property(accessor_by_count)

    segments, slices = f"{kind}SegmentSizes", table()

    def accessor(op: ir.OpView) -> Any:
        values = op.operands if kind == "operand" else op.results
        stored = op.attributes.get(segments)
        group = slices.get(stored)
        if group is None:
            group = slices[stored] = group_slices(cls, kind, stored)[name]  # type: ignore[index]
        if many:
            return [values[at] for at in range(group.start, group.stop)]
        return values[group.start] if group.stop > group.start else None

    return property(accessor)
