"""Values of the entry arguments from the Python arguments of a launch, checked against the signature."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from tilec.element_types import CODED_FLOATS
from tilec.errors import ArgumentTypeError, ArgumentValueError
from tilec.frozen import replace
from tilec.runtime.arguments.arguments import (
    Argument,
    ArrayArgument,
    ConstantArgument,
    ConstantValue,
    ElementConstant,
    ListArgument,
    MemberConstant,
    PointerArgument,
    RecordArgument,
    ScalarArgument,
    TupleArgument,
)
from tilec.runtime.arguments.elements import ELEMENTS, POINTEES, element_of
from tilec.runtime.arguments.structured_values import check_plain_tuple, fields_of
from tilec.runtime.arrays import ArrayView, address_of, is_array, negative_strides_error, view

if TYPE_CHECKING:
    from typing_extensions import TypeIs

# Extents and strides are tile<i32> or tile<i64>.
MAX_EXTENT = {"i32": 2**31 - 1, "i64": 2**63 - 1}


class Binding:
    """The entry arguments: `values[i]` is a number or an address, `arrays[i]` the array at that address.

    `tables[i]` are the arrays whose addresses are in the table of a list, which is `arrays[i]`, and `rows[i]` the words
    of each of them.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.values: list[int | float] = []
        self.arrays: dict[int, ArrayView] = {}
        self.plain_addresses: list[int] = []
        self.tables: dict[int, tuple[ArrayView, ...]] = {}
        self.rows: dict[int, np.ndarray] = {}

    def named_arrays(self) -> dict[str, ArrayView]:
        """The arrays of the caller by name, those of lists included."""
        found: dict[str, ArrayView] = {}
        for index, array in self.arrays.items():
            listed = self.tables.get(index)
            paths = [self.names[index]] if listed is None else [f"{self.names[index]}[{i}]" for i in range(len(listed))]
            found.update(zip(paths, (array,) if listed is None else listed, strict=True))
        return found

    def ranges(self) -> list[tuple[int, int, bool]]:
        """The address, size in bytes and writability of each array and of the tables of lists."""
        arrays = [*self.named_arrays().values(), *(self.arrays[index] for index in self.tables)]
        return [(*array.byte_range(), array.writable) for array in arrays]

    def names_of_row(self, index: int, row: int) -> list[str]:
        """The names of the words of an array of the list whose table is entry argument `index`."""
        array = f"{self.names[index]}[{row}]"
        rank = (self.rows[index].shape[1] - 1) // 2
        return [array, *(f"{array}.{kind}[{axis}]" for kind in ("shape", "strides") for axis in range(rank))]

    def integers(self) -> list[int]:
        """The values for expressions, which read integers only; others are 0."""
        return [value if isinstance(value, int) else 0 for value in self.values]


def bind(arguments: Sequence[Argument], given: Sequence[object]) -> Binding:
    """The values of the entry arguments from the Python arguments `given`, with or without the constants.

    Raises ArgumentTypeError or ArgumentValueError, naming the argument, its requirement and the value.
    """
    runtime = [argument for argument in arguments if not isinstance(argument, ConstantArgument)]
    if len(given) not in (len(arguments), len(runtime)):
        raise ArgumentTypeError(f"the kernel needs {_listing(arguments)}, got {len(given)} arguments")
    binding = Binding()
    for argument, value in zip(arguments if len(given) == len(arguments) else runtime, given, strict=True):
        _bind_one(argument, value, binding)
    for argument in arguments:
        binding.names.extend(argument.value_names())
    return binding


def _listing(arguments: Sequence[Argument]) -> str:
    return f"{len(arguments)} arguments ({', '.join(argument.name for argument in arguments)})"


def _bind_one(argument: Argument, value: object, binding: Binding) -> None:
    check_plain_tuple(argument.name, value)
    if isinstance(argument, ConstantArgument):
        _check_constant(argument, value)
    elif isinstance(argument, ScalarArgument):
        binding.values.append(scalar(argument, value))
    elif isinstance(argument, PointerArgument):
        _bind_pointer(argument, value, binding)
    elif isinstance(argument, ListArgument):
        _bind_list(argument, value, binding)
    elif isinstance(argument, TupleArgument):
        _bind_tuple(argument, value, binding)
    elif isinstance(argument, RecordArgument):
        _bind_record(argument, value, binding)
    else:
        _bind_array(argument, value, binding)


def _bind_tuple(argument: TupleArgument, value: object, binding: Binding) -> None:
    if not isinstance(value, tuple | list) or len(value) != len(argument.items):
        found = f"one of {len(value)}" if isinstance(value, tuple | list) else type(value).__name__
        raise ArgumentTypeError(f"argument '{argument.name}' needs a tuple of {len(argument.items)}, got {found}")
    for item, found in zip(argument.items, value, strict=True):
        _bind_one(item, found, binding)


def _bind_record(argument: RecordArgument, value: object, binding: Binding) -> None:
    fields = fields_of(value)
    names = argument.field_names()
    if fields is None or tuple(fields) != names:
        expected = f"a {argument.class_name} with the fields {', '.join(names)}"
        raise ArgumentTypeError(f"argument '{argument.name}' needs {expected}, got {type(value).__name__}")
    for item, found in zip(argument.items, fields.values(), strict=True):
        _bind_one(item, found, binding)


def _bind_list(argument: ListArgument, value: object, binding: Binding) -> None:
    """Binds the table of the list, and its arrays, which the kernel reaches through the table."""
    if not isinstance(value, list | tuple):
        raise ArgumentTypeError(f"argument '{argument.name}' needs a list of arrays, got {type(value).__name__}")
    rows, listed = [], []
    for index, item in enumerate(value):
        element = replace(argument.element, name=f"{argument.name}[{index}]")
        array, words = _array_words(element, item)
        rows.append(words)
        listed.append(array)
    table = np.array(rows, np.uint64).reshape(len(rows), 1 + 2 * argument.element.rank)
    table.flags.writeable = False
    binding.tables[len(binding.values)] = tuple(listed)
    binding.rows[len(binding.values)] = table
    binding.arrays[len(binding.values)] = view(table, argument.name)
    binding.values.extend((address_of(table), len(rows)))


def _check_constant(argument: ConstantArgument, value: object) -> None:
    """Compares a constant; numbers are equal if their types and their texts are, which distinguishes -0.0 and 0.0."""
    found = _constant(value)
    if isinstance(found, MemberConstant) and isinstance(argument.value, MemberConstant):
        equal = found.name == argument.value.name
    else:
        equal = type(found) is type(argument.value) and repr(found) == repr(argument.value)
    if not equal:
        shown = ConstantArgument("", found).described()[1:] if _is_constant(found) else repr(value)
        raise ArgumentValueError(f"the kernel was compiled for {argument}, got {shown}")


def _is_constant(value: object) -> TypeIs[ConstantValue]:
    return value is None or isinstance(value, bool | int | float | str | ElementConstant | MemberConstant)


def _constant(value: object) -> object:
    """The representation of a constant; element types are those of the language, of numpy and of torch."""
    if isinstance(value, Enum):
        return MemberConstant.of(value)
    if isinstance(value, np.generic):
        return value.item()
    if hasattr(value, "element"):
        return ElementConstant(value.element)
    if isinstance(value, np.dtype) or isinstance(value, type) and issubclass(value, np.generic):
        return ElementConstant(element_of(np.dtype(value)) or str(value))
    if type(value).__module__ == "torch" and type(value).__name__ == "dtype":
        return ElementConstant(_element_of_torch(str(value).removeprefix("torch.")))
    return value


def _element_of_torch(name: str) -> str:
    # Imported here because few programs need it.
    import ml_dtypes

    scalar = getattr(ml_dtypes, name, None) or getattr(np, f"{name}_" if name == "bool" else name, None)
    return (element_of(np.dtype(scalar)) if scalar is not None else None) or name


def _bind_pointer(argument: PointerArgument, value: object, binding: Binding) -> None:
    if is_array(value):
        array = view(value, argument.name)
        _check_element(argument, array)
        _check_alignment(argument, array.address)
        binding.arrays[len(binding.values)] = array
        binding.values.append(array.address)
        return
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ArgumentTypeError(f"argument '{argument.name}' needs an array or an address, got {type(value).__name__}")
    _check_alignment(argument, int(value))
    binding.plain_addresses.append(len(binding.values))
    binding.values.append(int(value))


def _bind_array(argument: ArrayArgument, value: object, binding: Binding) -> None:
    array, words = _array_words(argument, value)
    binding.arrays[len(binding.values)] = array
    binding.values.extend(words)


def _array_words(argument: ArrayArgument, value: object) -> tuple[ArrayView, tuple[int, ...]]:
    """The array, and its address, extents and strides; raises an error if it does not match the argument."""
    array = view(value, argument.name)
    _check_element(argument, array)
    if len(array.shape) != len(argument.shape):
        raise ArgumentTypeError(f"argument '{argument.name}' needs {len(argument.shape)} axes, got shape {array.shape}")
    strides = _effective_strides(argument, array)
    if strides and min(strides) < 0:
        raise negative_strides_error(argument.name, array.strides)
    _check_axes(argument, "extent", array.shape, argument.shape, argument.shape_divisors)
    _check_axes(argument, "stride", strides, argument.strides, argument.stride_divisors)
    _check_alignment(argument, array.address)
    return array, (array.address, *array.shape, *strides)


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
    if array.dtype not in (POINTEES[argument.element].dtypes if pointer else ELEMENTS[argument.element].dtypes[:1]):
        found = element_of(array.dtype) or array.dtype
        raise ArgumentTypeError(f"argument '{argument.name}' needs elements of {argument.element}, got {found}")


def _check_alignment(argument: ArrayArgument | PointerArgument, address: int) -> None:
    if address % argument.alignment:
        needs = f"an address that is a multiple of {argument.alignment} bytes"
        raise ArgumentValueError(f"argument '{argument.name}' needs {needs}, got {address:#x}")


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
        if value > MAX_EXTENT[argument.index]:
            raise _axis_error(argument, property, axis, f"below 2**{MAX_EXTENT[argument.index].bit_length()}", value)
    for axis, (value, divisor) in enumerate(zip(found, divisors, strict=False)):
        if value % divisor:
            raise _axis_error(argument, property, axis, f"to be a multiple of {divisor}, as compiled", value)


def _axis_error(argument: ArrayArgument, property: str, axis: int, needs: str, found: int) -> ArgumentValueError:
    return ArgumentValueError(f"argument '{argument.name}' needs {property} {axis} {needs}, got {found}")


def scalar(argument: ScalarArgument, value: object) -> int | float:
    """The number for a scalar argument; raises ArgumentTypeError or ArgumentValueError if the value is invalid."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if argument.element == "i1":
        if not isinstance(value, bool | np.bool_):
            raise ArgumentTypeError(f"argument '{argument.name}' needs a bool, got {value!r}")
        return int(value)
    if argument.element[0] in "iu":
        return _integer(argument, value)
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise ArgumentTypeError(f"argument '{argument.name}' needs a number, got {value!r}")
    return _rounded(float(value), argument.element) if argument.element in _ROUNDED else float(value)


# Tile IR 5.1.3: floats of 8 bits saturate.
_ROUNDED = ("tf32", *CODED_FLOATS)


def _rounded(value: float, element: str) -> float:
    # Imported here because few launches need it.
    from tilec.runtime.interpret.numbers.float_format import FORMATS
    from tilec.runtime.interpret.numbers.rounding import NEAREST_EVEN, round_to

    return float(round_to(np.asarray(value), FORMATS[element], NEAREST_EVEN))


def _integer(argument: ScalarArgument, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ArgumentTypeError(f"argument '{argument.name}' needs an integer, got {value!r}")
    bits = int(argument.element[1:])
    half = 2 ** (bits - 1)
    low = 0 if argument.element[0] == "u" else -half
    if not low <= value < low + 2**bits + half * argument.signless:
        raise ArgumentValueError(f"argument '{argument.name}' needs an {argument.element}, got {value}")
    return (int(value) + half) % 2**bits - half if argument.signless else int(value)
