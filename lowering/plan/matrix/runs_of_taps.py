"""Runs of pixels along W, each with several taps of a window, and the tiles of loads that are rows of them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.dialect.tilex.im2col_type import RUN, STATIONARY, WEIGHTS, Im2colViewType
from tilec.lowering.tile_to_gpu.access.tensor_maps import TensorMap
from tilec.lowering.tile_to_gpu.access.tensor_modes import Im2colFields


@dataclass(frozen=True)
class StationaryTile:
    """The tile of a load at one tap along W.

    Attributes:
        load: the load.
        map: the tensor map of the run.
        fields: the fields of the map that differ from those of an im2col view.
        first: the first tap along W of the run.
        moves: the number of rows by which the run has moved at the tap.
        start: the distance of the first pixel of the run from that which the first output pixel reads at tap 0.
        offset: the distance of the pixels along W from those of the walk of TMA.
        halo: the pixels of the run after each 32, four rows of the buffer each, or after all of them in mode "weights".
        rows: the rows of the buffer.
        width: the output pixels of a row, and the pixels of the run that are of a row of an image.
        skipped: the first output pixel of a row that reads padding at the tap, and the one after the last; or None.
        every: the output pixels after which a row of the run follows, and the rows from one to the next; or None.
        has_padding: whether a run in mode "run" has the padding between rows of images.
    """

    load: ir.OpView
    map: TensorMap
    fields: Im2colFields
    first: int
    moves: int
    start: int
    offset: int
    halo: int | None
    rows: int
    width: int
    skipped: tuple[int, int] | None
    every: tuple[int, int] | None = None
    has_padding: bool = False

    @property
    def in_tensor_memory(self) -> bool:
        """Whether the rows move in tensor memory."""
        return bool(self.load.view.type.mode == STATIONARY)

    @property
    def skips_lanes(self) -> bool:
        """Whether multiplies skip lanes; those of mode "weights" clear columns."""
        return self.skipped is not None and self.load.view.type.mode != WEIGHTS

    @property
    def run(self) -> Hashable:
        """A key that is equal for the tiles of one run."""
        return run_of(self.load), self.first


@dataclass(frozen=True)
class Row:
    """The taps along W of a view, each with its run.

    Attributes:
        runs: for each tap, the first tap of its run, and the number of rows by which the run has moved.
        distances: the distance of each tap from the first pixel of its row of an image, at the first output pixel, in
            pixels of the stride, rounded down.
        remainders: the pixels that are left.
    """

    runs: tuple[tuple[int, int], ...]
    distances: tuple[int, ...]
    remainders: tuple[int, ...]

    @staticmethod
    def of(type: Im2colViewType) -> Row:
        """The taps along W of a type of views."""
        read = [tap * type.dilation[-1] - type.lower[-1] for tap in range(type.window[-1])]
        distances, remainders = zip(*(divmod(at, type.stride[-1]) for at in read), strict=True)
        runs: list[tuple[int, int]] = []
        newest: dict[int, int] = {}
        for tap, (distance, remainder) in enumerate(zip(distances, remainders, strict=True)):
            before = newest.get(remainder)
            moves = 0 if before is None else distance - distances[before]
            # A descriptor may start at any row.
            follows = before is not None and (moves == 1 or type.mode == RUN)
            runs.append((runs[before][0], runs[before][1] + moves) if before is not None and follows else (tap, 0))
            newest[remainder] = tap
        return Row(tuple(runs), distances, remainders)

    def most_moves(self, first: int | None = None) -> int:
        """The moves of the run that begins with a tap, or of any run."""
        return max(moves for begin, moves in self.runs if first is None or begin == first)


def run_of(load: ir.OpView) -> Hashable:
    """A key that is equal for loads of a block that differ in the tap along W alone."""
    return load.operation.block, load.view, *load.index, *list(load.offset)[:-1]


def skipped_pixels(moved: int, width: int) -> tuple[int, int] | None:
    """The output pixels of a row whose pixel, `moved` further, is outside of the row."""
    begin, end = (0, min(-moved, width)) if moved < 0 else (max(width - moved, 0), width)
    return (begin, end) if begin < end else None
