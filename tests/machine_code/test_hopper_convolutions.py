"""benchmarks/hopper/convolutions.py: its programs equal the direct convolution in the simulator."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1] / "kernels"))
import convolution as benchmark
from direct_convolution import conv_forward
from hopper.convolutions import LIBRARY, geometric_mean, grid_of, layers, programs

import tilec as ct

# As many filters as a tile of two CTAs has.
LAYER = benchmark.Layer("small", 7, 64, 256, 3, 2, 1)


def test_programs_equal_the_direct_convolution() -> None:
    """Each program is launched with its grid, by the arrays alone."""
    random = np.random.default_rng(2)
    x, f = (random.integers(-3, 4, shape).astype(np.float16) for shape in ((3, 7, 7, 64), (3, 3, 64, 256)))
    exact = conv_forward(x, f.transpose(3, 0, 1, 2), stride=2, dilation=1, padding=1)
    names = []
    for name, tile, kernel in programs(LAYER, 3):
        result = np.full(exact.shape, np.nan, np.float16)
        ct.run(kernel.artifact, grid_of(LAYER, 3, tile), [x, f, result], backend="simulate", seed=1)
        np.testing.assert_array_equal(result, exact.astype(np.float16), name)
        names.append(name)
    assert names[:3] == ["tilec", "tilec im2col", "tilec run"] and len(set(names)) == 6


def test_layers_are_those_of_3_by_3_taps() -> None:
    found = layers()
    assert {layer.network for layer in found} == {"ResNet-50", "UNet"} and {layer.taps for layer in found} == {3}
    assert len(found) == 7 + 21


def test_geometric_mean_of_the_fastest_programs() -> None:
    times = {
        "first": {LIBRARY: 8.0, "tilec": 4.0, "tilec run": 2.0, "Triton 1x1x1": 1.0},
        "second": {LIBRARY: 3.0, "tilec": 3.0},
    }
    rows = [
        {"layer": layer, "program": name, "us": microseconds}
        for layer, found in times.items()
        for name, microseconds in found.items()
    ]
    assert geometric_mean(rows) == pytest.approx(2.0)
