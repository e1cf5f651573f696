"""The properties of arrays, and of lists of arrays, that a kernel is specialized for."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from tilec.errors import ArgumentOverflowError, ArgumentTypeError, ArgumentValueError
from tilec.frozen import replace
from tilec.language.annotations import ArrayAnnotation, ListAnnotation
from tilec.language.datatypes import PACKED_FLOATS, DType, by_name, from_numpy
from tilec.runtime.arguments.arguments import ArrayArgument, ListArgument
from tilec.runtime.arrays import ArrayView, is_array, negative_strides_error, row_major, view
from tilec.specialization.argument_values import DEFAULT_ALIGNMENT, elements_per

_NO_ANNOTATION = ArrayAnnotation()


def array_argument(name: str, array: ArrayView, annotation: ArrayAnnotation | None) -> ArrayArgument:
    """The properties of one array; raises ArgumentTypeError or ArgumentValueError for one that kernels cannot take."""
    annotation = annotation or _NO_ANNOTATION
    element = _element(name, array)
    per_alignment = elements_per(DEFAULT_ALIGNMENT, element)
    found = _strides(array, per_alignment, annotation.index_dtype)
    _check_range(name, array.shape, found, annotation.index_dtype)
    rank = len(array.shape)
    static_shape = _dimensions(name, annotation.static_shape_dims, rank)
    static_strides = _dimensions(name, annotation.static_stride_dims, rank)
    strides = _known_strides(array.shape, found, static_strides)
    shape = tuple(extent if axis in static_shape else None for axis, extent in enumerate(array.shape))
    alignment = DEFAULT_ALIGNMENT if array.address % DEFAULT_ALIGNMENT == 0 else element.bitwidth // 8
    return ArrayArgument(
        name,
        element.element,
        shape,
        strides,
        alignment,
        _shape_divisors(shape, strides, array.shape, per_alignment),
        _divisors_of_unknown(strides, found, per_alignment),
        annotation.index_dtype.element,
    )


def _known_strides(shape: Sequence[int], strides: Sequence[int], annotated: set[int]) -> tuple[int | None, ...]:
    """The strides that are constants of the kernel: the annotated ones, without annotations those of 1, and those of 0.

    Tensor maps have no stride of 0, so a kernel must know it (docs/tensor_maps.md); one element has any stride.
    """
    return tuple(
        stride if (axis in annotated if annotated else stride == 1) or (stride == 0 and extent > 1) else None
        for axis, (extent, stride) in enumerate(zip(shape, strides, strict=True))
    )


def _shape_divisors(
    shape: Sequence[int | None], strides: Sequence[int | None], extents: Sequence[int], divisor: int
) -> tuple[int, ...]:
    """The divisors of the extents; only an extent along which elements are adjacent has one other than 1.

    A vector access is as a whole inside or outside of this extent. In a row-major matrix it is divisible if the stride
    is, so that the divisor needs no more kernels.
    """
    divisors = _divisors_of_unknown(shape, extents, divisor)
    return tuple(found if stride == 1 else 1 for found, stride in zip(divisors, strides, strict=True))


def _divisors_of_unknown(known: Sequence[int | None], values: Sequence[int], divisor: int) -> tuple[int, ...]:
    """`divisor` for each of its multiples that is not known at compile time, else 1."""
    return tuple(
        divisor if constant is None and value % divisor == 0 else 1
        for constant, value in zip(known, values, strict=True)
    )


def list_argument(name: str, values: list[object], annotation: ListAnnotation | None) -> ListArgument:
    """The properties that all arrays of a list have; their element types, ranks and annotated extents must be equal."""
    if not values:
        raise ArgumentTypeError(f"argument '{name}' is an empty list: expected at least one array")
    element_annotation = annotation.element if annotation else None
    found = []
    for index, value in enumerate(values):
        if not is_array(value):
            raise ArgumentTypeError(
                f"argument '{name}[{index}]': expected an array in a list, got {type(value).__name__}: pass "
                "numbers as a tuple or a numpy array"
            )
        found.append(array_argument(f"{name}[{index}]", view(value, f"{name}[{index}]"), element_annotation))
    common = found[0]
    for other in found[1:]:
        common = _common(common, other, element_annotation or _NO_ANNOTATION)
    return ListArgument(name, replace(common, name=f"{name}[?]"))


def _common(first: ArrayArgument, other: ArrayArgument, annotation: ArrayAnnotation) -> ArrayArgument:
    for quantity, one, two in (("element types", first.element, other.element), ("ranks", first.rank, other.rank)):
        if one != two:
            raise ArgumentTypeError(
                f"arrays of one list need equal {quantity}, '{first.name}' has {one}, '{other.name}' has {two}"
            )
    _check_static(first, other, "shape", first.shape, other.shape)
    if annotation.static_stride_dims:
        _check_static(first, other, "stride", first.strides, other.strides)
    strides = tuple(one if one == two else None for one, two in zip(first.strides, other.strides, strict=True))
    return replace(
        first,
        strides=strides,
        alignment=min(first.alignment, other.alignment),
        shape_divisors=_common_divisors(first.shape_divisors, other.shape_divisors),
        stride_divisors=_common_divisors(_divisors(first), _divisors(other)),
    )


def _divisors(array: ArrayArgument) -> tuple[int, ...]:
    """The divisors of the strides: 1 for a known stride, which another array of the list may lack.

    Tensor maps, which need a divisor, have no stride of 0.
    """
    strides = zip(array.strides, array.stride_divisors, strict=True)
    return tuple(n if known is None else 1 for known, n in strides)


def _common_divisors(first: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(gcd(one, two) or 1 for one, two in zip(first, other, strict=True))


def _check_static(
    first: ArrayArgument,
    other: ArrayArgument,
    quantity: str,
    one: tuple[int | None, ...],
    two: tuple[int | None, ...],
) -> None:
    for axis, (found, expected) in enumerate(zip(two, one, strict=True)):
        if found != expected:
            raise ArgumentValueError(
                f"the arrays of a list vary in static {quantity} at axis {axis}: '{first.name}' has {expected}, "
                f"'{other.name}' has {found}"
            )


def _element(name: str, array: ArrayView) -> DType:
    element = from_numpy(array.dtype)
    if element is None:
        packed = by_name(str(array.dtype)) in PACKED_FLOATS
        advice = ": pass their bytes, packed by ct.pack_rows, and read them by ct.packed_view" if packed else ""
        raise ArgumentTypeError(f"argument '{name}': arrays of {array.dtype} cannot be passed to a kernel{advice}")
    return element


def _check_range(name: str, shape: tuple[int, ...], strides: tuple[int, ...], index: DType) -> None:
    greatest = index.range[1]
    wider = ": annotate the parameter as ct.IndexedWithInt64" if index.bitwidth < 64 else ""
    if strides and min(strides) < 0:
        raise negative_strides_error(name, strides)
    for quantity, values in (("an extent", shape), ("a stride", strides)):
        for value in values:
            if not 0 <= value <= greatest:
                kind = ArgumentOverflowError if value > greatest else ArgumentValueError
                advice = wider if value > greatest else ""
                raise kind(f"argument '{name}': {quantity} of {value} is outside of 0 to {greatest}{advice}")


def _strides(array: ArrayView, per_alignment: int, index: DType) -> tuple[int, ...]:
    """The strides; those of an array without elements, which numpy sets to 0, are of a row-major one with some.

    So it has the kernel of other arrays, which may copy by TMA. A stride that no kernel takes, but whose dimension has
    one element, so that it means nothing, becomes one that is aligned.
    """
    if 0 in array.shape:
        return row_major(tuple(extent or per_alignment for extent in array.shape))
    greatest = index.range[1]
    return tuple(
        stride if extent > 1 or 0 <= stride <= greatest else per_alignment
        for extent, stride in zip(array.shape, array.strides, strict=True)
    )


def _dimensions(name: str, dimensions: tuple[int, ...], rank: int) -> set[int]:
    for dimension in dimensions:
        if not -rank <= dimension < rank:
            raise ArgumentValueError(
                f"argument '{name}': its annotation names dimension {dimension} of an array of rank {rank}"
            )
    chosen = {dimension % rank for dimension in dimensions}
    if len(chosen) != len(dimensions):
        raise ArgumentValueError(f"argument '{name}': its annotation names a dimension twice in {dimensions}")
    return chosen
