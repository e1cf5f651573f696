"""Tiles of images of which one copy has the pixels of all taps along W, without the padding between rows of images.

In mode "stationary" the rows of a tile stay in tensor memory and move up by one from tap to tap:

    x0 = load %pixels[i, c] offset [r, 0];  sum0 = x0 @ w0 + sum     one copy has 128 pixels and those that follow
    x1 = load %pixels[i, c] offset [r, 1];  sum1 = x1 @ w1 + sum0    each row takes the next one: pixel i + 1

The pixels of a run are those of a row of each image, one image after the other, without the padding between them. A
row that gets a pixel of another image at a tap would read padding, so the multiply of this tap skips it. In mode
"weights" each multiply reads the rows of its tap in shared memory, and a mask clears those rows. With a stride
a run has every `stride`-th pixel, so that taps which differ by the stride share a run: taps 0 and 2 of stride 2, not 1.
A tap that is further from the tap before it starts a new run.

In mode "run" each multiply reads the rows of its tap in shared memory too (dense_runs.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from itertools import pairwise

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.matrix_rules import MAXIMUM_SHIFTS, most_shifted_rows
from tilec.dialect.tile_gpu.operations.shifted_rows import LANE_GROUPS, MOST_OF_SPAN
from tilec.dialect.tilex.im2col_type import RUN, STATIONARY, WEIGHTS, Im2colViewType
from tilec.dialect.walk import operations_named, users_of
from tilec.lowering.plan.matrix.dense_runs import dense_tile
from tilec.lowering.plan.matrix.operand_source import is_rounded_by_tma, operand_source
from tilec.lowering.plan.matrix.runs_of_taps import Row, StationaryTile, run_of, skipped_pixels
from tilec.lowering.target import Target
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile.analysis.tile_operations import PLAIN_MULTIPLIES
from tilec.lowering.tile_to_gpu.access.alignment import element_bits
from tilec.lowering.tile_to_gpu.access.image_run import IMAGE_LOAD
from tilec.lowering.tile_to_gpu.access.tensor_modes import (
    OFFSET_LIMIT_ALONG_W,
    Im2colFields,
    im2col_fields,
    map_with_fields,
)

_OTHER_USE = "only left operands of matrix multiplies in the loop or branch of the load share a run of pixels"
# PTX ISA 5.5.5.1: the pixels that im2col::w::128 adds after each 32.
_MOST_NEW_PIXELS = 30


def mode_of_images(multiply: ir.OpView) -> str | None:
    """The mode of the images of which the lhs of a multiply is a tile, or None."""
    source = operand_source(multiply.lhs)
    return None if isinstance(source, str) or source.is_negated else getattr(source.load.view.type, "mode", None)


def is_weight_stationary(multiply: ir.OpView) -> bool:
    """Whether the lhs of a multiply is a tile of images in mode "weights"."""
    return mode_of_images(multiply) == WEIGHTS


def stationary_tiles(
    entry: ir.OpView, target: Target, refusal_of: Callable[[ir.OpView], str | None]
) -> dict[ir.Value, StationaryTile | str]:
    """The tiles of loads through views of this mode, or the reason why a load has none; `refusal_of` is that of TMA.

    Left operands have them, too, that are such tiles rounded to tf32.
    """
    loads = [op for op in operations_named(entry, (IMAGE_LOAD,)) if _is_stationary(op.view)]
    runs = defaultdict[Hashable, list[ir.OpView]](list)
    for op in loads:
        runs[run_of(op)].append(op)
    found: dict[ir.Value, StationaryTile | str] = {}
    for members in runs.values():
        problem = next((problem for problem in map(_order_problem, _moved_together(members)) if problem), None)
        tiles = [problem or refusal_of(op) or _tile(op, target) for op in members]
        refusal = next((tile for tile in tiles if isinstance(tile, str)), None) or _size_problem(tiles, target)
        for op, tile in zip(members, tiles, strict=True):
            found |= dict.fromkeys([op.tile, *_operands(op)], refusal or tile)
    return found


def _is_stationary(view: ir.Value) -> bool:
    type = view.type
    if not isinstance(type, Im2colViewType) or type.mode not in (STATIONARY, WEIGHTS, RUN):
        return False
    return type.mode != WEIGHTS or Row.of(type).most_moves() > 0


def _operands(load: ir.OpView) -> list[ir.Value]:
    """The tile of a load, and its roundings to tf32, by TMA, if all users round it."""
    users = users_of(load.tile)
    rounded = [op.results[0] for op in users if op.name == "cuda_tile.ftof" and is_rounded_by_tma(op.results[0])]
    return rounded if users and len(rounded) == len(users) else [load.tile]


def _moved_together(loads: Sequence[ir.OpView]) -> list[list[ir.OpView]]:
    """The loads of one block and position in the window by their run; together if a tap is not known."""
    row, groups = Row.of(loads[0].view.type), defaultdict[int, list[ir.OpView]](list)
    for op in loads:
        tap = splat(op.offset[-1])
        if tap is None:
            return [list(loads)]
        groups[row.runs[tap][0]].append(op)
    return list(groups.values())


def _order_problem(loads: Sequence[ir.OpView]) -> str | None:
    """Why rows that only move up do not have the tiles of loads of a run when multiplies read them, or None."""
    known = {op.tile: splat(op.offset[-1]) for op in loads}
    if None in known.values():
        return "offset: the tap along W is not a constant, also after the loop over it is unrolled"
    taps = {value: known[op.tile] or 0 for op in loads for value in _operands(op)}
    row = Row.of(loads[0].view.type)
    block, users = loads[0].operation.block, [user for value in taps for user in users_of(value)]
    if not all(user.name in PLAIN_MULTIPLIES and user.block == block for user in users):
        return _OTHER_USE
    # The multiplies in the order of the block.
    order = [op for op in block.operations if op.operation in users]
    if not all(op.lhs in taps and op.rhs not in taps for op in order):
        return _OTHER_USE
    if loads[0].view.type.mode != STATIONARY:
        return None
    sequence = [taps[op.lhs] for op in order]
    moves = [row.runs[tap][1] for tap in sequence]
    # PTX orders a shift after a multiply alone, not after a copy.
    if any(move not in (before, before + 1) for before, move in pairwise([0, *moves])) or moves[:1] == [1]:
        first = row.runs[sequence[0]][0]
        run = [tap for tap, (begin, _) in enumerate(row.runs) if begin == first]
        expected = f"a run has the taps {run}, one after the other from the first on"
        return f"offset: {expected}, but multiplies have the taps {sequence}"
    return None


def _size_problem(tiles: Sequence[StationaryTile | str], target: Target) -> str | None:
    """Why shared memory does not have room for the runs of a position and two tiles of filters, or None."""
    runs = {tile.first: tile for tile in tiles if isinstance(tile, StationaryTile) and not tile.in_tensor_memory}
    sizes, filters = list[int](), [0]
    for tile in runs.values():
        _, channels = tile.load.view.type.tile_shape
        size = channels * element_bits(tile.load.view.type.element) // 8
        sizes.append(tile.rows * size)
        filters += [size * user.results[0].type.shape[1] for lhs in _operands(tile.load) for user in users_of(lhs)]
    if sum(sizes) + 2 * max(filters) <= target.shared_bytes:
        return None
    return f"tile: its runs have {sum(sizes)} bytes, and {target.shared_bytes} are for them and two tiles of filters"


def _tile(load: ir.OpView, target: Target) -> StationaryTile | str:
    type = load.view.type
    if type.mode == RUN:
        return dense_tile(load, target)
    in_tensor_memory = type.mode == STATIONARY
    if not target.loads_along_w:
        return f"mode: {target.name} has no tensor memory, in which rows move"
    if not in_tensor_memory and not target.clears_columns:
        return (
            "mode: PTX ISA 9.7.16.4.3 describes the mask of columns in two ways: "
            "hint allow_unconfirmed lets the kernel rely on its examples"
        )
    if in_tensor_memory and not target.loads_halos:
        return (
            "mode: NVIDIA does not document where im2col::w::128 stores the pixels after each 32: "
            "hint allow_unconfirmed lets the kernel rely on the order that tcgen05.cp reads"
        )
    width, stride = type.tensor_view.shape[-2], type.stride[-1]
    if width is None:
        return "array: the width of the images is not known: give it in the signature, as in f16[?,?,56,64]"
    covered = (type.window[-1] - 1) * type.dilation[-1] + 1
    outputs = (width + type.lower[-1] + type.upper[-1] - covered) // stride + 1
    if outputs * stride != width:
        whole = f"a multiple of the stride {stride} as the width of images"
        expected = f"{whole}, and width / stride output pixels along W"
        return f"array, stride and padding: expected {expected}, got {width} and {outputs}"
    tap = splat(load.offset[-1])
    assert tap is not None, "the order of the taps is known"
    row = Row.of(type)
    first, moves = row.runs[tap]
    more = row.most_moves(first)
    most = _MOST_NEW_PIXELS if in_tensor_memory else min(_most_shift(lhs) for lhs in _operands(load))
    if more > most:
        return f"window: expected at most {most + 1} taps along W in a run, got {more + 1}"
    # The rows of the buffer are a multiple of the eight after which its swizzle repeats.
    halo = -(-more // 2) * 2 if in_tensor_memory else next(shift for shift in MAXIMUM_SHIFTS if shift >= more)
    # The walk may start before a row of an image, and not after it: an offset moves its pixels there.
    before, after = min(row.distances[first], 0), max(row.distances[first], 0)
    offset = after * stride + row.remainders[first]
    if offset > OFFSET_LIMIT_ALONG_W:
        found = f"tap {first} is {offset} pixels after the start of a row"
        return f"window and dilation: {found}, and an offset is at most {OFFSET_LIMIT_ALONG_W} (PTX ISA 5.5.5.4)"

    def fields(swizzle: str) -> Im2colFields:
        return replace(im2col_fields(type, swizzle), lower=(0,), upper=(1 - stride,))

    map = map_with_fields(load.view, target, fields)
    if isinstance(map, str):
        return map
    if _operands(load) != [load.tile]:
        map = replace(map, element="tf32")
    start = before * stride + type.lower[-1]
    skipped = skipped_pixels(row.distances[tap], outputs)
    padded = 0 if skipped is None else skipped[1] - skipped[0]
    if not in_tensor_memory and padded and not all(0 < span <= MOST_OF_SPAN for span in (padded, outputs - padded)):
        found = f"{padded} of the {outputs} output pixels of a row read padding at tap {tap}"
        return f"array and padding: a mask has spans of 1 to {MOST_OF_SPAN} pixels, and {found}"
    rows = type.tile_shape[0] + (LANE_GROUPS * halo if in_tensor_memory else halo)
    return StationaryTile(load, map, fields(map.swizzle), first, moves, start, offset, halo, rows, outputs, skipped)


def _most_shift(lhs: ir.Value) -> int:
    """The rows by which multiplies of a tile can move."""
    return min(most_shifted_rows(user.results[0].type.shape[1]) for user in users_of(lhs))
