"""Field declarations of operations: operands, results, attributes, regions.

An annotation of an operation class is one of

    lhs: Operand[FloatTile]                 exactly one
    mask: Operand[BoolTile] | None          at most one
    tokens: Sequence[Operand[Token]]        any number, all of one type
    inits: Mixed[Operand[AnyType], 256]     any number of any types, in at most 256 runs of equal type
    dim: Int64                              a required attribute
    memory_scope: Scope | None              an optional attribute
    rounding_mode: Rounding = "zero"        an attribute with a default: always stored
    flush_to_zero: Flag                     a unit attribute, present or absent
    body: Region
    else_: OptionalRegion
    fast_acc: Flag = since("13.3")          a field that is younger than its operation

A name that Python reserves takes a trailing underscore (`from_` declares the field `from`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import groupby
from typing import Any, get_args, get_origin

from tilec.dialect.cache import integers_of
from tilec.dialect.constraints import Constraint, Unconstrained
from tilec.dialect.mlir import ir

# In IRDL all elements of a variadic group have one type, so a group of mixed types is declared as several variadic
# groups, one per run of equal types. This many runs cost 1 us per verification and 800 characters of the generic form.
MANY_RUNS = 256

ONE, OPTIONAL, UNIFORM, MIXED = "one", "optional", "uniform", "mixed"


@dataclass(frozen=True)
class TypeSet:
    """A set of types and its description in diagnostics."""

    name: str
    description: str
    contains: Callable[[ir.Type], bool]
    irdl: Constraint = Unconstrained
    # The spelling of the only type in the set, which assembly leaves out.
    only: str = ""


@dataclass(frozen=True)
class TypeVariable:
    """A type of a set, equal for all uses of the variable in an operation."""

    name: str
    bound: TypeSet


@dataclass(frozen=True)
class ValueField:
    """A group of operands or results."""

    kind: str
    constraint: TypeSet | TypeVariable
    arity: str = ONE
    name: str = ""
    since: str = ""
    # The number of runs of equal type in a mixed group.
    runs: int = 1

    def __or__(self, none: None) -> ValueField:
        return replace(self, arity=OPTIONAL)

    @property
    def set(self) -> TypeSet:
        return self.constraint.bound if isinstance(self.constraint, TypeVariable) else self.constraint

    @property
    def width(self) -> int:
        """The number of entries this group has in the segment attribute."""
        return self.runs

    def lengths(self, types: Sequence[ir.Type]) -> int | tuple[int, ...]:
        """The number of values in the group, or in each run of a mixed group."""
        return run_lengths(types) if self.arity == MIXED else len(types)


def run_lengths(types: Sequence[ir.Type]) -> tuple[int, ...]:
    """The lengths of the runs of equal types."""
    return tuple(len(list(run)) for _, run in groupby(types))


class Operand:
    def __class_getitem__(cls, constraint: TypeSet | TypeVariable) -> ValueField:
        return ValueField("operand", constraint)


class Result:
    def __class_getitem__(cls, constraint: TypeSet | TypeVariable) -> ValueField:
        return ValueField("result", constraint)


class Mixed:
    def __class_getitem__(cls, field_and_runs: tuple[ValueField, int]) -> ValueField:
        field, runs = field_and_runs
        return replace(field, arity=MIXED, runs=runs)


class AttributeKind(Enum):
    """What an attribute field stores; the value is its description."""

    KEYWORD = "keyword"
    FLAG = "flag"
    INTEGER_32 = "i32"
    INTEGER_64 = "i64"
    STRING = "string"
    SYMBOL = "symbol"
    BOOLEAN = "boolean"
    TYPE = "type"
    PREDICATE = "predicate"
    ELEMENTS = "constant elements"
    DICTIONARY = "a dictionary"
    ARRAY = "an array"
    INTEGERS_32 = "an array of 32-bit integers"
    BOOLEANS = "an array of booleans"

    @property
    def bits(self) -> int:
        """The width of an integer; raises KeyError for other kinds."""
        return {AttributeKind.INTEGER_32: 32, AttributeKind.INTEGER_64: 64}[self]


@dataclass(frozen=True)
class AttributeField:
    """An attribute, its conversions from and to Python, and `problem`, which checks a stored one."""

    to_attribute: Callable[[Any], ir.Attribute]
    to_python: Callable[[ir.Attribute], object]
    problem: Callable[[ir.Attribute], str | None]
    kind: AttributeKind
    irdl: Constraint = Unconstrained
    keywords: tuple[str, ...] = ()
    # All keywords of the enumeration in numeric order.
    numbering: tuple[str, ...] = ()
    # The enumeration's name in the generic form of NVIDIA's tools, as in #cuda_tile.rounding<zero>.
    enumeration: str = ""
    required: bool = True
    default: object = None
    name: str = ""
    since: str = ""

    def __or__(self, none: None) -> AttributeField:
        return replace(self, required=False)


@dataclass(frozen=True)
class RegionField:
    """A region; one that is not required may have no block."""

    required: bool = True
    name: str = ""


Region = RegionField()
# A region that may have no block.
OptionalRegion = RegionField(required=False)

Field = ValueField | AttributeField | RegionField


@dataclass(frozen=True)
class Since:
    """The version of Tile IR that added a field to its operation, and the field's default."""

    version: str
    default: object = None


def since(version: str, default: Any = None) -> Any:
    """Declares, as the value of an annotated field, the version of Tile IR ("13.3") that added the field."""
    return Since(version, default)


def field_of(name: str, annotation: object, default: object) -> Field:
    """The field declared by an annotation; raises TypeError if it does not declare one."""
    name = name.removesuffix("_")
    if isinstance(default, Since):
        field = field_of(name, annotation, default.default)
        if isinstance(field, RegionField):
            raise TypeError(f"region '{name}' cannot be younger than its operation")
        return replace(field, since=default.version)
    if get_origin(annotation) is Sequence:
        return replace(get_args(annotation)[0], arity=UNIFORM, name=name)
    if isinstance(annotation, AttributeField) and default is not None:
        return replace(annotation, default=default, name=name)
    if isinstance(annotation, ValueField | AttributeField | RegionField):
        return replace(annotation, name=name)
    raise TypeError(f"'{name}' declares neither operand, result, attribute nor region: {annotation!r}")


def group_sizes(fields: tuple[ValueField, ...], segments: ir.Attribute | None) -> list[int] | None:
    """The number of values of each field by the segment attribute, or None if the attribute does not fit the fields."""
    if segments is None:
        return [1] * len(fields) if all(field.arity == ONE for field in fields) else None
    stored = integers_of(segments) if isinstance(segments, ir.DenseI32ArrayAttr) else ()
    if len(stored) != sum(field.width for field in fields) or min(stored, default=0) < 0:
        return None
    sizes, at = [], 0
    for field in fields:
        sizes.append(sum(stored[at : at + field.width]))
        at += field.width
    return sizes
