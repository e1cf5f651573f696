"""Accesses by element offset agree with numpy in the interpreter and in the simulator."""

from __future__ import annotations

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct

SEEDS = (0, 1, 2)


def everywhere(kernel, args, outputs, target):
    return run_everywhere(kernel, (1,), args, outputs, target=target, hints={}, seeds=SEEDS)


@ct.kernel
def transposed(x, y, rows: ct.Constant[int], columns: ct.Constant[int]):
    """y of shape (columns, rows) = x.T, by offsets into the memory of both."""
    i = ct.arange(rows, dtype=ct.int32).reshape((rows, 1))
    j = ct.arange(columns, dtype=ct.int32).reshape((1, columns))
    tile = x.get_raw_memory().load_offset(i * columns + j)
    y.get_raw_memory().store_offset(j * rows + i, tile)


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint16, np.float16, np.int32, np.float64])
def test_offsets_are_in_elements(target, dtype):
    x = (np.arange(8 * 16) % 7).astype(dtype).reshape(8, 16)
    for (y,) in everywhere(transposed, (x, np.zeros((16, 8), dtype), 8, 16), (1,), target):
        assert np.array_equal(y, x.T)


@ct.kernel
def masked(x, y, n: int):
    """y[i] = x[2 * i] for i < n, else -1; elements of y from n + 4 keep their values."""
    i = ct.arange(16, dtype=ct.int64)
    tile = x.get_raw_memory().load_offset(i * 2, mask=i < n, padding_value=-1, latency=3)
    y.get_raw_memory().store_offset(i, tile, mask=i < n + 4, latency=2)


@pytest.mark.parametrize("n", [0, 5, 12])
def test_mask_selects_elements(target, n):
    x, y = np.arange(32, dtype=np.int32), np.full(16, 99, np.int32)
    i = np.arange(16)
    exact = np.where(i < n, 2 * i, np.where(i < n + 4, -1, 99))
    for (found,) in everywhere(masked, (x, y, n), (1,), target):
        assert np.array_equal(found, exact)


@ct.kernel
def before_the_array(x, y):
    """y[i] = x[3 - i], from a slice of x that starts at element 3: offsets are negative."""
    memory = x.slice(0, 3, 4).get_raw_memory()
    y.get_raw_memory().store_offset(ct.arange(4, dtype=ct.int32), memory.load_offset(-ct.arange(4, dtype=ct.int32)))


def test_offset_of_a_slice_may_be_negative(target):
    x = np.array([4, 5, 6, 7], np.int32)
    for (y,) in everywhere(before_the_array, (x, np.zeros(4, np.int32)), (1,), target):
        assert np.array_equal(y, x[::-1])


@ct.kernel
def updated(x, old, name: ct.Constant[str], operand):
    """Elements 1, 3, 5 and 7 of x are updated where the mask is true: not element 7."""
    memory = x.get_raw_memory()
    i = ct.arange(4, dtype=ct.int32)
    offset, mask = i * 2 + 1, i < 3
    if name == "xchg":
        before = memory.atomic_xchg_offset(offset, operand, mask=mask)
    elif name == "add":
        before = memory.atomic_add_offset(offset, operand, mask=mask, memory_order=ct.MemoryOrder.RELAXED)
    elif name == "max":
        before = memory.atomic_max_offset(offset, operand, mask=mask, memory_order=ct.MemoryOrder.ACQUIRE)
    elif name == "min":
        before = memory.atomic_min_offset(offset, operand, mask=mask, memory_order=ct.MemoryOrder.RELEASE)
    elif name == "and":
        before = memory.atomic_and_offset(offset, operand, mask=mask, memory_scope=ct.MemoryScope.SYS)
    elif name == "or":
        before = memory.atomic_or_offset(offset, operand, mask=mask, memory_scope=ct.MemoryScope.BLOCK)
    elif name == "xor":
        before = memory.atomic_xor_offset(offset, operand, mask=mask)
    elif name == "cas":
        before = memory.atomic_cas_offset(offset, 6, operand, mask=mask)
    ct.store(old, 0, ct.where(mask, before, 0))


UPDATES = {
    "xchg": lambda x, v: np.full_like(x, v),
    "add": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "cas": lambda x, v: np.where(x == 6, v, x),
}


@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("dtype", [np.int32, np.uint64])
def test_atomic_update(target, name, dtype):
    x, operand = np.array([9, 6, 9, 3, 9, 12, 9, 6], dtype), dtype(5)
    exact = x.copy()
    exact[1:6:2] = UPDATES[name](x[1:6:2], operand)
    for found, old in everywhere(updated, (x, np.zeros(4, dtype), name, operand), (0, 1), target):
        assert np.array_equal(found, exact)
        assert np.array_equal(old, [6, 3, 12, 0])


@ct.kernel
def stored_and_loaded(x, y):
    """Accesses by offset and by tile of one array keep program order."""
    memory, i = x.get_raw_memory(), ct.arange(8, dtype=ct.int32)
    ct.store(x, 0, i)
    memory.store_offset(i, memory.load_offset(7 - i) * 10)
    memory.atomic_add_offset(i, 1)
    ct.store(y, 0, ct.load(x, 0, 8) + ct.gather(x, i))


def test_accesses_of_one_array_keep_program_order(target):
    exact = 2 * (10 * np.arange(7, -1, -1) + 1)
    for (y,) in everywhere(stored_and_loaded, (np.zeros(8, np.int32), np.zeros(8, np.int32)), (1,), target):
        assert np.array_equal(y, exact)
