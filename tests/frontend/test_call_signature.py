"""The signature of a call: kinds of arguments, and strides, alignment and divisors of arrays."""

from __future__ import annotations

from typing import Annotated, Any

import ml_dtypes
import numpy as np
import pytest

import tilec as ct
from tilec.errors import InputError
from tilec.runtime.arguments.arguments import ArrayArgument, ScalarArgument
from tilec.signature import Signature


@ct.kernel
def one(x: Any) -> None:
    pass


@ct.kernel
def constant(n: ct.Constant[int]) -> None:
    pass


def array(value: Any) -> ArrayArgument:
    (argument,) = Signature.from_arguments(one, (value,))
    assert isinstance(argument, ArrayArgument)
    return argument


def aligned(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array whose address is a multiple of 64 bytes."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(dtype).reshape(shape)


def test_row_major_matrix_with_aligned_rows() -> None:
    assert array(aligned((4, 24), np.float16)) == ArrayArgument("x", "f16", (None, None), (None, 1), 16, (1, 8), (8, 1))


def test_unaligned_rows_have_stride_divisor_1() -> None:
    assert array(aligned((4, 25), np.float16)).stride_divisors == (1, 1)


def test_stride_of_0_is_a_constant() -> None:
    """Where it repeats elements: one element has any stride, and numpy gives an array without elements strides of 0."""
    row, column = aligned((1, 24), np.float16), aligned((24, 1), np.float16)
    assert array(np.broadcast_to(row, (4, 24))).strides == (0, 1)
    assert array(np.broadcast_to(column, (24, 8))).strides == (1, 0)
    assert array(np.broadcast_to(row[:, :1], (4, 8))).strides == (0, 0)
    assert array(np.broadcast_to(row, (1, 24))).strides == (None, 1)
    assert array(np.broadcast_to(row, (0, 24))).strides == (None, 1)


def test_stride_of_0_is_a_constant_beside_annotated_strides() -> None:
    @ct.kernel
    def annotated(x: Annotated[ct.Array, ct.ArrayAnnotation(static_stride_dims=(1,))]) -> None:
        pass

    rows = np.broadcast_to(aligned((2, 1, 24), np.float16), (2, 4, 24))
    (argument,) = Signature.from_arguments(annotated, (np.broadcast_to(rows, (2, 4, 24)).transpose(1, 0, 2),)).arguments
    assert isinstance(argument, ArrayArgument)
    assert argument.strides == (0, 24, None)


def test_list_knows_the_stride_of_0_that_all_its_arrays_have() -> None:
    repeated, matrix = np.broadcast_to(aligned((1, 24), np.float16), (4, 24)), aligned((4, 24), np.float16)
    text = str(Signature.from_arguments(one, ([repeated, repeated],)))
    assert text == "x: list f16[?%1,?%8] strides (0,1) align 16"
    # Tensor maps, for which the stride needs a divisor, have no stride of 0.
    for mixed in ([repeated, matrix], [matrix, repeated]):
        text = str(Signature.from_arguments(one, (mixed,)))
        assert text == "x: list f16[?%1,?%8] strides (?%1,1) align 16"


def test_stride_of_one_element_that_no_kernel_takes_means_nothing() -> None:
    row = aligned((1, 24), np.float16)
    assert array(row[::-1]) == array(row)
    assert array(np.lib.stride_tricks.as_strided(row, (1, 24), (2**40, 2))) == array(row)


def test_extent_of_adjacent_elements_has_the_divisor_of_a_vector() -> None:
    """Of 16 bytes; other extents have none, so that they do not select another kernel."""
    assert array(aligned((16, 24), np.float32)).shape_divisors == (1, 4)
    assert array(aligned((16, 24), np.float32).T).shape_divisors == (4, 1)
    assert array(aligned((16, 28), np.float16)).shape_divisors == (1, 1)
    assert array(aligned((16, 24), np.float32)[:, ::2]).shape_divisors == (1, 1)
    assert array(aligned((16, 0), np.float32)).shape_divisors == (1, 4)


def test_extent_that_is_a_constant_has_no_divisor() -> None:
    @ct.kernel
    def static(x: Annotated[ct.Array, ct.ArrayAnnotation(static_shape_dims=(1,))]) -> None:
        pass

    (argument,) = Signature.from_arguments(static, (aligned((4, 24), np.float16),))
    assert isinstance(argument, ArrayArgument)
    assert (argument.shape, argument.shape_divisors) == ((None, 24), (1, 1))


def test_column_major_matrix_has_its_unit_stride_first() -> None:
    assert array(aligned((16, 24), np.float32).T).strides == (1, None)


def test_unaligned_base_has_the_alignment_of_its_element() -> None:
    assert array(aligned((4, 24), np.float16)[:, 1:]).alignment == 2


def test_bfloat16_of_ml_dtypes() -> None:
    assert array(np.zeros(8, ml_dtypes.bfloat16)).element == "bf16"


def test_cuda_array_interface() -> None:
    class OnDevice:
        __cuda_array_interface__ = {"data": (0x7F0000000010, False), "shape": (6, 4), "typestr": "<f4", "version": 3}

    assert array(OnDevice()) == ArrayArgument("x", "f32", (None, None), (None, 1), 16, (1, 4), (4, 1))


def test_dlpack() -> None:
    class Exporter:
        def __init__(self, owner: np.ndarray) -> None:
            self.owner = owner

        def __dlpack__(self, **keywords: Any) -> Any:
            return self.owner.__dlpack__()

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.owner.__dlpack_device__()

    assert array(Exporter(aligned((3, 8), np.int32))).strides == (None, 1)


def test_annotated_dimensions_are_constants() -> None:
    @ct.kernel
    def static(x: Annotated[ct.Array, ct.ArrayAnnotation(static_shape_dims=(0, -1))]) -> None:
        pass

    (argument,) = Signature.from_arguments(static, (aligned((4, 2, 24), np.float16),))
    assert isinstance(argument, ArrayArgument)
    assert argument.shape == (4, None, 24)


@pytest.mark.parametrize(
    ("value", "element"),
    [
        (3, "i32"),
        (2**31, "i64"),
        (-(2**31), "i32"),
        (1.5, "f32"),
        (True, "i1"),
        (np.float16(1), "f16"),
        (np.uint8(1), "u8"),
    ],
)
def test_element_types_of_numbers(value: Any, element: str) -> None:
    (argument,) = Signature.from_arguments(one, (value,))
    assert isinstance(argument, ScalarArgument)
    assert argument.element == element


def test_scalar_int64_parameter_has_64_bits() -> None:
    @ct.kernel
    def wide(n: ct.ScalarInt64[int]) -> None:
        pass

    (argument,) = Signature.from_arguments(wide, (3,))
    assert isinstance(argument, ScalarArgument)
    assert argument.element == "i64"


def test_constants_are_part_of_the_signature() -> None:
    assert str(Signature.from_arguments(constant, (128,))) == "n=128"
    assert str(Signature.from_arguments(constant, (np.int64(128),))) == "n=128"


@pytest.mark.parametrize(
    ("kernel", "values", "problem"),
    [
        (one, (), r"kernel 'one' takes 1 arguments \(x\), got 0"),
        (one, (b"text",), "argument 'x': expected an array or a number, got bytes"),
        (one, (2**64,), "argument 'x' is out of range of int64"),
        (one, (np.zeros(3, np.complex64),), "argument 'x': arrays of complex64 cannot be passed to a kernel"),
        (one, (np.zeros(8)[::-1],), r"'x' needs strides that are not negative, got \(-1,\): pass a copy with positive"),
        (constant, (np.zeros(3),), "argument 'n' is a ct.Constant and takes a bool, int, float, str or element type"),
    ],
)
def test_invalid_arguments_are_rejected_by_name(kernel: Any, values: tuple[Any, ...], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Signature.from_arguments(kernel, values)
