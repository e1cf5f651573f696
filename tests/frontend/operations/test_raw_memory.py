"""Mistakes in accesses by element offset are reported at the argument."""

from __future__ import annotations

import numpy as np
import pytest

import tilec as ct


def refused(body, x, message):
    with pytest.raises(ct.TileTypeError, match=message):
        ct.launch(None, 1, ct.kernel(body), (x,), backend="interpret")


def float_offset(x):
    x.get_raw_memory().load_offset(ct.zeros(4, ct.float32))


def wide_value(x):
    x.get_raw_memory().store_offset(ct.arange(1, dtype=ct.int32), ct.zeros(8, ct.float16))


def integer_mask(x):
    x.get_raw_memory().load_offset(0, mask=1)


def bounds(x):
    x.get_raw_memory().load_offset(0, check_bounds=False)


def weak_update(x):
    x.get_raw_memory().atomic_add_offset(0, 1, memory_order=ct.MemoryOrder.WEAK)


def half_maximum(x):
    x.get_raw_memory().atomic_max_offset(0, 1)


def loaded_tile(x):
    ct.load(x.get_raw_memory(), 0, 4)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (float_offset, "argument 'offset': expected integers, got a float32 tile of shape"),
        (wide_value, r"argument 'value': .*\(8,\).*\(1,\)"),
        (integer_mask, "argument 'mask': expected booleans, got the constant 1"),
        (bounds, "unexpected keyword argument 'check_bounds'"),
        (weak_update, "argument 'memory_order': expected one of RELAXED, ACQUIRE, RELEASE, ACQ_REL, got WEAK"),
        (half_maximum, "argument 'self': expected elements of int32, .*, got float16"),
        (loaded_tile, "argument 'array': expected an array, got the raw memory of array 'x'"),
    ],
)
def test_mistake(body, message):
    refused(body, np.zeros(8, np.float16), message)


@ct.kernel
def chosen(x, n: int):
    memory = x.get_raw_memory()
    if n > 1:
        memory = x.get_raw_memory()
    memory.store_offset(n, 5)


def test_memory_of_one_array_is_one_value_after_branches():
    x = np.zeros(4, np.int32)
    ct.launch(None, 1, chosen, (x, 2), backend="interpret")
    assert x.tolist() == [0, 0, 5, 0]


@ct.kernel
def undetermined(x, y):
    i = ct.arange(4, dtype=ct.int32)
    tile = x.get_raw_memory().load_offset(i, mask=i < 3, padding_value=None)
    y.get_raw_memory().store_offset(i, tile, mask=i < 3)


def test_padding_value_may_be_none():
    x, y = np.arange(3, dtype=np.int32), np.zeros(3, np.int32)
    ct.launch(None, 1, undetermined, (x, y), backend="interpret")
    assert y.tolist() == [0, 1, 2]
