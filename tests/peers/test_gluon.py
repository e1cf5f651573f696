"""The simulator runs kernels in Gluon, the lower level of Triton: loads by TMA in im2col mode, with all checks."""

from __future__ import annotations

import importlib
import itertools
from typing import Any

import numpy as np
import pytest
from aligned_arrays import integers
from convolution_cases import FORWARD, Convolution
from direct_convolution import at_tap

from tilec.lowering.tma.contract import violations
from tilec.lowering.tma.tensor_map import TensorMap
from tilec.runtime.parameters import block, pack_value
from tilec.runtime.simulate import Settings, Shape, run_text
from tilec.runtime.tensor_map import encode_for_simulator

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")]

ARCHITECTURES = (90, 100)
PIXELS, CHANNELS = 128, 64
WARPS = 4


@pytest.fixture(autouse=True)
def import_path_of_kernels(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.syspath_prepend(request.path.parent)


def compiled(rank: int, architecture: int) -> Any:
    """The kernel for images of this rank."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.experimental.gluon._runtime import GluonASTSource

    kernels = importlib.import_module("gluon_kernels")
    signature = {
        "image": f"tensordesc_im2col<fp16[{PIXELS},{CHANNELS}],input_rank={rank},{kernels.SHARED!r}>",
        "tile": "*fp16",
        "coordinates": ("i32",) * rank,
        "offsets": ("i16",) * (rank - 2),
        "LAYOUT": "constexpr",
    }
    source = GluonASTSource(kernels.load_pixels, signature, {(4,): kernels.ROWS})
    return triton.compile(source, target=GPUTarget("cuda", architecture, 32), options={"num_warps": WARPS})


def tensor_map(given: Convolution, x: np.ndarray) -> TensorMap:
    """The map that Triton fills: extents, strides and corners reversed (fillTMADescriptorIm2col of its driver.c)."""
    return TensorMap(
        kind="im2col",
        element="f16",
        base=x.ctypes.data,
        extents=x.shape[::-1],
        strides=x.strides[-2::-1],
        box=(),
        element_strides=(1, *reversed(given.stride), 1),
        swizzle="128B",
        lower=given.lower_corner[::-1],
        upper=given.upper_corner[::-1],
        channels_per_pixel=CHANNELS,
        pixels_per_column=PIXELS,
    )


def load(kernel: Any, image: TensorMap, coordinates: list[int], offsets: list[int], settings: Settings) -> np.ndarray:
    """The tile at these coordinates (N, spatial.., C) and offsets (spatial..)."""
    tile = np.full((PIXELS, CHANNELS), np.nan, np.float16)
    # The extents and strides of the image, which the kernel does not read, and two pointers to scratch memory.
    unread = [pack_value("u32", 0)] * image.rank + [pack_value("u64", 0)] * image.rank
    scratch = [pack_value("u64", 0)] * 2
    parameters = block(
        [
            encode_for_simulator(image),
            *(*unread, pack_value("u64", tile.ctypes.data)),
            *(pack_value("s32", value) for value in coordinates),
            *(pack_value("u16", value) for value in offsets),
            *scratch,
        ]
    )
    ranges = [(image.base, image.extents[-1] * image.strides[-1], False), (tile.ctypes.data, tile.nbytes, True)]
    shape = Shape((1, 1, 1), (32 * WARPS, 1, 1), (1, 1, 1), kernel.metadata.shared)
    run_text(kernel.asm["ptx"], "load_pixels", shape, parameters, ranges, settings, "gluon.ptx")
    return tile


@pytest.mark.parametrize("given", FORWARD, ids=lambda given: f"{len(given.extents)}d-{given.extents}")
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_pixels_of_each_tap(architecture: int, given: Convolution) -> None:
    """The tiles of 128 output pixels are the rows of the matrix of the convolution, in the order N, P.., Q."""
    kernel = compiled(len(given.extents) + 2, architecture)
    x = integers(np.random.default_rng(7), 100, (given.images, *given.extents, given.channels), np.float16)
    image = tensor_map(given, x)
    assert not list(violations(image, f"sm_{architecture}a"))
    count = given.images * int(np.prod(given.outputs))
    tiles = itertools.product(range(0, count, PIXELS), range(0, given.channels, CHANNELS))
    for (first, channel), tap in itertools.product(tiles, np.ndindex(*given.window)):
        matrix = at_tap(x, tap, given.window, *given.geometry).reshape(count, given.channels)
        expected = np.zeros((PIXELS, CHANNELS), np.float16)
        part = matrix[first : first + PIXELS, channel : channel + CHANNELS]
        expected[: part.shape[0], : part.shape[1]] = part
        number, *outputs = map(int, np.unravel_index(first, (given.images, *given.outputs)))
        starts = [p * u + low for p, u, low in zip(outputs, given.stride, given.lower_corner, strict=True)]
        offsets = [o * d for o, d in zip(tap, given.dilation, strict=True)]
        assert np.array_equal(load(kernel, image, [number, *starts, channel], offsets, Settings(0)), expected)
