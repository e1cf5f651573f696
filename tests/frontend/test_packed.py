"""Packed views: kernels that widen and pack elements, compared with numpy, and their types.

Messages of errors are in `mistakes/`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilec as ct

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
