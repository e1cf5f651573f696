"""Arrays that are indexed with int64: extents, strides and positions beyond 32 bits are exact in each access."""

from __future__ import annotations

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct

FAR = 2**32
Wide = ct.IndexedWithInt64


@pytest.fixture(scope="module")
def sparse(tmp_path_factory):
    """An array of 2**33 bytes in a sparse file, of which only pages that are written take memory."""
    mapped = np.memmap(tmp_path_factory.mktemp("sparse") / "bytes", np.int8, "w+", shape=(2 * FAR,))
    mapped[:64], mapped[FAR : FAR + 64] = np.arange(64), np.arange(64, 128)
    return np.asarray(mapped)


def everywhere(kernel, args, outputs, target):
    return run_everywhere(kernel, (1,), args, outputs, target=target, hints={}, seeds=(0,))


@ct.kernel
def properties(x: Wide, y):
    ct.static_assert(x.shape[0].dtype == ct.int64)
    part, count = x.slice(0, 5, x.shape[0]), ct.num_tiles(x, 0, 64)
    ct.static_assert(count.dtype == ct.int32)
    ct.scatter(y, 0, x.shape[0])
    ct.scatter(y, 1, part.shape[0])
    ct.scatter(y, 2, count)
    ct.scatter(y, 3, x.tiled_view(1024).num_tiles(0))


@pytest.mark.parametrize("extent", [64, FAR - 1, FAR + 5])
def test_extents(target, sparse, extent):
    exact = [extent, extent - 5, -(-extent // 64), -(-extent // 1024)]
    for (y,) in everywhere(properties, (sparse[:extent], np.zeros(4, np.int64)), (1,), target):
        assert y.tolist() == exact


@ct.kernel
def loads(x: Wide, y, tile: int, first: ct.ScalarInt64):
    """The 64 bytes at `first`, which is 64 * tile, by each kind of access; extents and indices of unlike widths."""
    i = ct.arange(64, dtype=ct.int32)
    ct.store(y, (0, 0), ct.load(x, tile, 64).reshape((1, 64)))
    ct.store(y, (1, 0), x.tiled_view(64).load(tile).reshape((1, 64)))
    ct.store(y, (2, 0), ct.gather(x, first + i).reshape((1, 64)))
    ct.store(y, (3, 0), ct.gather(x.slice(0, first, x.shape[0]), i).reshape((1, 64)))
    at = first + i
    ct.store(y, (4, 0), x.get_raw_memory().load_offset(at, mask=at < x.shape[0]).reshape((1, 64)))


@pytest.mark.parametrize("extent", [FAR + 64, FAR + 40])
def test_loads_at_the_end(target, sparse, extent):
    args = (sparse[:extent], np.zeros((5, 64), np.int8), FAR // 64, np.int64(FAR))
    inside = np.where(np.arange(64) < extent - FAR, np.arange(64, 128), 0)
    for (y,) in everywhere(loads, args, (1,), target):
        # Elements outside of the array are undetermined in the loads of tiles.
        assert np.array_equal(y[:2, : extent - FAR], np.tile(inside[: extent - FAR], (2, 1)))
        assert np.array_equal(y[2:], np.tile(inside, (3, 1)))


@ct.kernel
def narrow_indices(x: Wide, y):
    """Indices of 32 bits are inside of an array whose extent modulo 2**32 is less; negative ones are outside."""
    i = ct.arange(8, dtype=ct.int32) - 2
    ct.store(y, 0, ct.gather(x, i, padding_value=-1))
    ct.store(y, 1, ct.gather(x, i.astype(ct.int64), padding_value=-1))
    ct.store(y, 2, ct.gather(x, ct.bitcast(i, ct.uint32), padding_value=-1))


def test_indices_of_32_bits(target, sparse):
    args = (sparse[: FAR + 3], np.zeros(24, np.int8))
    for (y,) in everywhere(narrow_indices, args, (1,), target):
        signed = [-1, -1, *range(6)]
        # As uint32 the first indices are 2**32 - 2 and 2**32 - 1, inside of the array.
        assert y.tolist() == [*signed, *signed, 0, 0, *range(6)]


@ct.kernel
def rows(x: Wide, y):
    """The rows of a stride beyond 32 bits, by a tile and by an index of rows."""
    row = ct.arange(2, dtype=ct.int32)
    ct.store(y, (0, 0), ct.load(x, (0, 0), (2, 16)))
    ct.store(y, (1, 0), ct.load_advanced_indexing(x, (1 - row, ct.Slice(0, 16))))
    ct.store(y, (4, 0), ct.gather(x, (1, ct.arange(16, dtype=ct.int32))).reshape((1, 16)))


def test_strides(target, sparse):
    x = np.lib.stride_tricks.as_strided(sparse, (2, 16), (FAR, 1))
    first, second = np.arange(16), np.arange(64, 80)
    for (y,) in everywhere(rows, (x, np.zeros((5, 16), np.int8)), (1,), target):
        assert np.array_equal(y, [first, second, second, first, second])


@ct.kernel
def cluster(x):
    ct.atomic_add(x, 0, 1, memory_scope=ct.MemoryScope.CLUSTER)


def test_scope_of_a_cluster_is_refused():
    with pytest.raises(ct.TileTypeError, match="argument 'memory_scope': expected one of NONE, .*, got CLUSTER"):
        ct.launch(None, 1, cluster, (np.zeros(1, np.int32),), backend="interpret")
