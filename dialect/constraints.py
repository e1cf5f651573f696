"""IRDL constraints that the bindings do not name.

An alternative of `any_of` is a value or a parametrised type, never a bare class: the loader of LLVM 22 knows no other,
and a build of it with assertions aborts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias, Union

from tilec.dialect.mlir import ir

# A parameter of a type or attribute, or a value, without constraint.
Unconstrained: TypeAlias = Any
# A constraint of IRDL: a type, a parametrized type or a union of them, which type checkers do not know.
Constraint: TypeAlias = Any


class DenseArray(ir.Attribute):
    """`array<i64: 4, 2>` of any element type."""

    attr_name = "builtin.dense_array"


_ELEMENTS: dict[str, Constraint] = {
    "bf16": ir.BF16Type[()],
    "f16": ir.F16Type[()],
    "f32": ir.F32Type[()],
    "tf32": ir.FloatTF32Type[()],
    "f64": ir.F64Type[()],
    "f8E4M3FN": ir.Float8E4M3FNType[()],
    "f8E5M2": ir.Float8E5M2Type[()],
    "f8E8M0FNU": ir.Float8E8M0FNUType[()],
    "f4E2M1FN": ir.Float4E2M1FNType[()],
    "f6E2M3FN": ir.Float6E2M3FNType[()],
    "f6E3M2FN": ir.Float6E3M2FNType[()],
    **{f"i{width}": ir.IntegerType[width] for width in (1, 4, 8, 16, 32, 64)},
}


def any_of(constraints: Iterable[Constraint]) -> Constraint:
    """The disjunction of constraints."""
    return Union[tuple(constraints)]  # noqa: UP007


def number(names: Iterable[str]) -> Constraint:
    """One of the element types of these names; any type if LLVM 22 cannot name one of them."""
    listed = list(names)
    return any_of(_ELEMENTS[name] for name in listed) if _ELEMENTS.keys() >= set(listed) else Unconstrained


def keyword(keywords: Iterable[str]) -> Constraint:
    """One of the strings."""
    return any_of(ir.StringAttr[each] for each in keywords)


def keyword_or_unit(keywords: Iterable[str]) -> Constraint:
    """One of the strings, or `unit` for an absent parameter."""
    return any_of([ir.UnitAttr[()], *(ir.StringAttr[each] for each in keywords)])
