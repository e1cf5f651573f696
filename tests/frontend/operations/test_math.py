"""Math functions in the interpreter are within 2 units in the last place of the exact value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilec as ct

POSITIVE = np.linspace(0.1, 8, 64).astype(np.float32)
ANY = np.linspace(-3, 3, 64).astype(np.float32)


@ct.kernel
def apply(x, y, function: ct.Constant[str]):
    tile = ct.load(x, (0,), (64,))
    if function == "exp":
        ct.store(y, (0,), ct.exp(tile))
    elif function == "exp2":
        ct.store(y, (0,), ct.exp2(tile))
    elif function == "log":
        ct.store(y, (0,), ct.log(tile))
    elif function == "log2":
        ct.store(y, (0,), ct.log2(tile))
    elif function == "sqrt":
        ct.store(y, (0,), ct.sqrt(tile))
    elif function == "rsqrt":
        ct.store(y, (0,), ct.rsqrt(tile))
    elif function == "sin":
        ct.store(y, (0,), ct.sin(tile))
    elif function == "cos":
        ct.store(y, (0,), ct.cos(tile))
    elif function == "tanh":
        ct.store(y, (0,), ct.tanh(tile))
    elif function == "pow":
        ct.store(y, (0,), tile**2.5)
    elif function == "floor":
        ct.store(y, (0,), ct.floor(tile))
    elif function == "ceil":
        ct.store(y, (0,), ct.ceil(tile))


@pytest.mark.parametrize(
    ("function", "x", "exact"),
    [
        ("exp", ANY, np.exp),
        ("exp2", ANY, np.exp2),
        ("log", POSITIVE, np.log),
        ("log2", POSITIVE, np.log2),
        ("sqrt", POSITIVE, np.sqrt),
        ("rsqrt", POSITIVE, lambda x: 1 / np.sqrt(x)),
        ("sin", ANY, np.sin),
        ("cos", ANY, np.cos),
        ("tanh", ANY, np.tanh),
        ("pow", POSITIVE, lambda x: x**2.5),
        ("floor", ANY, np.floor),
        ("ceil", ANY, np.ceil),
    ],
)
def test_functions(interpret: Callable[..., None], function: str, x: np.ndarray, exact: Any) -> None:
    y = np.zeros_like(x)
    interpret(apply, 1, x, y, function)
    expected = exact(x.astype(np.float64))
    assert np.all(np.abs(y - expected) <= 2 * np.spacing(np.abs(expected).astype(np.float32)))


@ct.kernel
def folded(y):
    values = ct.exp(0), ct.sqrt(16), ct.floor(-1.5)
    ct.static_assert(values == (1.0, 4.0, -2))
    ct.store(y, (0,), ct.full((4,), ct.log2(8) + math.pi, ct.float32))


def test_functions_of_constants_are_folded(tile_text: Callable[[Any, str], str]) -> None:
    text = tile_text(folded, "y: f32[?]")
    assert "log2" not in text
    assert f"{3 + math.pi:.4f}"[:5] in text


@ct.kernel
def fast(x, y):
    tile = ct.load(x, (0,), (64,))
    rounded = ct.exp(tile, rounding_mode=ct.RoundingMode.APPROX)
    ct.store(y, (0,), ct.truediv(rounded, tile, rounding_mode=ct.RoundingMode.APPROX, flush_to_zero=True))


def test_rounding_modes_become_attributes(tile_text: Callable[[Any, str], str]) -> None:
    text = tile_text(fast, "x: f32[?], y: f32[?]")
    assert "rounding<approx> : tile<64xf32>" in text
    assert "divf %" in text and "rounding<approx> flush_to_zero" in text
