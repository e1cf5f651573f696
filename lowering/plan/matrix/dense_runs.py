"""Rows of a run of pixels in shared memory that a multiply reads in place, from the row of its tap on.

    output pixels             0 1 2 3 .. | 0 1 2 3 ..      rows of four, three taps, one column of padding at each side
    run with padding          P x0 x1 x2 x3 P P x0 ..      tap s starts at row s, and each row of images 6 further
    run without padding       . x0 x1 x2 x3 x0 x1 ..       tap s starts at row s: at tap 0 it skips each first pixel

The rows of an instruction follow each other in shared memory, or are groups of eight with one distance. So padding may
lie in the run where no instruction has pixels of several rows of images, and where each row has eight. Other multiplies
of tensor memory skip the rows of the product that read a pixel of another row of images, which is padding of theirs.
The run then has no padding: as many pixels of each row as there are output pixels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.matrix_rules import PATTERN_ROWS, row_of_run
from tilec.dialect.tilex.im2col_type import Im2colViewType
from tilec.lowering.plan.matrix.runs_of_taps import Row, StationaryTile, skipped_pixels
from tilec.lowering.target import TENSOR_LANES, Target, targets_with
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile_to_gpu.access.tensor_maps import TensorMap
from tilec.lowering.tile_to_gpu.access.tensor_modes import Im2colFields, im2col_fields, map_with_fields


@dataclass(frozen=True)
class _Walk:
    """The pixels of a run.

    Attributes:
        positions: those of a row of images, in steps of the stride.
        corner: the first of them, counted from the first pixel of the row.
        before: the first pixel of the run, counted from the first output pixel.
        after: the steps by which an offset moves all pixels.
        every: the output pixels of a row, and the rows of the run from one to the next; or None.
        has_padding: whether the run has all that the taps read.
    """

    positions: int
    corner: int
    before: int
    after: int
    every: tuple[int, int] | None = None
    has_padding: bool = True


def dense_tile(load: ir.OpView, target: Target) -> StationaryTile | str:
    """The tile of a load in mode "run" that multiplies read in place, or why threads read it from the run.

    The tap of the load is known.
    """
    type, tap = load.view.type, splat(load.offset[-1])
    width, pixels, stride = type.tensor_view.shape[-2], type.tile_shape[0], type.stride[-1]
    if not target.starts_at_any_row:
        return "no matrix descriptor is known to start at any row: hint allow_unconfirmed lets it start there"
    if width is None or tap is None:
        return "array: the width of the images is not known: give it in the signature, as in f16[?,?,56,64]"
    row, covered = Row.of(type), (type.window[-1] - 1) * type.dilation[-1] + 1
    first, moves = row.runs[tap]
    outputs = max(1, (width + type.lower[-1] + type.upper[-1] - covered) // stride + 1)
    walk = _walk(type, row, first, outputs, target)
    if isinstance(walk, str):
        return walk
    more = row.most_moves(first)
    rows = row_of_run(pixels - 1, *(walk.every or (None, None))) + 1 + more
    rows = -(-rows // PATTERN_ROWS) * PATTERN_ROWS
    upper = walk.corner + (walk.positions - 1) * stride - (width - 1)

    def fields(swizzle: str) -> Im2colFields:
        found = im2col_fields(type, swizzle)
        return replace(found, lower=(walk.corner, *found.lower[1:]), upper=(upper, *found.upper[1:]), pixels=rows)

    map = map_with_fields(load.view, target, fields)
    if not isinstance(map, TensorMap):
        return map
    if map.swizzle == "none":
        return "tile: rows of 16 bytes have no swizzle: a tile needs 32 bytes of channels"
    start, offset = walk.before * stride + type.lower[-1], walk.after * stride + row.remainders[first]
    skipped = None if walk.has_padding else skipped_pixels(row.distances[tap], outputs)
    return StationaryTile(
        load=load,
        map=map,
        fields=fields(map.swizzle),
        first=first,
        moves=moves,
        start=start,
        offset=offset,
        halo=None,
        rows=rows,
        width=outputs,
        skipped=skipped,
        every=walk.every,
        has_padding=walk.has_padding,
    )


def _walk(type: Im2colViewType, row: Row, first: int, outputs: int, target: Target) -> _Walk | str:
    """The walk of the run that begins with a tap, or why there is none."""
    pixels, stride, distance = type.tile_shape[0], type.stride[-1], row.distances[first]
    multiplied = min(pixels, target.multiplied_rows)
    if outputs % pixels == 0 or pixels % outputs == 0 and (outputs % multiplied == 0 or outputs == PATTERN_ROWS):
        positions = outputs + row.most_moves(first)
        every = (outputs, positions) if outputs < pixels else None
        return _Walk(positions, distance * stride, distance, 0, every)
    crossed = f"{multiplied} rows of an instruction have pixels of several rows of {outputs} output pixels"
    if not target.skips_rows:
        skipping = f"multiplies of {targets_with('skips_rows')} skip those that read padding with hint convolution=run"
        return f"array and tile: {crossed}; {skipping}"
    width = type.tensor_view.shape[-2]
    least = max(-(-width // stride), -distance)
    if pixels % TENSOR_LANES or outputs < least:
        expected = f"a multiple of {TENSOR_LANES} pixels of a tile, and at least {least} output pixels of a row"
        found = f"{pixels} and {outputs}"
        return f"array, padding and tile: {crossed}; multiplies that skip rows expect {expected}, got {found}"
    return _Walk(outputs, 0, min(distance, 0), max(distance, 0), has_padding=False)
