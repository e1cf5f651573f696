"""Python arguments are bound to values of entry arguments; invalid ones are refused by name."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilec
from tilec.errors import InputError
from tilec.runtime.arguments.arguments import (
    ArrayArgument,
    ConstantArgument,
    ElementConstant,
    ListArgument,
    PointerArgument,
    ScalarArgument,
    TupleArgument,
    from_text,
    to_text,
)
from tilec.runtime.arguments.binding import bind

MATRIX = ArrayArgument("A", "f16", (None, 8), (None, 1), alignment=16, stride_divisors=(8, 1))
ARGUMENTS = (MATRIX, ScalarArgument("x", "f32"), ConstantArgument("TM", 128))


def matrix(rows: int = 4) -> np.ndarray:
    return np.zeros((rows, 8), np.float16)


def broadcast() -> np.ndarray:
    """Rows that are one row of memory, one more than an index of 32 bits counts."""
    return np.broadcast_to(matrix(1), (2**31, 8))


def test_array_is_bound_to_its_address_extents_and_strides() -> None:
    array = matrix()
    binding = bind(ARGUMENTS, [array, 2])
    assert binding.values == [array.ctypes.data, 4, 8, 8, 1, 2.0]
    assert binding.names == ["A", "A.shape[0]", "A.shape[1]", "A.strides[0]", "A.strides[1]", "x"]
    assert binding.ranges() == [(array.ctypes.data, 64, True)]


def test_constants_are_optional_and_must_match() -> None:
    assert bind(ARGUMENTS, [matrix(), 2, 128]).values[-1] == 2.0
    with pytest.raises(InputError, match="compiled for TM=128, got 64"):
        bind(ARGUMENTS, [matrix(), 2, 64])


def test_read_only_memory_is_not_writable() -> None:
    array = matrix()
    array.flags.writeable = False
    assert bind(ARGUMENTS, [array, 2]).ranges() == [(array.ctypes.data, 64, False)]


def test_range_of_a_view_ends_with_its_last_element() -> None:
    whole = np.zeros((4, 16), np.float16)
    assert bind(ARGUMENTS, [whole[:, :8], 2]).ranges() == [(whole.ctypes.data, 3 * 32 + 16, True)]


def misaligned() -> np.ndarray:
    return np.zeros(40, np.float16)[1:33].reshape(4, 8)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((4, 8), np.float32), "'A' needs elements of f16, got f32"),
        (np.zeros((4, 8), ml_dtypes.bfloat16), "'A' needs elements of f16, got bf16"),
        (np.zeros((4, 8), ">f2"), "'A' needs elements of f16, got >f2"),
        (np.zeros(8, np.float16), r"'A' needs 2 axes, got shape \(8,\)"),
        (np.zeros((4, 16), np.float16), "'A' needs extent 1 to be 8, as compiled, got 16"),
        (np.zeros((8, 4), np.float16).T, "'A' needs stride 1 to be 1, as compiled, got 4"),
        (np.zeros((4, 12), np.float16)[:, :8], "'A' needs stride 0 to be a multiple of 8, as compiled, got 12"),
        (matrix()[::-1], r"'A' needs strides that are not negative, got \(-8, 1\): pass a copy with positive strides"),
        (misaligned(), "'A' needs an address that is a multiple of 16 bytes"),
        (broadcast(), r"'A' needs extent 0 below 2\*\*31, got 2147483648"),
        ([[1.0]], r"'A' needs an array \(numpy, DLPack or __cuda_array_interface__\), got list"),
    ],
)
def test_array_that_does_not_match_the_signature_is_refused(array: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        bind(ARGUMENTS, [array, 2])


def test_wrong_number_of_arguments_is_refused() -> None:
    with pytest.raises(InputError, match=r"needs 3 arguments \(A, x, TM\), got 1 arguments"):
        bind(ARGUMENTS, [matrix()])


def test_pointer_argument_is_an_array_or_an_address() -> None:
    pointer = [PointerArgument("p", "i8", alignment=4)]
    array = np.zeros(16, np.uint8)
    assert bind(pointer, [array]).arrays[0].byte_range() == (array.ctypes.data, 16)
    given = bind(pointer, [array.ctypes.data])
    assert (given.values, given.plain_addresses, given.ranges()) == ([array.ctypes.data], [0], [])
    with pytest.raises(InputError, match="'p' needs an address that is a multiple of 4 bytes"):
        bind(pointer, [array.ctypes.data + 1])
    with pytest.raises(InputError, match="'p' needs an array or an address, got str"):
        bind(pointer, ["0x10"])


@pytest.mark.parametrize(
    ("element", "value", "stored"),
    [
        ("i32", -1, -1),
        ("i64", 2**40, 2**40),
        ("u8", 255, 255),
        ("i1", True, 1),
        ("f32", 3, 3.0),
        ("f16", np.float16(0.5), 0.5),
    ],
)
def test_scalar(element: str, value: Any, stored: float) -> None:
    assert bind([ScalarArgument("x", element)], [value]).values == [stored]


@pytest.mark.parametrize(
    ("element", "value", "message"),
    [
        ("i32", 2**31, "'x' needs an i32, got 2147483648"),
        ("u8", -1, "'x' needs an u8, got -1"),
        ("i32", 1.0, "'x' needs an integer, got 1.0"),
        ("i32", True, "'x' needs an integer, got True"),
        ("i1", 1, "'x' needs a bool, got 1"),
        ("f32", "1", "'x' needs a number, got '1'"),
    ],
)
def test_scalar_out_of_range_or_of_another_type_is_refused(element: str, value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        bind([ScalarArgument("x", element)], [value])


def test_constant_element_type_is_compared_by_name() -> None:
    constant = ConstantArgument("dtype", ElementConstant("f16"))
    assert from_text(to_text((constant,)), "test") == (constant,)
    bind((constant,), [tilec.float16])
    with pytest.raises(InputError, match="the kernel was compiled for dtype=f16, got bf16"):
        bind((constant,), [tilec.bfloat16])
    with pytest.raises(InputError, match="the kernel was compiled for dtype=f16, got 'f16'"):
        bind((constant,), ["f16"])


@pytest.mark.parametrize(
    ("shape", "strides", "bound"),
    [((1, 8), (3, 1), (8, 1)), ((1, 8), (-8, 1), (8, 1)), ((0, 8), (0, 0), (8, 1)), ((4, 8), (24, 1), (24, 1))],
)
def test_strides_of_axes_with_fewer_than_two_elements_are_ignored(
    shape: tuple[int, int], strides: tuple[int, int], bound: tuple[int, int]
) -> None:
    memory = np.zeros(256, np.float16)
    start = -memory.ctypes.data % 16 // 2
    array = np.lib.stride_tricks.as_strided(memory[start:], shape, [2 * stride for stride in strides])
    assert bind((MATRIX,), [array]).values == [array.ctypes.data, *shape, *bound]


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        (TupleArgument("pair", ARGUMENTS[:2]), (1,), "'pair' needs a tuple of 2, got one of 1"),
        (TupleArgument("pair", ARGUMENTS[:2]), 1, "'pair' needs a tuple of 2, got int"),
        (ListArgument("list", MATRIX), matrix(), "'list' needs a list of arrays, got ndarray"),
    ],
)
def test_structured_argument_of_another_kind_is_refused(argument: Any, value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        bind((argument,), [value])


def test_items_of_a_record_have_its_name() -> None:
    item = '{"name": "other.x", "kind": "scalar", "element": "f32"}'
    record = f'{{"name": "pair", "kind": "record", "class": "Pair", "items": [{item}]}}'
    with pytest.raises(InputError, match=r"'arguments\[0\].items\[0\].name' needs a name that starts with 'pair.'"):
        from_text(f'{{"arguments": [{record}]}}', "signature")
