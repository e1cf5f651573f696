"""Tiles of images that stay in tensor memory, where their rows move up by one from tap to tap along W.

    x0 = load %pixels[i, c] offset [r, 0];  sum0 = x0 @ w0 + sum     one copy has 128 pixels and those that follow
    x1 = load %pixels[i, c] offset [r, 1];  sum1 = x1 @ w1 + sum0    each row takes the next one: pixel i + 1

The pixels of a run are those of a row of each image, one image after the other, without the padding between them. A
row that gets a pixel of another image at a tap would read padding, so the multiply of this tap skips it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tilec.dialect.mlir import ir
from tilec.dialect.tilex.im2col_type import STATIONARY, Im2colViewType
from tilec.dialect.walk import operations_named, users_of
from tilec.lowering.plan.matrix.operand_source import is_rounded_by_tma
from tilec.lowering.target import Target
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile.analysis.tile_operations import PLAIN_MULTIPLIES
from tilec.lowering.tile_to_gpu.access.image_run import IMAGE_LOAD
from tilec.lowering.tile_to_gpu.access.tensor_maps import TensorMap
from tilec.lowering.tile_to_gpu.access.tensor_modes import Im2colFields, im2col_fields, map_with_fields

_CONVERSION = "cuda_tile.ftof"
_OTHER_USE = "only left operands of matrix multiplies in the loop or branch of the load stay in tensor memory"
# PTX ISA 5.5.5.1: the pixels that im2col::w::128 adds after each 32.
_MOST_NEW_PIXELS = 30


@dataclass(frozen=True)
class StationaryTile:
    """The tile of a load at one tap along W.

    Attributes:
        load: the load.
        map: the tensor map of the run.
        fields: the fields of the map that differ from those of an im2col view.
        tap: the tap along W: the number of rows by which the run has moved.
        halo: the pixels of the run after each 32; four rows of the buffer each.
        width: the output pixels of a row, and the pixels of a row of an image.
        skipped: the first output pixel of a row that reads padding at the tap, and the one after the last; or None.
    """

    load: ir.OpView
    map: TensorMap
    fields: Im2colFields
    tap: int
    halo: int
    width: int
    skipped: tuple[int, int] | None

    @property
    def run(self) -> Hashable:
        """A key that is equal for the tiles of one run."""
        return run_of(self.load)


def run_of(load: ir.OpView) -> Hashable:
    """A key that is equal for loads of a block that differ in the tap along W alone."""
    return load.operation.block, load.view, *load.index, *list(load.offset)[:-1]


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
        problem = _order_problem(members)
        tiles = [problem or refusal_of(op) or _tile(op, target) for op in members]
        refusal = next((tile for tile in tiles if isinstance(tile, str)), None)
        for op, tile in zip(members, tiles, strict=True):
            found |= dict.fromkeys([op.tile, *_operands(op)], refusal or tile)
    return found


def _is_stationary(view: ir.Value) -> bool:
    return isinstance(view.type, Im2colViewType) and view.type.mode == STATIONARY


def _operands(load: ir.OpView) -> list[ir.Value]:
    """The tile of a load, and its roundings to tf32, by TMA, if all users round it."""
    users = users_of(load.tile)
    rounded = [op.results[0] for op in users if op.name == _CONVERSION and is_rounded_by_tma(op.results[0])]
    return rounded if users and len(rounded) == len(users) else [load.tile]


def _order_problem(loads: Sequence[ir.OpView]) -> str | None:
    """Why rows that only move up do not have the tiles of loads of a run when multiplies read them, or None."""
    known = {op.tile: splat(op.offset[-1]) for op in loads}
    if None in known.values():
        return "offset: the tap along W is not a constant, also after the loop over it is unrolled"
    taps = {value: known[op.tile] or 0 for op in loads for value in _operands(op)}
    block, users = loads[0].operation.block, [user for value in taps for user in users_of(value)]
    if not all(user.name in PLAIN_MULTIPLIES and user.block == block for user in users):
        return _OTHER_USE
    # The multiplies in the order of the block.
    order = [op for op in block.operations if op.operation in users]
    if not all(op.lhs in taps and op.rhs not in taps for op in order):
        return _OTHER_USE
    sequence = [taps[op.lhs] for op in order]
    # PTX orders a shift after a multiply alone, not after a copy.
    if any(tap not in (before, before + 1) for before, tap in pairwise([0, *sequence])) or sequence[:1] == [1]:
        return f"offset: the rows move up by one tap at a time from tap 0 on, but multiplies have the taps {sequence}"
    return None


def _tile(load: ir.OpView, target: Target) -> StationaryTile | str:
    type = load.view.type
    if not target.loads_along_w:
        return f"mode: {target.name} has no tensor memory, in which rows move"
    if not target.loads_halos:
        return (
            "mode: NVIDIA does not document where im2col::w::128 stores the pixels after each 32: "
            "hint allow_unconfirmed lets the kernel rely on the order that tcgen05.cp reads"
        )
    taps, lower, upper = type.window[-1], type.lower[-1], type.upper[-1]
    if type.stride[-1] != 1 or type.dilation[-1] != 1:
        return f"stride and dilation: expected 1 along W, got {type.stride[-1]} and {type.dilation[-1]}"
    if lower + upper != taps - 1 or lower < 0 or upper < 0:
        expected = f"as many output pixels along W as the images have, which is a padding of {taps - 1} in all"
        return f"padding: expected {expected}, got {lower} and {upper}"
    width = type.tensor_view.shape[-2]
    if width is None:
        return "array: the width of the images is not known: give it in the signature, as in f16[?,?,56,64]"
    # The rows of the buffer are a multiple of the eight after which its swizzle repeats.
    halo = -(-(taps - 1) // 2) * 2
    if halo > _MOST_NEW_PIXELS:
        return f"window: expected at most {_MOST_NEW_PIXELS + 1} taps along W, got {taps}"

    def fields(swizzle: str) -> Im2colFields:
        return replace(im2col_fields(type, swizzle), lower=(0,), upper=(0,))

    map = map_with_fields(load.view, target, fields)
    if isinstance(map, str):
        return map
    if _operands(load) != [load.tile]:
        map = replace(map, element="tf32")
    tap = splat(load.offset[-1])
    assert tap is not None, "the order of the taps is known"
    return StationaryTile(load, map, fields(map.swizzle), tap, halo, width, _skipped(tap - lower, width))


def _skipped(moved: int, width: int) -> tuple[int, int] | None:
    """The output pixels of a row whose pixel, `moved` further, is outside of the row."""
    begin, end = (0, min(-moved, width)) if moved < 0 else (max(width - moved, 0), width)
    return (begin, end) if begin < end else None
