"""An artifact with maps of the im2col kinds is saved, loaded and simulated; it also replaces maps of empty images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tilec as ct

TARGETS = [("sm_90a", "im2col"), ("sm_100a", "im2col"), ("sm_100a", "w"), ("sm_100a", "w128")]
# The fields of launch metadata by mode.
FIELDS = {
    "im2col": {"kind": "im2col", "lower": (-1, -1), "upper": (-1, -1), "element_strides": (1, 2, 2, 1)},
    "w": {"kind": "im2col_w", "lower": (-1,), "upper": (-1,), "element_strides": (1, 2, 1, 1)},
    "w128": {"kind": "im2col_w128", "lower": (-1,), "upper": (-1,), "element_strides": (1, 2, 1, 1)},
}
SIGNATURE = "x: f16[?,?,?,?] strides (?%8,?%8,?%8,1), identity: f16[64,64], y: f32[?,?], mode='{}'"


@ct.kernel
def sum_of_taps(x, identity, y, mode: ct.Constant[str]):
    """y = for each pixel, the sum over a window of 3x3 with padding 1 and stride 2."""
    images = ct.im2col_view(x, window=(3, 3), padding=1, stride=2, tile=(128, 64), mode=mode)
    i = ct.bid(0)
    total = ct.zeros((128, 64), ct.float32)
    for r in range(3):
        for s in range(3):
            total = ct.mma(ct.load(images, (i, 0), offset=(r, s)), ct.load(identity, (0, 0), (64, 64)), total)
    ct.store(y, (i, 0), total)


@pytest.mark.parametrize(("target", "mode"), TARGETS)
def test_saved_kernel_runs(tmp_path: Path, target: str, mode: str) -> None:
    compiled = ct.compile(sum_of_taps, signature=SIGNATURE.format(mode), target=target, stop="ptx")
    compiled.save(tmp_path / "k")
    artifact = ct.load_artifact(tmp_path / "k")
    (recipe,) = [recipe for recipe in artifact.metadata.tensor_maps if recipe.kind != "tiled"]
    assert {name: getattr(recipe, name) for name in FIELDS[mode]} == FIELDS[mode]
    assert (recipe.channels_per_pixel, recipe.pixels_per_column) == (64, 128)
    # One row of output pixels, so that the tiles of all modes follow each other.
    x = np.random.default_rng(0).integers(-3, 4, (40, 2, 15, 64)).astype(np.float16)
    y = np.zeros((40 * 8, 64), np.float32)
    ct.run(artifact, 3, [x, np.eye(64, dtype=np.float16), y])
    padded = np.pad(x.astype(np.float32), ((0, 0), (1, 1), (1, 1), (0, 0)))
    expected = sum(padded[:, r, s : s + 15 : 2] for r in range(3) for s in range(3))
    np.testing.assert_array_equal(y, expected.reshape(-1, 64))


@pytest.mark.parametrize(("target", "mode"), TARGETS)
@pytest.mark.parametrize("shape", [(0, 9, 9, 64), (2, 0, 9, 64), (2, 9, 0, 64), (2, 9, 9, 0)])
def test_saved_kernel_runs_on_empty_images(tmp_path: Path, shape: tuple[int, ...], target: str, mode: str) -> None:
    compiled = ct.compile(sum_of_taps, signature=SIGNATURE.format(mode), target=target, stop="ptx")
    y = np.full((128, 64), -1, np.float32)
    ct.run(compiled.artifact, 1, [np.ones(shape, np.float16), np.eye(64, dtype=np.float16), y])
    assert not y.any()
