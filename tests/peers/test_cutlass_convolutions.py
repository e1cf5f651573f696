"""The simulator runs convolutions of CUTLASS, which load an operand by TMA in im2col mode.

CUTLASS computes the corners, strides, coordinates and offsets. Inputs are such that every sum is exact, so results
equal those of numpy bit for bit. Compilation takes most of the time: one test per target.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from aligned_arrays import aligned, integers
from cutlass_kernels import SEEDS, UNFENCED_LOAD, Kernels
from direct_convolution import conv_filter_gradient, conv_forward, conv_input_gradient
from peer_convolutions import FILTER_GRADIENT, FORWARD, INPUT_GRADIENT, MULTICAST, Convolution, random_convolution

from tilec.errors import SimulationError
from tilec.lowering.tma.tensor_map import TensorMap
from tilec.runtime.simulate import Settings

pytestmark = pytest.mark.peers


class Problem(ctypes.Structure):
    """struct Convolution of cutlass/convolution.cu."""

    _fields_ = [
        *((name, ctypes.c_int) for name in ("images", "channels", "filters")),
        *((name, ctypes.c_int * 3) for name in ("extents", "window", "lower", "upper", "stride", "dilation")),
    ]


def problem(given: Convolution) -> Problem:
    lower, upper = zip(*given.padding, strict=True)
    spatial = (given.extents, given.window, lower, upper, given.stride, given.dilation)
    triples = (tuple(entries) + (0,) * (3 - len(entries)) for entries in spatial)
    return Problem(given.images, given.channels, given.filters, *triples)


def run(
    kernels: Kernels, entry: str, given: Convolution, operands: list[np.ndarray], expected: np.ndarray,
    settings: Settings,
) -> list[TensorMap]:  # fmt: skip
    """Asserts that the sum of the convolution and of an array is exact; returns the tensor maps of the launch."""
    c = integers(np.random.default_rng(settings.seed), 1000, expected.shape, np.float32)
    d = aligned(np.full_like(c, np.nan))
    maps = kernels.run(entry, [ctypes.byref(problem(given))], [*operands, c, d], settings)
    assert np.array_equal(d, expected + c)
    return maps


def tensors(given: Convolution, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Activations, filters and the gradient of the outputs."""
    random = np.random.default_rng(seed)
    activations = integers(random, 2, (given.images, *given.extents, given.channels), np.float16)
    filters = integers(random, 2, (given.filters, *given.window, given.channels), np.float16)
    gradient = integers(random, 2, (given.images, *given.outputs, given.filters), np.float16)
    return activations, filters, gradient


def assert_forward(kernels: Kernels, entry: str, given: Convolution, settings: Settings) -> TensorMap:
    x, f, _ = tensors(given, settings.seed)
    tensor_map = run(kernels, entry, given, [x, f], conv_forward(x, f, *given.geometry), settings)[0]
    assert tensor_map.kind == "im2col" and tensor_map.extents == x.shape[::-1]
    assert tensor_map.lower == given.lower_corner[::-1] and tensor_map.upper == given.upper_corner[::-1]
    assert tensor_map.element_strides == (1, *reversed(given.stride), 1)
    return tensor_map


def forward(kernels: Kernels, given: Convolution, settings: Settings) -> None:
    assert_forward(kernels, f"forward_{len(given.extents)}d", given, settings)


def forward_multicast(kernels: Kernels, given: Convolution, settings: Settings) -> None:
    """Each of two blocks loads half of the pixels for both, from a start of its own."""
    assert assert_forward(kernels, "forward_2d_multicast", given, settings).pixels_per_column == 64


def input_gradient(kernels: Kernels, given: Convolution, settings: Settings) -> None:
    _, f, dy = tensors(given, settings.seed)
    expected = conv_input_gradient(dy, f, given.extents, *given.geometry)
    run(kernels, "input_gradient", given, [dy, f], expected, settings)


def filter_gradient(kernels: Kernels, given: Convolution, settings: Settings) -> None:
    x, _, dy = tensors(given, settings.seed)
    expected = conv_filter_gradient(x, dy, given.window, *given.geometry)
    run(kernels, "filter_gradient", given, [dy, x], expected, settings)


# CUTLASS refuses negative padding.
RANDOM = [random_convolution(dimensions, seed, least_padding=0) for dimensions in (1, 2, 3) for seed in range(5)]
OPERATIONS: list[tuple[Callable[[Kernels, Convolution, Settings], None], list[Convolution]]] = [
    (forward, FORWARD + RANDOM),
    (input_gradient, INPUT_GRADIENT),
    (filter_gradient, FILTER_GRADIENT),
]


def assert_operations(kernels: Kernels, settings: Settings) -> None:
    for operation, cases in OPERATIONS:
        for given in cases:
            operation(kernels, given, settings)


def test_convolutions_with_wgmma(tmp_path: Path) -> None:
    kernels = Kernels("convolution", "sm_90a", tmp_path, ["ARCHITECTURE=Sm90"])
    for seed in SEEDS:
        assert_operations(kernels, Settings(seed))
        for given in MULTICAST:
            forward_multicast(kernels, given, Settings(seed))


# In a cluster, no fence orders the initialisation of the mbarrier for the deallocation of tensor memory before the
# arrival of the other block (CUTLASS 4.2, sm100_implicit_gemm_tma_warpspecialized.hpp).
UNFENCED_INITIALISATION = "race: the initialisation of the mbarrier is not known to be complete"


@pytest.mark.soak
def test_convolutions_with_tcgen05(tmp_path: Path) -> None:
    """The epilogue loads one array and stores the other by TMA in im2col mode, too."""
    kernels = Kernels("convolution", "sm_100a", tmp_path, ["ARCHITECTURE=Sm100"])
    assert "cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs" in kernels.ptx
    for seed in SEEDS:
        with pytest.raises(SimulationError, match=UNFENCED_LOAD):
            forward(kernels, FORWARD[0], Settings(seed))
        assert_operations(kernels, Settings(seed, allow_unconfirmed=True))
    # Pairs of blocks, with .cta_group::2.
    for given in MULTICAST:
        with pytest.raises(SimulationError, match=UNFENCED_INITIALISATION):
            forward_multicast(kernels, given, Settings(allow_unconfirmed=True))
        forward_multicast(kernels, given, Settings(checks=False))
