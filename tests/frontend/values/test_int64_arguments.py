"""Arrays whose extents and strides have 64 bits, and integers of 64 bits, as arguments of kernels."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pytest

import tilec as ct

ListOfWideArrays = Annotated[list, ct.ListAnnotation(element=ct.IndexedWithInt64)]
BACKENDS = pytest.mark.parametrize(
    ("backend", "target"), [("interpret", "sm_100a"), ("simulate", "sm_100a"), ("simulate", "sm_90a")]
)


@ct.kernel
def tiles_and_elements(x: ct.IndexedWithInt64, y: ct.IndexedWithInt64, tile: ct.Constant[int]):
    for block in range(ct.cdiv(x.shape[0], tile)):
        ct.store(y, (block, 0), ct.load(x, (block, 0), (tile, 8)) + 1)
    diagonal = ct.arange(8, dtype=ct.int32)
    ct.scatter(y, (diagonal, diagonal), ct.gather(x, (diagonal, diagonal)) * 2)


@BACKENDS
def test_accesses_to_arrays_with_wide_extents(backend: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEC_TARGET", target)
    x = np.arange(24 * 8, dtype=np.float32).reshape(24, 8)
    y, expected = np.zeros_like(x), x + 1
    expected[range(8), range(8)] = x[range(8), range(8)] * 2
    ct.launch(None, 1, tiles_and_elements, (x, y, 4), backend=backend)
    assert (y == expected).all()


@ct.kernel
def last_tile(xs: ListOfWideArrays, out):
    ct.store(out, 0, ct.load(xs[1], (2**30, 0), (1, 8)).reshape((8,)) + (xs[1].shape[0] // 2**30).astype(ct.float32))


@BACKENDS
def test_extents_beyond_32_bits(backend: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEC_TARGET", target)
    row, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    # All rows have the same memory.
    wide = np.lib.stride_tricks.as_strided(row, (2**33, 8), (0, 4))
    ct.launch(None, 1, last_tile, ([wide, wide], out), backend=backend)
    assert out.tolist() == [8.0 + value for value in range(8)]


@ct.kernel
def narrow(x, value):
    pass


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (np.lib.stride_tricks.as_strided(np.zeros(1), (2**31,), (0,)), 1),
            "annotate the parameter as ct.IndexedWithInt64",
        ),
        ((np.zeros(1), 2**63), "'value' is out of range of int64"),
    ],
)
def test_value_that_needs_more_bits_is_an_overflow_error(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(OverflowError, match=message):
        ct.launch(None, 1, narrow, arguments, backend="interpret")


def test_annotation_of_a_scalar_makes_it_64_bits_wide() -> None:
    @ct.kernel
    def shifted(x, value: ct.ScalarInt64):
        ct.store(x, 0, value * 2**31)

    x = np.zeros(1, np.int64)
    ct.launch(None, 1, shifted, (x, 3), backend="interpret")
    assert x.tolist() == [3 * 2**31]
