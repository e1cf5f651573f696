"""Values of the entry arguments from the Python arguments of a launch, checked against the signature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tilec.errors import InputError
from tilec.runtime.arguments import (
    Argument,
    ArrayArgument,
    ConstantArgument,
    ElementConstant,
    PointerArgument,
    ScalarArgument,
)
from tilec.runtime.arrays import ArrayView, is_array, view
from tilec.runtime.elements import ELEMENTS, POINTEES, element_of

# Extents and strides are tile<i32>.
MAX_EXTENT = 2**31 - 1


@dataclass
class Binding:
    """The entry arguments: `values[i]` is a number or an address, `arrays[i]` the array at that address."""

    names: list[str] = field(default_factory=list)
    values: list[int | float] = field(default_factory=list)
    arrays: dict[int, ArrayView] = field(default_factory=dict)
    plain_addresses: list[int] = field(default_factory=list)

    def ranges(self) -> list[tuple[int, int, bool]]:
        """The address, size in bytes and writability of each array."""
        return [(*array.byte_range(), array.writable) for array in self.arrays.values()]

    def integers(self) -> list[int]:
        """The values for expressions, which read integers only; others are 0."""
        return [value if isinstance(value, int) else 0 for value in self.values]


def bind(arguments: Sequence[Argument], given: Sequence[object]) -> Binding:
    """The values of the entry arguments from the Python arguments `given`, with or without the constants.

    Raises InputError, naming the argument, its requirement and the value.
    """
    runtime = [argument for argument in arguments if not isinstance(argument, ConstantArgument)]
    if len(given) not in (len(arguments), len(runtime)):
        raise InputError(f"the kernel needs {_listing(arguments)}, got {len(given)} arguments")
    binding = Binding()
    for argument, value in zip(arguments if len(given) == len(arguments) else runtime, given, strict=True):
        _bind_one(argument, value, binding)
    for argument in arguments:
        binding.names.extend(argument.value_names())
    return binding


def _listing(arguments: Sequence[Argument]) -> str:
    return f"{len(arguments)} arguments ({', '.join(argument.name for argument in arguments)})"


def _bind_one(argument: Argument, value: object, binding: Binding) -> None:
    if isinstance(argument, ConstantArgument):
        _check_constant(argument, value)
    elif isinstance(argument, ScalarArgument):
        binding.values.append(scalar(argument, value))
    elif isinstance(argument, PointerArgument):
        _bind_pointer(argument, value, binding)
    else:
        _bind_array(argument, value, binding)


def _check_constant(argument: ConstantArgument, value: object) -> None:
    """Compares a constant; an element type of the language has its name in `element`."""
    found = ElementConstant(value.element) if hasattr(value, "element") else value
    if type(found) is not type(argument.value) or found != argument.value:
        shown = found.element if isinstance(found, ElementConstant) else repr(found)
        raise InputError(f"the kernel was compiled for {argument}, got {shown}")


def _bind_pointer(argument: PointerArgument, value: object, binding: Binding) -> None:
    if is_array(value):
        array = view(value, argument.name)
        _check_element(argument, array)
        _check_alignment(argument, array.address)
        binding.arrays[len(binding.values)] = array
        binding.values.append(array.address)
        return
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InputError(f"argument '{argument.name}' needs an array or an address, got {type(value).__name__}")
    _check_alignment(argument, int(value))
    binding.plain_addresses.append(len(binding.values))
    binding.values.append(int(value))


def _bind_array(argument: ArrayArgument, value: object, binding: Binding) -> None:
    array = view(value, argument.name)
    _check_element(argument, array)
    if len(array.shape) != len(argument.shape):
        raise InputError(f"argument '{argument.name}' needs {len(argument.shape)} axes, got shape {array.shape}")
    strides = _effective_strides(argument, array)
    if strides and min(strides) < 0:
        raise InputError(f"argument '{argument.name}' needs strides that are not negative, got {array.strides}")
    _check_axes(argument, "extent", array.shape, argument.shape, argument.shape_divisors)
    _check_axes(argument, "stride", strides, argument.strides, argument.stride_divisors)
    _check_alignment(argument, array.address)
    binding.arrays[len(binding.values)] = array
    binding.values.extend((array.address, *array.shape, *strides))


def _effective_strides(argument: ArrayArgument, array: ArrayView) -> tuple[int, ...]:
    """The strides; those of axes of extent 1 and of empty arrays, which are arbitrary, become the compiled ones."""
    empty = 0 in array.shape
    return tuple(
        stride if extent > 1 and not empty else divisor if fixed is None else fixed
        for extent, stride, fixed, divisor in zip(
            array.shape, array.strides, argument.strides, argument.stride_divisors, strict=True
        )
    )


def _check_element(argument: ArrayArgument | PointerArgument, array: ArrayView) -> None:
    pointer = isinstance(argument, PointerArgument)
    if array.dtype not in (POINTEES[argument.element] if pointer else ELEMENTS[argument.element].dtypes[:1]):
        found = element_of(array.dtype) or array.dtype
        raise InputError(f"argument '{argument.name}' needs elements of {argument.element}, got {found}")


def _check_alignment(argument: ArrayArgument | PointerArgument, address: int) -> None:
    if address % argument.alignment:
        needs = f"an address that is a multiple of {argument.alignment} bytes"
        raise InputError(f"argument '{argument.name}' needs {needs}, got {address:#x}")


def _check_axes(
    argument: ArrayArgument,
    property: str,
    found: tuple[int, ...],
    fixed: tuple[int | None, ...],
    divisors: tuple[int, ...],
) -> None:
    for axis, (value, expected) in enumerate(zip(found, fixed, strict=True)):
        if expected is not None and value != expected:
            raise _axis_error(argument, property, axis, f"to be {expected}, as compiled", value)
        if value > MAX_EXTENT:
            raise _axis_error(argument, property, axis, "below 2**31", value)
    for axis, (value, divisor) in enumerate(zip(found, divisors, strict=False)):
        if value % divisor:
            raise _axis_error(argument, property, axis, f"to be a multiple of {divisor}, as compiled", value)


def _axis_error(argument: ArrayArgument, property: str, axis: int, needs: str, found: int) -> InputError:
    return InputError(f"argument '{argument.name}' needs {property} {axis} {needs}, got {found}")


def scalar(argument: ScalarArgument, value: object) -> int | float:
    """The number for a scalar argument; raises InputError if the value is not valid for it."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if argument.element == "i1":
        if not isinstance(value, bool | np.bool_):
            raise InputError(f"argument '{argument.name}' needs a bool, got {value!r}")
        return int(value)
    if argument.element[0] in "iu":
        return _integer(argument, value)
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise InputError(f"argument '{argument.name}' needs a number, got {value!r}")
    return float(value)


def _integer(argument: ScalarArgument, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InputError(f"argument '{argument.name}' needs an integer, got {value!r}")
    bits = int(argument.element[1:])
    half = 2 ** (bits - 1)
    low = 0 if argument.element[0] == "u" else -half
    if not low <= value < low + 2**bits + half * argument.signless:
        raise InputError(f"argument '{argument.name}' needs an {argument.element}, got {value}")
    return (int(value) + half) % 2**bits - half if argument.signless else int(value)
