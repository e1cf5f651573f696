"""Rules for the parameters of an im2col view; each returns the problem, or None."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.cuda_tile.type_rules import tile_problem
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.element_types import ELEMENT_TYPES

MODES = ("im2col", "w", "w128", "run", "stationary", "weights")
# The pixels that im2col::w::128 loads (PTX ISA 5.5.5.1).
PIXELS_OF_W128 = 128
# The pixels of a tile of this mode: the CTAs of a cluster divide tiles of more than one copy.
_TILES_OF_W128 = (PIXELS_OF_W128, 256, 512, 1024)
# The pixels of a tile, in the modes that demand them (PTX ISA 9.7.16.2.1: N of tcgen05.mma.ws).
TILE_PIXELS = {"w128": _TILES_OF_W128, "stationary": _TILES_OF_W128, "weights": (64, 128, 256)}
_RANKS = (3, 4, 5)
# The bytes of a pixel in a slice of channels (PTX ISA 5.5.6: NC/8HWC8 and NC/16HWC16 of 2-byte elements).
SLICE_BYTES = (16, 32)
_LIMIT = 1 << 31
# Elements of these types share bytes or have no zero, with which a view is padded.
NOT_VIEWED = ("f4E2M1FN", "f8E8M0FNU")


def im2col_view_problem(
    tile_shape: Sequence[int],
    tensor_view: ir.Type,
    window: Sequence[int],
    dilation: Sequence[int],
    stride: Sequence[int],
    lower: Sequence[int],
    upper: Sequence[int],
    mode: str | None,
    interleave: int | None = None,
) -> str | None:
    """The problem with the parameters of an im2col view, or None."""
    if not spell(tensor_view).startswith("tensor_view<"):
        return f"expected 'tensor_view' type, but got '{spell(tensor_view)}'"
    problem = _rank_problem(tensor_view, interleave) or _interleave_problem(tensor_view, interleave, mode)
    if problem is not None:
        return problem
    spatial = tensor_view.rank - (2 if interleave is None else 3)
    for name, values in (("window", window), ("dilation", dilation), ("stride", stride)):
        problem = _count_problem(name, values, spatial) or _positive_problem(name, values)
        if problem is not None:
            return problem
    for name, values in (("lower", lower), ("upper", upper)):
        problem = _count_problem(name, values, spatial) or _range_problem(name, values)
        if problem is not None:
            return problem
    return _tile_problem(tile_shape, tensor_view.element) or _mode_problem(mode, tile_shape)


def _rank_problem(tensor_view: ir.Type, interleave: int | None) -> str | None:
    if interleave is None and tensor_view.rank not in _RANKS:
        wanted = "a tensor of images, [N, W, C], [N, H, W, C] or [N, D, H, W, C]"
        return f"im2col_view expects {wanted}, but got rank {tensor_view.rank}"
    if interleave is not None and tensor_view.rank - 1 not in _RANKS:
        slices = f"[N, C/{interleave}, one to three spatial dimensions, {interleave}]"
        return f"im2col_view expects a tensor of slices of channels, {slices}, but got rank {tensor_view.rank}"
    return None


def _interleave_problem(tensor_view: ir.Type, interleave: int | None, mode: str | None) -> str | None:
    if interleave is None:
        return None
    if interleave * ELEMENT_TYPES[spell(tensor_view.element)].storage_bytes not in SLICE_BYTES:
        wanted = f"slices of {' or '.join(map(str, SLICE_BYTES))} bytes"
        return f"interleave expects {wanted}, but got {interleave} channels of {spell(tensor_view.element)}"
    if tensor_view.shape[-1] not in (None, interleave):
        return f"interleave expects an innermost extent of {interleave}, but got {tensor_view.shape[-1]}"
    if mode not in (None, "im2col"):
        return f"mode expects im2col or none with interleave: other modes have no slices, but got mode {mode}"
    return None


def _count_problem(name: str, values: Sequence[int], spatial: int) -> str | None:
    if len(values) != spatial:
        return f"{name} expects {spatial} values, one for each spatial dimension, but got {list(values)}"
    return None


def _positive_problem(name: str, values: Sequence[int]) -> str | None:
    if any(not 0 < value < _LIMIT for value in values):
        return f"{name} must be positive and below 2^31, but got {list(values)}"
    return None


def _range_problem(name: str, values: Sequence[int]) -> str | None:
    if any(not -_LIMIT <= value < _LIMIT for value in values):
        return f"{name} must be at least -2^31 and below 2^31, but got {list(values)}"
    return None


def _tile_problem(tile_shape: Sequence[int], element: ir.Type) -> str | None:
    if len(tile_shape) != 2:
        return f"the tile of an im2col_view has two dimensions, pixels and channels, but got {list(tile_shape)}"
    if spell(element) in NOT_VIEWED:
        return f"im2col_view does not support elements of {spell(element)}"
    return tile_problem(tile_shape, element)


def _mode_problem(mode: str | None, tile_shape: Sequence[int]) -> str | None:
    if mode is not None and mode not in MODES:
        return f"mode must be one of: {', '.join(MODES)}, but got: {mode}"
    if mode in TILE_PIXELS and tile_shape[0] not in TILE_PIXELS[mode]:
        return f"mode {mode} expects tiles of {pixels_text(mode)} pixels, but got {tile_shape[0]}"
    return None


def pixels_text(mode: str) -> str:
    """The numbers of pixels of the tiles of a mode, for messages."""
    *others, last = map(str, TILE_PIXELS[mode])
    return f"{', '.join(others)} or {last}" if others else last
