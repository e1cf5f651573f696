"""Packed views: kernels that widen and pack elements, compared with numpy, and their types.

Messages of errors are in `mistakes/`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilec as ct
from tilec.errors import InputError

Interpret = Callable[..., None]
Text = Callable[[Any, str], str]


def test_dtype_is_that_of_the_bytes(interpret: Interpret) -> None:
    @ct.kernel
    def kernel(x, y):
        view = ct.packed_view(x, bits=4, tile=4)
        ct.static_assert(view.dtype is ct.int8 and view.tile_shape == (4,) and view.bits == 4)
        ct.store(y, 0, ct.load(view, 0))

    y = np.zeros(4, np.int8)
    interpret(kernel, 1, np.array([0x21, -1], np.int8), y)
    # Elements have no sign.
    assert y.tolist() == [1, 2, 15, 15]


def test_stored_tile_is_broadcast_and_converted(interpret: Interpret) -> None:
    @ct.kernel
    def kernel(x):
        ct.store(ct.packed_view(x, bits=2, tile=(2, 4)), (0, 0), 2)
        ct.packed_view(x, bits=2, tile=(1, 4)).store((1, 1), ct.arange(4, dtype=ct.uint8))

    x = np.zeros((2, 2), np.uint8)
    interpret(kernel, 1, x)
    assert x.tolist() == [[0b10101010, 0], [0b10101010, 0b11100100]]


@pytest.mark.parametrize("static", [False, True], ids=["extents at run time", "constant extents"])
def test_number_of_tiles(interpret: Interpret, static: bool) -> None:
    """Of 7 bytes, 9 elements of 6 bits and 28 of 2 bits."""

    @ct.kernel
    def kernel(x, y):
        source = x.slice(0, 0, 3).slice(1, 0, 7) if static else x
        for number, bits in ct.static_iter(((0, 2), (2, 4), (4, 6))):
            view = ct.packed_view(source, bits=bits, tile=(2, 4))
            ct.store(y, number, view.num_tiles(0))
            ct.store(y, number + 1, view.num_tiles(-1))
            if static:
                ct.ensure_constant(view.num_tiles(0))

    y = np.zeros(6, np.int32)
    interpret(kernel, 1, np.zeros((3, 7), np.uint8), y)
    assert y.tolist() == [2, 7, 2, 4, 2, 3]


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"order": "F"}, "its tiles have the axes of the array"), ({"check_bounds": False}, "every access is checked")],
)
def test_options_of_loads_that_do_not_apply(error_message: Text, options: dict[str, Any], reason: str) -> None:
    def kernel(x):
        ct.load(ct.packed_view(x, bits=6, tile=4), 0, **options)

    found = f"'ct.load', argument '{next(iter(options))}': expected no such argument for a packed view: {reason}\n"
    assert found in error_message(kernel, "x: i8[?]")


class TestText:
    """The Tile IR of packed views."""

    def test_view_is_made_once(self, tile_text: Text) -> None:
        @ct.kernel
        def kernel(x, n):
            for i in range(n):
                view = ct.packed_view(x, bits=6, tile=(8, 32))
                view.store((i, 0), ct.load(view, (i, 1), latency=3))

        text = tile_text(kernel, "x: i8[?,?], n: i32")
        assert text.count("make_packed_view") == 1
        assert "packed_view<tile=(8x32), bits=6, tensor_view<?x?xi8, strides=[?,1]>>" in text
        assert "optimization_hints = <default = {latency = 3}>" in text

    def test_accesses_are_ordered(self, tile_text: Text) -> None:
        @ct.kernel
        def kernel(x):
            view = ct.packed_view(x, bits=6, tile=4)
            ct.store(x, 0, ct.zeros((1,), ct.int8))
            view.store(1, view.load(0))

        text = tile_text(kernel, "x: i8[?]")
        load = re.search(r"%tile, (%\S+) = tilex.load_packed_tko weak \S+ token = (%\S+)", text)
        store = re.search(r"tilex.store_packed_tko weak %tile, \S+ token = (%\S+)", text)
        assert load and store and f"{load[2]} = store_view_tko" in text
        assert f"{store[1]} = join_tokens {load[2]}, {load[1]}" in text


PACKED = {
    "float6_e2m3fn": (ml_dtypes.float6_e2m3fn, 6),
    "float6_e3m2fn": (ml_dtypes.float6_e3m2fn, 6),
    "float4_e2m1fn": (ml_dtypes.float4_e2m1fn, 4),
}


@pytest.mark.parametrize("name", PACKED)
def test_packed_rows_hold_every_value(name: str) -> None:
    kind, bits = PACKED[name]
    values = np.arange(1 << bits, dtype=np.uint8).view(kind).astype(np.float32)
    packed = ct.pack_rows(values.reshape(2, -1), getattr(ct, name))
    # OCP Microscaling Formats 1.0 leaves the order open; PTX ISA 5.5.1.1 has the first element in the lowest bits.
    codes = [
        int.from_bytes(row.tobytes(), "little") >> bits * at & (1 << bits) - 1
        for row in packed
        for at in range(len(values) // 2)
    ]
    assert codes == list(range(1 << bits))
    assert np.array_equal(ct.unpack_rows(packed, getattr(ct, name)), values.reshape(2, -1))


@pytest.mark.parametrize("name", PACKED)
def test_rows_are_rounded_to_the_nearest_even_value(name: str) -> None:
    """Halfway between neighbours, the code without the last bit; beyond the largest, the largest."""
    kind, bits = PACKED[name]
    positive = np.arange(1 << bits - 1, dtype=np.uint8).view(kind).astype(np.float64)
    middle = (positive[:-1] + positive[1:]) / 2
    expected = np.where(np.arange(len(middle)) % 2 == 0, positive[:-1], positive[1:])
    # Filled up to a multiple of four.
    zeros = [0.0] * 3
    given = np.concatenate([middle, -middle, [1e9, -np.inf, positive[-1] + 0.01], zeros])
    wanted = np.concatenate([expected, -expected, [positive[-1], -positive[-1], positive[-1]], zeros])
    found = ct.unpack_rows(ct.pack_rows(given, getattr(ct, name)), getattr(ct, name))
    assert found.tolist() == wanted.tolist()


def test_no_rows_have_no_bytes() -> None:
    assert ct.pack_rows(np.zeros((0, 8)), ct.float6_e2m3fn).shape == (0, 6)
    assert ct.unpack_rows(np.zeros((0, 6), np.uint8), ct.float6_e2m3fn).shape == (0, 8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ct.pack_rows(np.zeros(3), ct.float6_e2m3fn),
            "expected rows of a multiple of 4 elements of float6_e2m3fn",
        ),
        (
            lambda: ct.pack_rows(np.zeros(3), ct.float4_e2m1fn),
            "expected rows of a multiple of 2 elements of float4_e2m1fn",
        ),
        (lambda: ct.pack_rows(1.0, ct.float6_e2m3fn), "expected rows of a multiple of 4 elements"),
        (lambda: ct.pack_rows([np.nan] * 4, ct.float6_e3m2fn), "float6_e3m2fn has no NaN, got NaN: replace it first"),
        (
            lambda: ct.pack_rows(np.zeros(4), ct.float8_e5m2),
            "expected float6_e2m3fn, float6_e3m2fn, float4_e2m1fn, got",
        ),
        (lambda: ct.unpack_rows(np.zeros(3), ct.float6_e2m3fn), "expected rows of uint8, got float64 of shape"),
        (
            lambda: ct.unpack_rows(np.zeros((4, 4), np.uint8), ct.float6_e2m3fn),
            "expected rows of a multiple of 3 bytes of float6_e2m3fn, got shape (4, 4): leave out padding",
        ),
        (lambda: ct.pack_rows(["1"] * 4, ct.float6_e2m3fn), "expected real numbers of at most 64 bits, got <U1"),
        (lambda: ct.pack_rows([1j] * 4, ct.float6_e2m3fn), "expected real numbers of at most 64 bits, got complex128"),
    ],
)
def test_rows_that_cannot_be_packed(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        call()


@pytest.mark.parametrize("name", PACKED)
def test_view_of_floats_loads_and_stores(interpret: Interpret, name: str) -> None:
    dtype = getattr(ct, name)

    @ct.kernel
    def kernel(x, y, z):
        view = ct.packed_view(x, dtype=dtype, tile=(2, 8))
        ct.static_assert(view.dtype is dtype and view.bits == dtype.bitwidth)
        tile = view.load((0, 0))
        ct.store(y, (0, 0), tile.astype(ct.float32))
        ct.packed_view(z, dtype=dtype, tile=(2, 8)).store((0, 0), (tile.astype(ct.float32) * -0.5).astype(dtype))

    values = np.array(
        [[0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0], [-0.5, -1.0, -2.0, -4.0, -6.0, 0.0, 1.0, 3.0]], np.float32
    )
    x, y = ct.pack_rows(values, dtype), np.zeros((2, 8), np.float32)
    z = np.zeros_like(x)
    interpret(kernel, 1, x, y, z)
    assert np.array_equal(y, values)
    exact = (values * np.float32(-0.5)).astype(PACKED[name][0]).astype(np.float32)
    assert np.array_equal(ct.unpack_rows(z, dtype), exact)
