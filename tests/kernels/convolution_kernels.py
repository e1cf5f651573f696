"""Convolutions of images with one to three spatial dimensions, as products of pixels x channels and channels x filters.

X is [N, spatial.., C], F is [taps, C, K], or [taps, K, C] if `by_filter`, and Y is [N, P.., K]. A tile is tm pixels by
tn filters, summed over tk channels at once. Of the spatial dimensions d, h, w: `s` is the window, `d` the dilation, `u`
the stride, `l` and `h` the padding before and after.
"""

import tilec as ct

Const = ct.Constant[int]
Flag = ct.Constant[bool]
ZERO = ct.PaddingMode.ZERO


def operand(tile):
    """float32 is multiplied in tf32."""
    return tile.astype(ct.tfloat32) if tile.dtype == ct.float32 else tile


def add_tap(images, F, tile, tap, offset, by_filter, total):
    """Adds the products of the tile (i, k) at one tap, for all channels."""
    tn, tk = total.shape[1], images.tile_shape[1]
    i, k = tile
    for c in range(images.num_tiles(1)):
        pixels = ct.load(images, (i, c), offset=offset)
        if by_filter:
            filters = ct.load(F, (tap, k, c), (1, tn, tk), padding_mode=ZERO).reshape((tn, tk)).transpose()
        else:
            filters = ct.load(F, (tap, c, k), (1, tk, tn), padding_mode=ZERO).reshape((tk, tn))
        total = ct.mma(operand(pixels), operand(filters), total)
    return total


def sum_over_taps(images, F, tile, by_filter, total):
    """The sum of the products of the tile (i, k) over the window and the channels."""
    if len(images.window) == 1:
        for s in range(images.window[0]):
            total = add_tap(images, F, tile, s, (s,), by_filter, total)
    elif len(images.window) == 2:
        for r in range(images.window[0]):
            for s in range(images.window[1]):
                total = add_tap(images, F, tile, r * images.window[1] + s, (r, s), by_filter, total)
    else:
        for t in range(images.window[0]):
            for r in range(images.window[1]):
                for s in range(images.window[2]):
                    tap = (t * images.window[1] + r) * images.window[2] + s
                    total = add_tap(images, F, tile, tap, (t, r, s), by_filter, total)
    return total


def convolve(images, F, result, by_filter, persistent):
    """Each block computes one tile, or, if `persistent`, every num_blocks-th tile with a grid of any size."""
    total = ct.zeros(result.tile_shape, ct.float32)
    if persistent:
        columns = result.num_tiles(1)
        for number in range(ct.bid(0), images.num_tiles(0) * columns, ct.num_blocks(0)):
            tile = (number // columns, number % columns)
            ct.store(result, tile, sum_over_taps(images, F, tile, by_filter, total).astype(result.dtype))
    else:
        tile = (ct.bid(0), ct.bid(1))
        ct.store(result, tile, sum_over_taps(images, F, tile, by_filter, total).astype(result.dtype))


@ct.kernel
def convolution_1d(
    X, F, Y, sw: Const, dw: Const, uw: Const, lw: Const, hw: Const, tm: Const, tn: Const, tk: Const,
    mode: ct.Constant[str], by_filter: Flag, persistent: Flag,
):  # fmt: skip
    images = ct.im2col_view(X, window=sw, dilation=dw, stride=uw, padding=((lw, hw),), tile=(tm, tk), mode=mode)
    convolve(images, F, ct.im2col_view(Y, window=1, tile=(tm, tn), mode=mode), by_filter, persistent)


@ct.kernel
def convolution_2d(
    X, F, Y, sh: Const, sw: Const, dh: Const, dw: Const, uh: Const, uw: Const, lh: Const, lw: Const, hh: Const,
    hw: Const, tm: Const, tn: Const, tk: Const, mode: ct.Constant[str], by_filter: Flag, persistent: Flag,
):  # fmt: skip
    images = ct.im2col_view(
        X, window=(sh, sw), dilation=(dh, dw), stride=(uh, uw), padding=((lh, hh), (lw, hw)), tile=(tm, tk), mode=mode
    )
    convolve(images, F, ct.im2col_view(Y, window=1, tile=(tm, tn), mode=mode), by_filter, persistent)


@ct.kernel
def convolution_3d(
    X, F, Y, sd: Const, sh: Const, sw: Const, dd: Const, dh: Const, dw: Const, ud: Const, uh: Const, uw: Const,
    ld: Const, lh: Const, lw: Const, hd: Const, hh: Const, hw: Const, tm: Const, tn: Const, tk: Const,
    mode: ct.Constant[str], by_filter: Flag, persistent: Flag,
):  # fmt: skip
    images = ct.im2col_view(
        X, window=(sd, sh, sw), dilation=(dd, dh, dw), stride=(ud, uh, uw), padding=((ld, hd), (lh, hh), (lw, hw)),
        tile=(tm, tk), mode=mode,
    )  # fmt: skip
    convolve(images, F, ct.im2col_view(Y, window=1, tile=(tm, tn), mode=mode), by_filter, persistent)
