"""Each changed corner, offset, stride, box and barrier of a convolution is reported or gives a wrong result.

The convolution has unlike extents, strides, dilations and paddings in their dimensions, tiles that span images, a
partial last tile, and more tiles of channels than slots in a ring, of which the last is partial.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from convolution_cases import BY_ROW
from convolution_mutations import changed_artifacts, changed_descriptors
from direct_convolution import conv_forward
from mutations import mutants

import tilec as ct
from tilec.errors import TilecError
from tilec.signature import Signature

SEEDS = range(20)


@ct.kernel
def convolution(x, filters, y, mode: ct.Constant[str]):
    images = ct.im2col_view(
        x, window=(3, 2), stride=(1, 2), dilation=(2, 1), padding=((2, 1), (1, 2)), tile=(64, 32), mode=mode
    )
    total = ct.zeros((64, 64), ct.float32)
    for r in range(3):
        for s in range(2):
            for c in range(images.num_tiles(1)):
                weights = ct.load(filters, (r, s, c, 0), (1, 1, 32, 64), padding_mode=ct.PaddingMode.ZERO)
                total = ct.mma(ct.load(images, (ct.bid(0), c), offset=(r, s)), weights.reshape((32, 64)), total)
    ct.store(ct.im2col_view(y, window=1, tile=(64, 64), mode=mode), (ct.bid(0), 0), total)


@ct.kernel
def convolution_of_rows(x, filters, y, mode: ct.Constant[str]):
    """Tiles of mode run cross rows of the images; those of the other modes have pixels of 14 rows of 9."""
    images = ct.im2col_view(x, window=(2, 3), dilation=(2, 1), padding=((2, 1), (1, 1)), tile=(128, 32), mode=mode)
    total = ct.zeros((128, 64), ct.float32)
    for r in range(2):
        for s in range(3):
            for c in range(images.num_tiles(1)):
                weights = ct.load(filters, (r, s, c, 0), (1, 1, 32, 64), padding_mode=ct.PaddingMode.ZERO)
                total = ct.mma(ct.load(images, (ct.bid(0), c), offset=(r, s)), weights.reshape((32, 64)), total)
    ct.store(ct.im2col_view(y, window=1, tile=(128, 64), mode=None if mode == "run" else mode), (ct.bid(0), 0), total)


@dataclasses.dataclass(frozen=True)
class Problem:
    """A kernel with the shapes of images [N, H, W, C] and filters [R, S, C, K], its geometry and pixels of a tile."""

    kernel: Any
    images: tuple[int, ...]
    filters: tuple[int, ...]
    geometry: dict[str, Any]
    pixels: int


# Five tiles of channels in four slots, and three in two.
EACH_TAP = Problem(
    convolution,
    (3, 7, 9, 136),
    (3, 2, 136, 40),
    {"stride": (1, 2), "dilation": (2, 1), "padding": ((2, 1), (1, 2))},
    64,
)
ALL_TAPS = Problem(
    convolution_of_rows,
    (17, 3, 9, 72),
    (2, 3, 72, 40),
    {"stride": 1, "dilation": (2, 1), "padding": ((2, 1), (1, 1))},
    128,
)


# Rows of images are those of an instruction of sm_90a, of five in an image, or have the groups of a descriptor.
ROWS_IN_PLACE = dataclasses.replace(ALL_TAPS, images=(3, 4, 64, 72))
GROUPS_IN_PLACE = dataclasses.replace(ALL_TAPS, images=(17, 3, 8, 72))


class CompiledConvolution:
    """The compiled kernel with its inputs, small integers whose sums are exact, and the convolution of numpy."""

    def __init__(self, problem: Problem, target: str, mode: str | None, hints: dict[str, Any]) -> None:
        random = np.random.default_rng(0)
        self.x = random.integers(-3, 4, problem.images).astype(np.float16)
        self.filters = random.integers(-3, 4, problem.filters).astype(np.float16)
        filters = self.filters.transpose(3, 0, 1, 2)
        self.expected = conv_forward(self.x.astype("f8"), filters.astype("f8"), **problem.geometry)
        args = (self.x, self.filters, self.expected.astype(np.float32), mode)
        given = Signature.from_arguments(problem.kernel, args).arguments
        # A run needs a known width.
        if problem is not EACH_TAP:
            given = (*(dataclasses.replace(given[k], shape=args[k].shape) for k in range(3)), *given[3:])
        signature = Signature(given)
        self.artifact = ct.compile(problem.kernel, target=target, signature=signature, hints=hints).artifact
        images, rows, columns, _ = self.expected.shape
        runs = (rows, images * columns) if mode in BY_ROW else (1, images * rows * columns)
        self.grid = runs[0] * -(-runs[1] // problem.pixels)

    def is_right(self, artifact: ct.Artifact, seed: int) -> bool:
        y = np.full(self.expected.shape, np.nan, np.float32)
        ct.run(artifact, self.grid, [self.x, self.filters, y], backend="simulate", seed=seed)
        return np.array_equal(y, self.expected)

    def survives(self, artifact: ct.Artifact) -> bool:
        """Whether the result is right and nothing is reported for any seed."""
        for seed in SEEDS:
            try:
                if not self.is_right(artifact, seed):
                    return False
            except TilecError:
                return False
        return True


@pytest.mark.parametrize("hints", [{"roles": True}, {"roles": False}], ids=["roles", "one role"])
@pytest.mark.parametrize(("target", "mode"), [("sm_100a", None), ("sm_90a", None), ("sm_100a", "w")])
def test_mutants(target, mode, hints):
    compiled = CompiledConvolution(EACH_TAP, target, mode, hints | {"stages": 4})
    assert all(compiled.is_right(compiled.artifact, seed) for seed in SEEDS)
    changed = list(changed_artifacts(compiled.artifact))
    assert sum("lower" in str(each) for each in changed) >= (2 if mode == "w" else 4)
    survivors = [str(each) for each in changed if compiled.survives(each.artifact)]
    for mutant in mutants(compiled.artifact.ptx):
        if compiled.survives(dataclasses.replace(compiled.artifact, ptx=mutant.ptx)):
            survivors.append(str(mutant))
    assert not survivors, "\n".join(survivors)


@pytest.mark.parametrize(
    ("target", "mode"), [("sm_100a", "run"), ("sm_90a", "run"), ("sm_100a", "stationary"), ("sm_100a", "weights")]
)
def test_mutants_of_one_copy_for_all_taps(target, mode):
    """The start of a run, its pixels after the tile, and the offset along W."""
    compiled = CompiledConvolution(ALL_TAPS, target, mode, {"allow_unconfirmed": True, "stages": 2})
    assert all(compiled.is_right(compiled.artifact, seed) for seed in SEEDS)
    changed = list(changed_artifacts(compiled.artifact))
    assert sum("offset" in str(each) for each in changed) >= 2
    survivors = [str(each) for each in changed if compiled.survives(each.artifact)]
    assert not survivors, "\n".join(survivors)


@pytest.mark.parametrize(
    ("target", "problem"),
    [("sm_90a", ROWS_IN_PLACE), ("sm_90a", GROUPS_IN_PLACE), ("sm_100a", ALL_TAPS), ("sm_100a", GROUPS_IN_PLACE)],
    ids=["rows", "groups", "skipped rows", "groups of tensor memory"],
)
def test_mutants_of_rows_in_place(target, problem):
    """The start of a run, the row of it where each tap starts, and the rows from one row of images to the next."""
    hints = {"convolution": "run", "allow_unconfirmed": True, "stages": 2}
    compiled = CompiledConvolution(problem, target, None, hints)
    assert all(compiled.is_right(compiled.artifact, seed) for seed in SEEDS)
    descriptors = list(changed_descriptors(compiled.artifact, row_bytes=64))
    assert sum("start" in str(each) for each in descriptors) >= 6 and any("fields" in str(each) for each in descriptors)
    changed = [*changed_artifacts(compiled.artifact), *descriptors]
    survivors = [str(each) for each in changed if compiled.survives(each.artifact)]
    assert not survivors, "\n".join(survivors)
