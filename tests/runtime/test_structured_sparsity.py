"""ct.compress_2_4: kept elements and metadata by hand, against a decoder, and the matrices that it refuses."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilec as ct

TYPES = ["float16", "bfloat16", "float32", "float8_e4m3fn", "float8_e5m2", "int8", "uint8"]


def named(name: str) -> np.dtype:
    return np.dtype(getattr(np, name, None) or getattr(ml_dtypes, name))


def group_of(dtype: np.dtype) -> int:
    return 2 if dtype == np.float32 else 4


def nibble(metadata: np.ndarray, dtype: np.dtype, row: int, group: int) -> int:
    """The nibble of a group, at the word and the bits that the README of tilex documents."""
    word, within = divmod(group, 8)
    if dtype.itemsize == 1:
        return int(metadata[row, word]) >> 4 * within & 15
    block, in_block = divmod(row, 16)
    half, in_half = divmod(in_block, 8)
    quarter, last = divmod(within, 4)
    return int(metadata[16 * block + 8 * quarter + in_half, word]) >> 16 * half + 4 * last & 15


def decompressed(values: np.ndarray, metadata: np.ndarray) -> np.ndarray:
    rows, kept = values.shape
    size = group_of(values.dtype)
    dense = np.zeros((rows, 2 * kept), values.dtype)
    for row in range(rows):
        for group in range(2 * kept // size):
            code = nibble(metadata, values.dtype, row, group)
            if size == 2:
                dense[row, 2 * group + {0b0100: 0, 0b1110: 1}[code]] = values[row, group]
                continue
            first, second = code & 3, code >> 2
            assert first < second
            dense[row, 4 * group + first], dense[row, 4 * group + second] = values[row, 2 * group : 2 * group + 2]
    return dense


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("shape", [(1, 4), (16, 64), (130, 136), (33, 12), (0, 8), (5, 0)], ids=str)
def test_decompression_gives_the_matrix(name: str, shape: tuple[int, int]) -> None:
    random, dtype = np.random.default_rng(1), named(name)
    size = group_of(dtype)
    values = random.integers(0, 9, (shape[0], shape[1] // size, size))
    order = random.random(values.shape).argsort(axis=-1)
    dense = np.where(order < size // 2, values, 0).reshape(shape).astype(dtype)
    kept, metadata = ct.compress_2_4(dense)
    assert (kept.shape, kept.dtype) == ((shape[0], shape[1] // 2), dtype)
    words = -(-shape[1] // (8 * size))
    assert metadata.shape == (-(-shape[0] // 256) * 256, -(-words // 8) * 8)
    assert metadata.dtype == np.uint32 and metadata.flags.c_contiguous and kept.flags.c_contiguous
    np.testing.assert_array_equal(decompressed(kept, metadata), dense)


def test_by_hand() -> None:
    kept, metadata = ct.compress_2_4(np.array([[0, 5, 0, 7, 0, 0, 6, 0, 1, 0, 0, 2]], np.int8))
    assert kept.tolist() == [[5, 7, 0, 6, 1, 2]]
    # (1, 3) is 0b1101, (0, 2) is 0b1000, (0, 3) is 0b1100; the rest keeps (0, 1).
    assert hex(metadata[0, 0]) == "0x44444c8d"
    kept, metadata = ct.compress_2_4(np.array([[0, 5, 7, 0, 0, 0]], np.float32))
    assert kept.tolist() == [[5, 7, 0]]
    assert hex(metadata[0, 0]) == "0x4444444e"


def test_the_rest_is_legal() -> None:
    for dtype in (np.float16, np.float32, np.int8):
        _, metadata = ct.compress_2_4(np.zeros((3, 8), dtype))
        assert set(metadata.ravel().tolist()) == {0x44444444}


def test_nan_is_kept_and_negative_zero_is_not() -> None:
    kept, _ = ct.compress_2_4(np.array([[-0.0, 0, np.nan, 3]], np.float16))
    assert np.isnan(kept[0, 0]) and kept[0, 1] == 3


def test_strided_matrices() -> None:
    dense = np.array([[0, 1, 0, 2] * 4] * 32, np.float16)
    expected = ct.compress_2_4(dense)
    for array in (np.asfortranarray(dense), np.repeat(dense, 2, axis=0)[::2], dense[::-1]):
        for found, wanted in zip(ct.compress_2_4(array), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


class Exporter:
    """A library whose arrays only export DLPack."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def test_arrays_of_other_libraries() -> None:
    dense = np.array([[0, 1, 0, 2], [3, 0, 0, 0]] * 8, np.float16)
    for wanted in (dense, dense[::2], dense[::-1], dense[:, ::-1], dense[:0]):
        for found, expected in zip(ct.compress_2_4(Exporter(wanted)), ct.compress_2_4(wanted.copy()), strict=True):
            np.testing.assert_array_equal(found, expected)


class OnDevice:
    """An array in the memory of a device."""

    __cuda_array_interface__ = {"shape": (4, 4), "typestr": "<f2", "data": (256, False), "version": 3}


REFUSED: list[tuple[Any, str]] = [
    (
        np.array([[1, 0, 2, 0, 0, 0, 0, 0], [0, 0, 0, 0, 3, 4, 0, 5]], np.int8),
        "expected at most 2 of 4 consecutive elements of a row that are not zero, got 3 in row 1, columns 4 to 7: "
        "3, 4, 0, 5: set the smallest ones to zero first",
    ),
    (
        np.array([[1, 0, 2.5, 3]], np.float32),
        "expected at most 1 of 2 consecutive elements of a row that are not zero, got 2 in row 0, columns 2 to 3: "
        "2.5, 3.0: set the smallest ones to zero first",
    ),
    (np.zeros((2, 6), np.float16), "expected a multiple of 4 columns, got 6: append zeros"),
    (np.zeros((2, 3), np.float32), "expected a multiple of 2 columns, got 3: append zeros"),
    (
        np.zeros((2, 4), np.float64),
        "expected a matrix of float16, bfloat16, float32, float8_e4m3fn, float8_e5m2, int8, uint8, got float64 of "
        "shape (2, 4)",
    ),
    (np.zeros(4, np.float16), "got float16 of shape (4,)"),
    (np.zeros((2, 4), ">f2"), "got >f2 of shape (2, 4)"),
    (OnDevice(), "expected memory of the host: copy it first"),
]


@pytest.mark.parametrize(("array", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_refusals(array: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as refused:
        ct.compress_2_4(array)
    assert str(refused.value).endswith(message) and "'ct.compress_2_4', argument 'array': " in str(refused.value)


def test_a_list_is_refused() -> None:
    with pytest.raises(TypeError, match="argument 'array' needs an array"):
        ct.compress_2_4([[1, 0, 0, 2]])
