"""Converts the arguments of signatures to constraints, and constraints to arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tilec.errors import ArgumentTypeError, ArgumentValueError, UnsupportedError
from tilec.kernel_export.calling_convention import CONSTANT_EXTENTS, CallingConvention
from tilec.kernel_export.constraints import (
    ArrayConstraint,
    ConstantConstraint,
    ListConstraint,
    ParameterConstraint,
    ScalarConstraint,
    TupleConstraint,
    replace_shape,
)
from tilec.language.datatypes import uint32
from tilec.language.parameter_annotations import ParameterAnnotation
from tilec.runtime.arguments.arguments import (
    Argument,
    ArrayArgument,
    ConstantArgument,
    ListArgument,
    ScalarArgument,
    TupleArgument,
)
from tilec.runtime.arrays import view
from tilec.signature import Signature, dtype_named
from tilec.specialization.argument_values import DEFAULT_ALIGNMENT

if TYPE_CHECKING:
    from tilec.language.kernel import Kernel


def constraints_of_call(
    kernel: Kernel, values: Sequence[Any], convention: CallingConvention
) -> tuple[ParameterConstraint, ...]:
    """The constraints that the arguments of a launch fulfil.

    They are those of its signature; with a convention that has constant extents, extents of 1 are constant too, unless
    an annotation selects the constant extents.
    Raises ArgumentTypeError for an argument that no constraint describes.
    """
    signature = Signature.from_arguments(kernel, values)
    constraints = [_constraint(argument, value) for argument, value in zip(signature.arguments, values, strict=True)]
    if convention.version < CONSTANT_EXTENTS:
        return tuple(constraints)
    names = zip(constraints, kernel.parameters, values, strict=True)
    return tuple(_with_extents_of_one(found, value, kernel.annotations[name]) for found, name, value in names)


def _with_extents_of_one(
    found: ParameterConstraint, value: Any, annotation: ParameterAnnotation
) -> ParameterConstraint:
    if isinstance(found, TupleConstraint):
        items = enumerate(zip(found.items, value, strict=True))
        return TupleConstraint([_with_extents_of_one(item, of, annotation.item(index)) for index, (item, of) in items])
    if not isinstance(found, ArrayConstraint) or annotation.array and annotation.array.static_shape_dims:
        return found
    extents = zip(found.shape_constant, view(value, "").shape, strict=True)
    shape = tuple(1 if extent == 1 else constant for constant, extent in extents)
    divisors = zip(shape, found.shape_divisible_by, strict=True)
    return replace_shape(found, shape, tuple(n if constant is None else 1 for constant, n in divisors))


def _constraint(argument: Argument, value: Any) -> ParameterConstraint:
    if isinstance(argument, ArrayArgument):
        return _array(argument, [value])
    if isinstance(argument, ListArgument):
        return ListConstraint(_array(argument.element, value), alias_groups=(), elements_may_alias=False)
    if isinstance(argument, ScalarArgument):
        return ScalarConstraint(dtype_named(argument.element))
    if isinstance(argument, TupleArgument):
        return TupleConstraint([_constraint(item, found) for item, found in zip(argument.items, value, strict=True)])
    if isinstance(argument, ConstantArgument) and isinstance(argument.value, bool | int | float):
        return ConstantConstraint(argument.value)
    raise ArgumentTypeError(
        f"argument '{argument.name}': calling conventions have no {type(value).__name__}: expected an array, a number, "
        "a tuple, or a list of arrays"
    )


def _array(argument: ArrayArgument, arrays: Iterable[Any]) -> ArrayConstraint:
    return ArrayConstraint(
        dtype_named(argument.element),
        argument.rank,
        index_dtype=dtype_named(argument.index),
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=any(map(_overlaps_itself, arrays)),
        stride_constant=argument.strides,
        shape_constant=argument.shape,
        stride_divisible_by=argument.stride_divisors,
        shape_divisible_by=argument.shape_divisors,
        base_addr_divisible_by=DEFAULT_ALIGNMENT if argument.alignment == DEFAULT_ALIGNMENT else 1,
    )


def _overlaps_itself(value: Any) -> bool:
    """Whether two indices of an array may have the same address."""
    array = view(value, "")
    end = 1
    for stride, extent in sorted(zip(array.strides, array.shape, strict=True)):
        if extent > 1 and stride < end:
            return True
        end = max(end, (extent - 1) * stride + end)
    return False


def arguments_of(kernel: Kernel, parameters: Sequence[ParameterConstraint]) -> tuple[Argument, ...]:
    """The arguments for the constraints of a signature, checked against the annotations of the kernel.

    Raises ArgumentTypeError for a constraint that contradicts an annotation, UnsupportedError for an assumption that
    kernels of tilec do not keep.
    """
    expected, given = len(kernel.parameters), len(parameters)
    if expected != given:
        raise ArgumentTypeError(f"kernel '{kernel.name}' has {expected} parameters, the signature has {given}")
    return tuple(
        _argument(name, parameter, kernel.annotations[name])
        for name, parameter in zip(kernel.parameters, parameters, strict=True)
    )


def _argument(name: str, parameter: ParameterConstraint, annotation: ParameterAnnotation) -> Argument:
    annotation.check(name)
    if isinstance(parameter, TupleConstraint):
        count = len(parameter.items)
        if annotation.items is not None and len(annotation.items) != count:
            raise ArgumentTypeError(
                f"parameter '{name}' is a tuple of {len(annotation.items)}, the signature's of {count}"
            )
        items = enumerate(parameter.items)
        return TupleArgument(
            name, tuple(_argument(f"{name}[{index}]", item, annotation.item(index)) for index, item in items)
        )
    if isinstance(parameter, ConstantConstraint):
        return ConstantArgument(name, parameter.value)
    if annotation.constant:
        found = type(parameter).__name__
        raise ArgumentTypeError(f"parameter '{name}' is a ct.Constant: expected a ConstantConstraint, got {found}")
    if isinstance(parameter, ScalarConstraint):
        return ScalarArgument(name, parameter.dtype.element)
    if isinstance(parameter, ListConstraint):
        _refuse_aliases(name, parameter)
        # Accesses to the arrays of one list keep their order, so they may overlap.
        return ListArgument(name, _array_argument(f"{name}[?]", parameter.element))
    return _array_argument(name, parameter)


def _array_argument(name: str, array: ArrayConstraint) -> ArrayArgument:
    _check_supported(name, array)
    element_bytes = max(1, array.dtype.bitwidth // 8)
    if element_bytes % array.base_addr_divisible_by and array.base_addr_divisible_by % element_bytes:
        raise ArgumentValueError(
            f"parameter '{name}': base_addr_divisible_by {array.base_addr_divisible_by} is not a multiple of the "
            f"{element_bytes} bytes of an element"
        )
    return ArrayArgument(
        name,
        array.dtype.element,
        array.shape_constant,
        array.stride_constant,
        max(element_bytes, array.base_addr_divisible_by),
        array.shape_divisible_by,
        array.stride_divisible_by,
        array.index_dtype.element,
    )


def _check_supported(name: str, array: ArrayConstraint) -> None:
    _refuse_aliases(name, array)
    if array.index_dtype is uint32:
        raise UnsupportedError(f"parameter '{name}': extents and strides of uint32 are not supported: use int64")
    for axis, (stride, bound) in enumerate(zip(array.stride_constant, array.stride_lower_bound_incl, strict=True)):
        if (bound if stride is None else stride) is None or (stride or 0) < 0 or (bound or 0) < 0:
            raise UnsupportedError(
                f"parameter '{name}': stride {axis} may be negative, which is not supported: set "
                "stride_lower_bound_incl=0"
            )


def _refuse_aliases(name: str, parameter: ArrayConstraint | ListConstraint) -> None:
    if parameter.alias_groups:
        raise UnsupportedError(
            f"parameter '{name}': arrays that overlap are not supported: leave alias_groups empty, or pass one array"
        )
