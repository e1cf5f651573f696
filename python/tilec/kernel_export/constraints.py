"""The constraints of kernel parameters: their types, and the assumptions of an exported kernel about their values."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from tilec.errors import ArgumentTypeError, ArgumentValueError
from tilec.language.datatypes import DType, int32, int64, uint32

T = TypeVar("T")

ConstantValue: TypeAlias = bool | int | float


@dataclass(frozen=True)
class ScalarConstraint:
    """A scalar parameter.

    Args:
        dtype: its element type.

    Raises:
        TypeError: `dtype` is not an element type.

    Example:
        >>> ct.compilation.ScalarConstraint(ct.int32).dtype
        <DType 'int32'>
    """

    dtype: DType

    def __post_init__(self) -> None:
        _check_dtype(self.dtype)


@dataclass(frozen=True, init=False)
class ArrayConstraint:
    """An array parameter. Extents, strides and their divisors count elements; per dimension, None means unknown.

    Args:
        dtype: the element type.
        ndim: the number of dimensions.
        index_dtype: the type of extents and strides: int32 or int64.
        stride_lower_bound_incl: the least value of each stride, or one value for all strides.
        alias_groups: names of groups; two arrays may overlap only if they have a group in common.
        may_alias_internally: whether two indices may have the same address, as with a stride of 0.
        stride_constant: the constant value of each stride.
        shape_constant: the constant value of each extent, in calling conventions from version 2 on.
        stride_divisible_by: a divisor of each stride, or one for all.
        shape_divisible_by: a divisor of each extent, or one for all.
        base_addr_divisible_by: a divisor of the address, in bytes.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: the length of a sequence is not `ndim`, or a constant contradicts its bound or its divisor.

    Example:
        >>> ct.compilation.ArrayConstraint(
        ...     ct.float16, 2, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(),
        ...     may_alias_internally=False, stride_constant=(None, 1), stride_divisible_by=(8, 1),
        ... ).stride_divisible_by
        (8, 1)
    """

    dtype: DType
    ndim: int
    index_dtype: DType
    stride_lower_bound_incl: tuple[int | None, ...]
    alias_groups: tuple[str, ...]
    may_alias_internally: bool
    stride_constant: tuple[int | None, ...]
    shape_constant: tuple[int | None, ...]
    stride_divisible_by: tuple[int, ...]
    shape_divisible_by: tuple[int, ...]
    base_addr_divisible_by: int

    def __init__(
        self,
        dtype: DType,
        ndim: int,
        *,
        index_dtype: DType,
        stride_lower_bound_incl: Sequence[int | None] | int | None,
        alias_groups: Sequence[str],
        may_alias_internally: bool,
        stride_constant: Sequence[int | None] | None = None,
        shape_constant: Sequence[int | None] | None = None,
        stride_divisible_by: Sequence[int] | int = 1,
        shape_divisible_by: Sequence[int] | int = 1,
        base_addr_divisible_by: int = 1,
    ) -> None:
        _check_dtype(dtype)
        if not isinstance(ndim, int):
            raise ArgumentTypeError(f"expected an integer as ndim, got {ndim!r}")
        if ndim < 0:
            raise ArgumentValueError(f"expected an ndim of at least 0, got {ndim}")
        if index_dtype not in (int32, uint32, int64):
            raise ArgumentValueError(f"expected an index_dtype of int32, uint32 or int64, got {index_dtype}")
        strides = _per_dimension("stride_constant", stride_constant, ndim, None, _integer_or_none)
        shape = _per_dimension("shape_constant", shape_constant, ndim, None, _extent_or_none)
        bounds = _per_dimension("stride_lower_bound_incl", stride_lower_bound_incl, ndim, None, _integer_or_none)
        stride_divisors = _per_dimension("stride_divisible_by", stride_divisible_by, ndim, 1, _divisor)
        shape_divisors = _per_dimension("shape_divisible_by", shape_divisible_by, ndim, 1, _divisor)
        _set(
            self,
            dtype=dtype,
            ndim=ndim,
            index_dtype=index_dtype,
            stride_lower_bound_incl=_unknown_only(strides, bounds),
            alias_groups=_alias_groups(alias_groups),
            may_alias_internally=bool(may_alias_internally),
            stride_constant=strides,
            shape_constant=shape,
            stride_divisible_by=_of_unknown("stride_constant", strides, stride_divisors),
            shape_divisible_by=_of_unknown("shape_constant", shape, shape_divisors),
            base_addr_divisible_by=_address_divisor(base_addr_divisible_by),
        )


@dataclass(frozen=True, init=False)
class ListConstraint:
    """A list of arrays, which the kernel indexes at run time.

    Args:
        element: the constraint of every array.
        alias_groups: the alias groups of the table of the list.
        elements_may_alias: whether two arrays of the list may overlap.

    Raises:
        TypeError: `element` is not an ArrayConstraint.

    Example:
        >>> element = ct.compilation.ArrayConstraint(
        ...     ct.int8, 1, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(), may_alias_internally=False
        ... )
        >>> ct.compilation.ListConstraint(element, alias_groups=(), elements_may_alias=False).element.ndim
        1
    """

    element: ArrayConstraint
    alias_groups: tuple[str, ...]
    elements_may_alias: bool

    def __init__(self, element: ArrayConstraint, *, alias_groups: Sequence[str], elements_may_alias: bool) -> None:
        if not isinstance(element, ArrayConstraint):
            raise ArgumentTypeError(f"expected an ArrayConstraint as element of a list, got {element!r}")
        _set(
            self,
            element=element,
            alias_groups=_alias_groups(alias_groups),
            elements_may_alias=bool(elements_may_alias),
        )


@dataclass(frozen=True, init=False)
class TupleConstraint:
    """A tuple parameter, in calling conventions from version 2 on.

    Args:
        items: the constraints of its items; a constant stands for its ConstantConstraint, a tuple for its
            TupleConstraint.

    Raises:
        TypeError: an item is not a constraint.

    Example:
        >>> ct.compilation.TupleConstraint([ct.compilation.ScalarConstraint(ct.int32), 4]).items[1]
        ConstantConstraint(value=4)
    """

    items: tuple[ParameterConstraint, ...]

    def __init__(self, items: Sequence[ParameterConstraintLike]) -> None:
        _set(self, items=tuple(map(constraint, items)))


@dataclass(frozen=True, eq=False)
class ConstantConstraint:
    """A constant of the kernel; 1, 1.0 and True differ, and so do -0.0 and 0.0.

    Args:
        value: a bool, an int or a float.

    Raises:
        TypeError: the value has another type.

    Example:
        >>> ct.compilation.ConstantConstraint(1) == ct.compilation.ConstantConstraint(True)
        False
    """

    value: ConstantValue

    def __post_init__(self) -> None:
        if not isinstance(self.value, bool | int | float):
            raise ArgumentTypeError(f"expected a bool, an int or a float as constant, got {type(self.value).__name__}")

    def _key(self) -> tuple[type, object]:
        return type(self.value), struct.pack("=d", self.value) if isinstance(self.value, float) else self.value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConstantConstraint) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


ParameterConstraint: TypeAlias = (
    ScalarConstraint | ArrayConstraint | ListConstraint | TupleConstraint | ConstantConstraint
)
# A constant stands for its ConstantConstraint, a tuple for its TupleConstraint.
ParameterConstraintLike: TypeAlias = ParameterConstraint | ConstantValue | tuple[object, ...]


def replace_shape(array: ArrayConstraint, shape: tuple[int | None, ...], divisors: tuple[int, ...]) -> ArrayConstraint:
    """The constraint with other constant extents and divisors of extents."""
    return dataclasses.replace(array, shape_constant=shape, shape_divisible_by=divisors)


def constraint(given: object) -> ParameterConstraint:
    """The constraint that a constant or a tuple stands for; raises ArgumentTypeError for any other object."""
    if isinstance(given, ParameterConstraint):
        return given
    if isinstance(given, bool | int | float):
        return ConstantConstraint(given)
    if isinstance(given, tuple):
        return TupleConstraint(given)
    raise ArgumentTypeError(
        f"expected a constraint of ct.compilation, a bool, an int, a float or a tuple of them, got {given!r}"
    )


def alias_groups_of(
    parameters: Sequence[ParameterConstraint],
) -> Iterator[tuple[ArrayConstraint | ListConstraint, tuple[str, ...]]]:
    """Each array and list in order, with its alias groups."""
    for parameter in parameters:
        if isinstance(parameter, ArrayConstraint | ListConstraint):
            yield parameter, parameter.alias_groups
        if isinstance(parameter, ListConstraint):
            yield from alias_groups_of([parameter.element])
        if isinstance(parameter, TupleConstraint):
            yield from alias_groups_of(parameter.items)


def _set(constraint: object, **values: object) -> None:
    for name, value in values.items():
        object.__setattr__(constraint, name, value)


def _check_dtype(dtype: object) -> None:
    if not isinstance(dtype, DType):
        raise ArgumentTypeError(f"expected an element type such as ct.float32 as dtype, got {dtype!r}")
    if not isinstance(dtype.bitwidth, int) or dtype.bitwidth < 8 and not dtype.is_boolean:
        raise ArgumentTypeError(f"elements of {dtype} share bytes and cannot be arguments: pass them as uint8")


def _per_dimension(
    name: str, given: Sequence[T] | int | None, ndim: int, default: T, check: Callable[[str, object], None]
) -> tuple[T, ...]:
    """One value per dimension, checked."""
    if given is None:
        return (default,) * ndim
    values: tuple[T, ...] = (given,) * ndim if isinstance(given, int) else tuple(given)  # type: ignore[assignment]
    if len(values) != ndim:
        raise ArgumentValueError(f"'{name}' has {len(values)} values for {ndim} dimensions")
    for index, value in enumerate(values):
        check(f"{name}[{index}]", value)
    return values


def _integer_or_none(name: str, value: object) -> None:
    if value is not None and not isinstance(value, int):
        raise ArgumentTypeError(f"expected None or an integer as {name}, got {value!r}")


def _extent_or_none(name: str, value: object) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise ArgumentTypeError(f"expected None or an integer as {name}, got {value!r}")
    if value is not None and value < 0:
        raise ArgumentValueError(f"expected at least 0 as {name}, got {value}")


def _divisor(name: str, value: object) -> None:
    if not isinstance(value, int) or value <= 0:
        raise ArgumentTypeError(f"expected a positive integer as {name}, got {value!r}")


def _address_divisor(value: object) -> int:
    if not isinstance(value, int):
        raise ArgumentTypeError(f"expected an integer as base_addr_divisible_by, got {value!r}")
    if value <= 0:
        raise ArgumentValueError(f"expected a positive base_addr_divisible_by, got {value}")
    return value


def _unknown_only(constants: tuple[int | None, ...], bounds: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """The lower bounds of the strides that are not constant."""
    for index, (value, bound) in enumerate(zip(constants, bounds, strict=True)):
        if value is not None and bound is not None and value < bound:
            raise ArgumentValueError(f"stride_constant[{index}] is {value}, below its lower bound {bound}")
    return tuple(bound if value is None else None for value, bound in zip(constants, bounds, strict=True))


def _of_unknown(name: str, constants: tuple[int | None, ...], divisors: tuple[int, ...]) -> tuple[int, ...]:
    """The divisors of the values that are not constant; those of constants are 1."""
    for index, (value, divisor) in enumerate(zip(constants, divisors, strict=True)):
        if value is not None and value % divisor:
            raise ArgumentValueError(f"{name}[{index}] is {value}, which is not a multiple of {divisor}")
    return tuple(divisor if value is None else 1 for value, divisor in zip(constants, divisors, strict=True))


def _alias_groups(groups: Sequence[str]) -> tuple[str, ...]:
    if isinstance(groups, str):
        raise ArgumentTypeError(f"expected a sequence of strings as alias_groups, got the string '{groups}'")
    for index, group in enumerate(groups):
        if not isinstance(group, str):
            raise ArgumentTypeError(f"expected a string as alias_groups[{index}], got {type(group).__name__}")
    return tuple(groups)
