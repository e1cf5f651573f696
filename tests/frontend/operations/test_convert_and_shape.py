"""Conversions, and creation, extraction and concatenation of tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilec as ct

Interpret = Callable[..., None]


@ct.kernel
def convert(x, y):
    ct.store(y, (0,), ct.load(x, (0,), (8,)).astype(y.dtype))


@pytest.mark.parametrize(
    "source", [np.bool_, np.int8, np.int32, np.uint16, np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
)
@pytest.mark.parametrize(
    "target", [np.int8, np.int16, np.int64, np.uint32, np.float16, ml_dtypes.bfloat16, np.float32, np.bool_]
)
def test_astype_matches_numpy(interpret: Interpret, source: Any, target: Any) -> None:
    # All types except bool can represent these values, so every conversion is defined.
    x, y = np.array([0, 1, 2, 3, 5, 8, 100, 126]).astype(source), np.zeros(8, target)
    interpret(convert, 1, x, y)
    np.testing.assert_array_equal(y, x.astype(target))


@ct.kernel
def round_to_tf32(x, y):
    ct.store(y, (0,), ct.load(x, (0,), (4,)).astype(ct.tfloat32).astype(ct.float32))


def test_tf32_has_ten_fraction_bits(interpret: Interpret) -> None:
    x = np.array([1 + 2**-10, 1 + 2**-12, -3.0, 1 + 2**-11 + 2**-20], np.float32)
    y = np.zeros(4, np.float32)
    interpret(round_to_tf32, 1, x, y)
    np.testing.assert_array_equal(y, np.array([1 + 2**-10, 1, -3, 1 + 2**-10], np.float32))


@ct.kernel
def bits(x, y):
    ct.store(y, (0,), ct.bitcast(ct.load(x, (0,), (4,)), ct.uint32))


def test_bitcast(interpret: Interpret) -> None:
    x, y = np.array([0, 1, -2, 1e-40], np.float32), np.zeros(4, np.uint32)
    interpret(bits, 1, x, y)
    np.testing.assert_array_equal(y, x.view(np.uint32))


@ct.kernel
def shapes(x, flat, transposed, joined, part, broadcast, count):
    tile = ct.load(x, (0, 0), (4, 8))
    ct.store(flat, (0,), tile.reshape((-1,)))
    ct.store(transposed, (0, 0), ct.transpose(tile))
    ct.store(joined, (0, 0), ct.cat((tile, tile + 100), axis=1))
    ct.store(part, (0, 0), ct.extract(tile, (1, 2), (2, 2)))
    ct.store(broadcast, (0, 0, 0), ct.broadcast_to(tile, (2, 4, 8)))
    ct.store(count, (0,), ct.arange(8, dtype=ct.int32, start=7, step=-2))


def test_shape_operations_match_numpy(interpret: Interpret) -> None:
    x = np.arange(32, dtype=np.int32).reshape(4, 8)
    outs = [np.zeros(shape, np.int32) for shape in (32, (8, 4), (4, 16), (2, 2), (2, 4, 8), 8)]
    interpret(shapes, 1, x, *outs)
    expected = [
        x.ravel(),
        x.T,
        np.hstack((x, x + 100)),
        x[2:4, 4:6],
        np.broadcast_to(x, (2, 4, 8)),
        np.arange(7, -9, -2),
    ]
    for out, value in zip(outs, expected, strict=True):
        np.testing.assert_array_equal(out, value)


@ct.kernel
def permuted(x, y):
    ct.store(y, (0, 0, 0), ct.permute(ct.load(x, (0, 0, 0), (2, 4, 8)), (2, 0, 1)))


def test_permute(interpret: Interpret) -> None:
    x = np.arange(64, dtype=np.float32).reshape(2, 4, 8)
    y = np.zeros((8, 2, 4), np.float32)
    interpret(permuted, 1, x, y)
    np.testing.assert_array_equal(y, x.transpose(2, 0, 1))


@ct.kernel
def new_axes(x):
    tile = ct.load(x, (0, 0), (4, 8))
    shapes = tile[:, None].shape, tile[None].shape, tile[..., None].shape, tile[None, :, :, None].shape
    expanded = ct.expand_dims(tile, -1)
    ct.static_assert(expanded.shape == (4, 8, 1))
    ct.static_assert(shapes == ((4, 1, 8), (1, 4, 8), (4, 8, 1), (1, 4, 8, 1)))
    ct.static_assert(tile.ndim == 2 and tile.dtype == x.dtype)


def test_new_axes(interpret: Interpret) -> None:
    interpret(new_axes, 1, np.zeros((4, 8), np.float32))


@ct.kernel
def upper_half(x):
    ct.store(x, (0,), ct.full((4,), 2**64 - 2, ct.uint64) + 1)


def test_uint64_constants_above_the_range_of_int64(interpret: Interpret) -> None:
    x = np.zeros(4, np.uint64)
    interpret(upper_half, 1, x)
    np.testing.assert_array_equal(x, np.full(4, 2**64 - 1, np.uint64))


@ct.kernel
def filled(zeros, ones, sevens, scalar, value):
    ct.store(zeros, (0,), ct.zeros(4, ct.float16))
    ct.store(ones, (0,), ct.ones((4,), ct.int8))
    ct.store(sevens, (0,), ct.full((4,), 7, ct.float32))
    ct.store(scalar, (0,), ct.full((4,), value + 1, ct.float32))


def test_filled_tiles(interpret: Interpret) -> None:
    outs = np.full(4, 9, np.float16), np.zeros(4, np.int8), np.zeros(4, np.float32), np.zeros(4, np.float32)
    interpret(filled, 1, *outs, 41)
    for out, value in zip(outs, (0, 1, 7, 42), strict=True):
        np.testing.assert_array_equal(out, np.full(4, value))


BYTE = np.dtype(np.int8)


@ct.kernel
def foreign(x):
    same = x.dtype == np.float32 and BYTE == ct.int8
    ct.static_assert(same)
    ct.store(x, (0,), ct.arange(4, dtype=np.int32).astype(np.float32) + np.float32(1.5))


def test_numpy_element_types_are_accepted(interpret: Interpret) -> None:
    x = np.zeros(4, np.float32)
    interpret(foreign, 1, x)
    np.testing.assert_array_equal(x, np.arange(4) + 1.5)


@ct.kernel
def replaced(x, y, z):
    tile = ct.load(x, (0, 0), (4, 8))
    ct.store(y, (0, 0), ct.insert(tile, (1, 2), ct.full((2, 2), 7, ct.int32)))
    ct.store(z, (0, 0), ct.astile(((1, 2, 3, 4), (5, 6, 7, tile.shape[1])), dtype=ct.int32))


def test_insert_and_astile(interpret: Interpret) -> None:
    x = np.arange(32, dtype=np.int32).reshape(4, 8)
    y, z = np.zeros_like(x), np.zeros((2, 4), np.int32)
    interpret(replaced, 1, x, y, z)
    expected = x.copy()
    expected[2:4, 4:6] = 7
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(z, [[1, 2, 3, 4], [5, 6, 7, 8]])


@ct.kernel
def bytes_of(x, packed, halves):
    tile = ct.pack_to_bytes(ct.load(x, (0, 0), (2, 2)))
    ct.store(packed, (0,), tile)
    ct.store(halves, (0,), ct.unpack_from_bytes(tile, ct.uint16))


def test_pack_and_unpack_bytes(interpret: Interpret) -> None:
    x = np.array([[0x04030201, -1], [0, 256]], np.int32)
    packed, halves = np.zeros(16, np.uint8), np.zeros(8, np.uint16)
    interpret(bytes_of, 1, x, packed, halves)
    np.testing.assert_array_equal(packed, x.ravel().view(np.uint8))
    np.testing.assert_array_equal(halves, x.ravel().view(np.uint16))


@ct.kernel
def types_called_without_an_argument(x, y):
    ct.static_assert(ct.int16().dtype == ct.int16)
    ct.store(x, 0, ct.full(2, ct.float32(), ct.float32) + np.float32())
    ct.store(y, 0, ct.cat((ct.full(2, ct.bool_(), ct.bool_),), 0))


def test_element_type_without_an_argument_is_zero(interpret: Interpret) -> None:
    x, y = np.ones(2, np.float32), np.ones(2, np.bool_)
    interpret(types_called_without_an_argument, 1, x, y)
    assert x.tolist() == [0, 0] and y.tolist() == [False, False]


@ct.kernel
def constants_of_tuples(x, y):
    ct.store(x, (0, 0), ct.astile(((1.0, 2.0), (4.0, 6.0)), dtype=ct.float4_e2m1fn).astype(ct.float32))
    ct.store(y, (0, 0), ct.astile(((1, ct.uint16(300)), (2.75, -4)), dtype=ct.int8))


def test_tuples_of_constants_are_one_constant(interpret: Interpret) -> None:
    x, y = np.zeros((2, 2), np.float32), np.zeros((2, 2), np.int8)
    with pytest.warns(ct.ConstantWarning):
        interpret(constants_of_tuples, 1, x, y)
    assert x.tolist() == [[1, 2], [4, 6]]
    # 300 modulo 256 is 44; a fraction is dropped.
    assert y.tolist() == [[1, 44], [2, -4]]


@ct.kernel
def inserted_by_method(x):
    ct.store(x, 0, ct.zeros(4, ct.int32).insert(1, ct.ones(2, ct.int32)))


def test_insert_is_a_method_of_tiles(interpret: Interpret) -> None:
    x = np.full(4, 9, np.int32)
    interpret(inserted_by_method, 1, x)
    assert x.tolist() == [0, 0, 1, 1]
