"""Runs of pixels: one copy by TMA that has the pixels of all taps along W of a tile of images.

    a row of output pixels    0 1 2 3 ..               stride 1, three taps, one column of padding at each side
    positions of the run      P x0 x1 x2 x3 .. P       output pixel q reads position q at tap 0, and q + s at tap s

The copy is in mode im2col with a bounding box that has all positions of a row, paddings with them, so that TMA fills
them with zeros. The positions of the next row of output pixels follow those of a row. A thread finds the position of
each of its pixels, as the rows of a tile may be parts of several rows of output pixels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilec.dialect.mlir import ir
from tilec.dialect.tilex.im2col_type import RUN, Im2colViewType
from tilec.lowering.target import Target
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile_to_gpu.access.alignment import element_bits
from tilec.lowering.tile_to_gpu.access.tensor_maps import TensorMap
from tilec.lowering.tile_to_gpu.access.tensor_modes import Im2colFields, im2col_fields, map_with_fields

# The slots of the ring, with which threads read a run while TMA loads the next one.
_SLOTS = 2
IMAGE_LOAD = "tilex.load_im2col_tko"
# Rows after which every swizzle repeats.
_PATTERN_ROWS = 8


@dataclass(frozen=True)
class ImageRun:
    """The run of a tile.

    Attributes:
        map: the tensor map.
        fields: the fields of the map that differ from those of an im2col view.
        outputs: the output pixels of a row.
        step: the positions from one output pixel to the next in its row.
        skipped: the positions of a row beyond `outputs` steps; negative if there are fewer.
    """

    map: TensorMap
    fields: Im2colFields
    outputs: int
    step: int
    skipped: int

    @property
    def positions(self) -> int:
        """The positions that the copy has."""
        return self.fields.pixels


def is_of_run(load: ir.OpView) -> bool:
    """Whether a load is through an im2col view that demands runs."""
    return isinstance(load.view.type, Im2colViewType) and load.view.type.mode == RUN


def image_run(load: ir.OpView, target: Target) -> ImageRun | str:
    """The run that has the tile of a load, or the reason why there is none."""
    type = load.view.type
    tap = splat(load.offset[-1])
    if tap is None:
        return "offset: the tap along W is not a constant, also after the loop over it is unrolled"
    width = type.tensor_view.shape[-2]
    if width is None:
        return "array: the width of the images is not known: give it in the signature, as in f16[?,?,56,64]"
    positions = width + type.lower[-1] + type.upper[-1]
    step, last_tap = type.stride[-1], (type.window[-1] - 1) * type.dilation[-1]
    outputs = max(1, (positions - last_tap - 1) // step + 1)
    skipped = positions - outputs * step
    pixels = type.tile_shape[0]
    # The first pixel of a tile is the last one of a row, or the first one.
    crossed = (outputs + pixels - 2) // outputs if skipped >= 0 else (pixels - 1) // outputs
    length = (pixels - 1) * step + crossed * skipped + last_tap + 1

    def fields(swizzle: str) -> Im2colFields:
        found = im2col_fields(type, swizzle)
        return replace(
            found,
            lower=(-type.lower[-1], *found.lower[1:]),
            upper=(type.upper[-1], *found.upper[1:]),
            element_strides=(1, 1, *found.element_strides[2:]),
            pixels=-(-length // _PATTERN_ROWS) * _PATTERN_ROWS,
        )

    map = map_with_fields(load.view, target, fields)
    if isinstance(map, str):
        return map
    run = ImageRun(map, fields(map.swizzle), outputs, step, skipped)
    size = run.positions * type.tile_shape[1] * element_bits(type.element) // 8
    if _SLOTS * size > target.shared_bytes:
        found = f"a run of the tile has {run.positions} pixels, {size} bytes"
        return f"tile: {found}, and {_SLOTS} slots for runs do not fit in {target.shared_bytes} bytes"
    return run
