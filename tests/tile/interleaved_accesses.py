"""Im2col views of tensors whose channels are in slices, and the same images with adjacent channels."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass, replace

import numpy as np
from im2col_accesses import NUMPY, Case

SLICES = {"f32": (4, 8), "f16": (8, 16), "i8": (16, 32), "i64": (2, 4)}


@dataclass(frozen=True)
class Interleaved:
    """A case of images [N, spatial dimensions, C] that are stored as [N, C / c, spatial dimensions, c]."""

    case: Case
    channels: int

    @property
    def extents(self) -> tuple[int, ...]:
        """The extents of the tensor."""
        images, *spatial, channels = self.case.extents
        return images, channels // self.channels, *spatial, self.channels

    @property
    def tensor(self) -> Case:
        """The case with the extents and strides of the tensor, of which its text is made."""
        return _Text(
            **{
                **self.case.__dict__,
                "extents": self.extents,
                "strides": tuple(math.prod(self.extents[k + 1 :]) for k in range(len(self.extents))),
            },
            images=self.case,
            slice_channels=self.channels,
        )

    def images_of(self, memory: np.ndarray) -> np.ndarray:
        """The images with adjacent channels."""
        return np.moveaxis(memory.reshape(self.extents), 1, -2).reshape(self.case.extents)

    def memory_of(self, images: np.ndarray) -> np.ndarray:
        """The tensor of images with adjacent channels."""
        images, slices = images.reshape(self.case.extents), (-1, self.channels)
        return np.ascontiguousarray(np.moveaxis(images.reshape(*images.shape[:-1], *slices), -2, 1)).ravel()


@dataclass(frozen=True)
class _Text(Case):
    """The texts of kernels for images in slices; outputs and tiles are those of the images."""

    images: Case | None = None
    slice_channels: int = 0

    @property
    def outputs(self) -> list[int]:
        return self.images.outputs

    @property
    def grid(self) -> tuple[int, int, int]:
        return self.images.grid

    @property
    def view(self) -> str:
        head, tensor, tail = super().view.partition("tensor_view")
        return f"{head}interleave={self.slice_channels}, {tensor}{tail}"


def random_case(seed: int) -> Interleaved:
    """A view of one to three spatial dimensions, with tiles of a part of a slice or of several slices."""
    chosen = random.Random(seed)
    element, rank = chosen.choice(list(SLICES)), chosen.randint(1, 3)
    channels = chosen.choice(SLICES[element])
    per_dimension = [
        (chosen.randint(1, 3), chosen.randint(1, 2), chosen.randint(1, 3), *chosen.choices(range(-1, 3), k=2))
        for _ in range(rank)
    ]
    window, dilation, stride, lower, upper = zip(*per_dimension, strict=True)
    extents = (chosen.randint(1, 3), *(chosen.randint(3, 6) for _ in range(rank)), channels * chosen.randint(1, 5))
    flags = tuple(chosen.random() < 0.5 for _ in range(rank + 3))
    case = Case(
        extents=extents,
        strides=tuple(math.prod(extents[k + 1 :]) for k in range(rank + 2)),
        tile=(1 << chosen.randint(2, 4), channels * 4 >> chosen.randint(0, 3)),
        window=window,
        dilation=dilation,
        stride=stride,
        lower=lower,
        upper=upper,
        element=element,
        dynamic_extents=flags,
        dynamic_strides=(*flags[:-1], False),
        extent_type=chosen.choice(("i32", "i64")),
        index_type=chosen.choice(("i32", "i64")),
    )
    return Interleaved(case, channels)


def elements(case: Interleaved) -> np.ndarray:
    """Elements that differ from their neighbours, none of them zero."""
    return (np.arange(math.prod(case.extents)) % 113 + 1).astype(NUMPY[case.case.element])


def taps(case: Interleaved) -> list[tuple[int, ...]]:
    """The taps of the window in the order of the grid."""
    return list(itertools.product(*map(range, case.case.window)))


def contiguous(case: Interleaved) -> Case:
    """The case of the images with adjacent channels and known extents."""
    return replace(case.case, dynamic_extents=(), dynamic_strides=())
