"""The simulator runs kernels in Gluon, the lower level of Triton: loads by TMA in im2col mode, with all checks."""

from __future__ import annotations

import importlib
import itertools
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aligned_arrays import integers
from direct_convolution import at_tap
from peer_convolutions import FORWARD, Convolution, random_convolution
from triton_driver import encoded_im2col

from tilec.lowering.target import target_named
from tilec.lowering.tma.rules import violations
from tilec.lowering.tma.tensor_map import ELEMENTS as ELEMENT_TYPES
from tilec.lowering.tma.tensor_map import FILLS, INTERLEAVES, SWIZZLES, TensorMap
from tilec.runtime.parameters import block, pack_value
from tilec.runtime.simulate import Settings, Shape, run_text
from tilec.runtime.tensor_maps.tensor_map import encode_for_simulator

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")]

ARCHITECTURES = (90, 100)
PIXELS = 128
WARPS = 4


@dataclass(frozen=True)
class Element:
    """An element type of the tiles: its names in Triton and in tensor maps, and its swizzle."""

    triton: str
    name: str
    dtype: type
    swizzle_bytes: int

    @property
    def channels(self) -> int:
        return self.swizzle_bytes // np.dtype(self.dtype).itemsize


F16 = Element("fp16", "f16", np.float16, 128)
# Each fills the span of its swizzle.
ELEMENTS = [
    F16,
    Element("fp16", "f16", np.float16, 64),
    Element("fp16", "f16", np.float16, 32),
    Element("fp32", "f32", np.float32, 128),
    Element("fp32", "f32", np.float32, 32),
    Element("i8", "i8", np.int8, 128),
]


@pytest.fixture(autouse=True)
def import_path_of_kernels(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.syspath_prepend(request.path.parent)


@cache
def compiled(element: Element, rank: int, architecture: int) -> Any:
    """The kernel for images of this element type and rank."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.experimental.gluon._runtime import GluonASTSource

    kernels = importlib.import_module("gluon_kernels")
    layout = kernels.shared_layout(element.swizzle_bytes, 8 * np.dtype(element.dtype).itemsize)
    signature = {
        "image": f"tensordesc_im2col<{element.triton}[{PIXELS},{element.channels}],input_rank={rank},{layout!r}>",
        "tile": f"*{element.triton}",
        "coordinates": ("i32",) * rank,
        "offsets": ("i16",) * (rank - 2),
        "LAYOUT": "constexpr",
    }
    source = GluonASTSource(kernels.load_pixels, signature, {(4,): kernels.ROWS})
    return triton.compile(source, target=GPUTarget("cuda", architecture, 32), options={"num_warps": WARPS})


def tensor_map(kernel: Any, given: Convolution, element: Element, x: np.ndarray) -> TensorMap:
    """The map that Triton fills: extents, strides and corners reversed (see test_tensor_map_of_triton)."""
    (filled,) = kernel.metadata.tensordesc_meta
    pixels, channels = filled["block_size"]
    return TensorMap(
        kind="im2col",
        element=element.name,
        base=x.ctypes.data,
        extents=x.shape[::-1],
        strides=x.strides[-2::-1],
        box=(),
        element_strides=(1, *reversed(given.stride), 1),
        swizzle=next(name for name, row in SWIZZLES.items() if row.host_enumerator == filled["swizzle"]),
        lower=given.lower_corner[::-1],
        upper=given.upper_corner[::-1],
        channels_per_pixel=channels,
        pixels_per_column=pixels,
    )


def load(kernel: Any, image: TensorMap, dtype: type, coordinates: list[int], offsets: list[int]) -> np.ndarray:
    """The tile at these coordinates (N, spatial.., C) and offsets (spatial..)."""
    tile = np.full((PIXELS, image.channels_per_pixel), 101, dtype)
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
    run_text(kernel.asm["ptx"], "load_pixels", shape, parameters, ranges, Settings(), "gluon.ptx")
    return tile


def assert_pixels_of_each_tap(given: Convolution, element: Element, architecture: int) -> None:
    """The tiles of 128 output pixels are the rows of the matrix of the convolution, in the order N, P.., Q."""
    kernel = compiled(element, len(given.extents) + 2, architecture)
    x = integers(np.random.default_rng(7), 100, (given.images, *given.extents, given.channels), element.dtype)
    image = tensor_map(kernel, given, element, x)
    assert not list(violations(image, target_named(f"sm_{architecture}a")))
    count = given.images * int(np.prod(given.outputs))
    tiles = itertools.product(range(0, count, PIXELS), range(0, given.channels, element.channels))
    for (first, channel), tap in itertools.product(tiles, np.ndindex(*given.window)):
        matrix = at_tap(x, tap, given.window, *given.geometry).reshape(count, given.channels)
        part = matrix[first : first + PIXELS, channel : channel + element.channels]
        missing = [(0, PIXELS - part.shape[0]), (0, element.channels - part.shape[1])]
        number, *outputs = map(int, np.unravel_index(first, (given.images, *given.outputs)))
        starts = [p * u + low for p, u, low in zip(outputs, given.stride, given.lower_corner, strict=True)]
        offsets = [o * d for o, d in zip(tap, given.dilation, strict=True)]
        tile = load(kernel, image, element.dtype, [number, *starts, channel], offsets)
        assert np.array_equal(tile, np.pad(part, missing))


@pytest.mark.parametrize("given", FORWARD, ids=lambda given: f"{len(given.extents)}d-{given.extents}")
def test_tensor_map_of_triton(given: Convolution, tmp_path: Path) -> None:
    """Triton has corners outermost dimension first, and passes them to the driver in the order W, H, D."""
    kernel = compiled(F16, len(given.extents) + 2, 90)
    x = np.zeros((given.images, *given.extents, given.channels), np.float16)
    image = tensor_map(kernel, given, F16, x)
    (metadata,) = kernel.metadata.tensordesc_meta
    element = ELEMENT_TYPES["f16"].host_enumerator
    strides = [stride // x.itemsize for stride in x.strides]
    corners, steps = (given.lower_corner, given.upper_corner), (1, *given.stride, 1)
    first = (image.base, metadata["swizzle"], x.itemsize, element, metadata["block_size"])
    found = encoded_im2col([*first, x.shape, strides, 0, *corners, steps], tmp_path)
    assert found == {
        "extents": list(image.extents),
        "strides": list(image.strides),
        "lower": list(image.lower),
        "upper": list(image.upper),
        "element_strides": list(image.element_strides),
        "base": image.base,
        "element": element,
        "channels": image.channels_per_pixel,
        "pixels": image.pixels_per_column,
        "interleave": INTERLEAVES[image.interleave],
        "swizzle": SWIZZLES[image.swizzle].host_enumerator,
        "fill": FILLS[image.fill],
    }


@pytest.mark.parametrize("given", FORWARD, ids=lambda given: f"{len(given.extents)}d-{given.extents}")
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_convolutions(architecture: int, given: Convolution) -> None:
    assert_pixels_of_each_tap(given, F16, architecture)


@pytest.mark.parametrize("dimensions", (1, 2, 3))
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_random_convolutions(architecture: int, dimensions: int) -> None:
    for seed in range(50):
        assert_pixels_of_each_tap(random_convolution(dimensions, seed), F16, architecture)


@pytest.mark.parametrize("element", ELEMENTS, ids=lambda element: f"{element.name}-{element.swizzle_bytes}B")
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_elements_and_swizzles(architecture: int, element: Element) -> None:
    given = Convolution((9, 7), (3, 2), ((1, 0), (2, 1)), (1, 2), (2, 1), channels=48)
    assert_pixels_of_each_tap(given, element, architecture)
