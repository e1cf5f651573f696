"""The relatives of convolution: gradients, transposed and grouped convolutions, depthwise ones, and pooling.

Images are [N, H, W, C] and filters [K, R, S, C], unless a kernel says otherwise. One number for the stride, the
dilation and the padding holds for all spatial dimensions.
"""

import tilec as ct

Const = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def input_gradient(DY, F, DX, R: Const, S: Const, dilation: Const, padding: Const, tm: Const, tn: Const, tk: Const):
    """The gradient of the images for a stride of one: the convolution of dy with the reversed filters.

    dx[n, h, w, c] is the sum of dy[n, h + padding - r dilation, w + padding - s dilation, k] f[k, r, s, c].
    """
    reach = ((R - 1) * dilation, (S - 1) * dilation)
    gradients = ct.im2col_view(
        DY, window=(R, S), dilation=dilation, padding=(reach[0] - padding, reach[1] - padding), tile=(tm, tk)
    )
    i, c = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for r in range(R):
        for s in range(S):
            for k in range(gradients.num_tiles(1)):
                dy = ct.load(gradients, (i, k), offset=(R - 1 - r, S - 1 - s))
                f = ct.load(F, (k, r, s, c), (tk, 1, 1, tn), padding_mode=ZERO).reshape((tk, tn))
                total = ct.mma(dy, f, total)
    ct.store(ct.im2col_view(DX, window=1, tile=(tm, tn)), (i, c), total.astype(DX.dtype))


@ct.kernel
def strided_input_gradient(DY, F, DX, R: Const, stride: Const, padding: Const, tm: Const, tn: Const, tk: Const):
    """The gradient of the images for any stride, and the transposed convolution; filters are R x R.

    Elements h = p stride + a - padding % stride are the phase a of dx. They depend on the taps a, a + stride, .. alone,
    each a pixel of dy before the one of the tap before: a convolution of dy with a stride of one. Block (i, c, z)
    computes a tile of phase z. The upper paddings give all phases as many pixels, and are enough for the last ones.
    """
    taps = ct.cdiv(R, stride)
    upper = ct.cdiv(R - 1 - padding, stride)
    gradients = ct.im2col_view(DY, window=taps, padding=((taps - 1 - padding // stride, upper),) * 2, tile=(tm, tk))
    phases = ct.im2col_view(
        DX, window=stride, stride=stride, padding=((padding % stride, padding - R + (1 + upper) * stride),) * 2,
        tile=(tm, tn),
    )  # fmt: skip
    i, c = ct.bid(0), ct.bid(1)
    a, b = ct.bid(2) // stride, ct.bid(2) % stride
    total = ct.zeros((tm, tn), ct.float32)
    for r in range(a, R, stride):
        for s in range(b, R, stride):
            for k in range(gradients.num_tiles(1)):
                dy = ct.load(gradients, (i, k), offset=(taps - 1 - r // stride, taps - 1 - s // stride))
                f = ct.load(F, (k, r, s, c), (tk, 1, 1, tn), padding_mode=ZERO).reshape((tk, tn))
                total = ct.mma(dy, f, total)
    ct.store(phases, (i, c), total.astype(DX.dtype), offset=(a, b))


@ct.kernel
def filter_gradient(
    X, DY, DF, R: Const, S: Const, stride: Const, dilation: Const, padding: Const, tm: Const, tn: Const, tk: Const
):
    """The gradient of the filters: for each tap, the product of dy transposed and of the pixels that the tap reads."""
    pixels = ct.im2col_view(X, window=(R, S), dilation=dilation, stride=stride, padding=padding, tile=(tk, tn))
    gradients = ct.im2col_view(DY, window=1, tile=(tk, tm))
    k, c, r, s = ct.bid(0), ct.bid(1), ct.bid(2) // S, ct.bid(2) % S
    total = ct.zeros((tm, tn), ct.float32)
    for i in range(pixels.num_tiles(0)):
        dy = ct.load(gradients, (i, k))
        total = ct.mma(dy.transpose(), ct.load(pixels, (i, c), offset=(r, s)), total)
    ct.store(DF, (k, r, s, c), total.reshape((tm, 1, 1, tn)).astype(DF.dtype))


@ct.kernel
def filter_gradient_in_parts(
    X, DY, DF, R: Const, S: Const, stride: Const, padding: Const, parts: Const, tm: Const, tn: Const, tk: Const
):
    """The same for filters [R, S, C, K], added to DF in float32: block z sums part z % parts of the pixels."""
    pixels = ct.im2col_view(X, window=(R, S), stride=stride, padding=padding, tile=(tk, tm))
    gradients = ct.im2col_view(DY, window=1, tile=(tk, tn))
    c, k, tap, part = ct.bid(0), ct.bid(1), ct.bid(2) // parts, ct.bid(2) % parts
    total = ct.zeros((tm, tn), ct.float32)
    for i in range(part, pixels.num_tiles(0), parts):
        x = ct.load(pixels, (i, c), offset=(tap // S, tap % S))
        total = ct.mma(x.transpose(), ct.load(gradients, (i, k)), total)
    DF.tiled_view((1, 1, tm, tn)).atomic_store_add((tap // S, tap % S, c, k), total.reshape((1, 1, tm, tn)))


@ct.kernel
def grouped(X, F, Y, R: Const, S: Const, stride: Const, padding: Const, tm: Const, tn: Const, tk: Const):
    """Group g of the filters [K, R, S, C / groups] reads group g of the channels.

    The channels and the filters of a group are multiples of the tile.
    """
    channels, filters = F.shape[3], F.shape[0] // (X.shape[3] // F.shape[3])
    pixels = ct.im2col_view(X, window=(R, S), stride=stride, padding=padding, tile=(tm, tk))
    i, k = ct.bid(0), ct.bid(1)
    group = k * tn // filters
    total = ct.zeros((tm, tn), ct.float32)
    for r in range(R):
        for s in range(S):
            for c in range(channels // tk):
                x = ct.load(pixels, (i, group * (channels // tk) + c), offset=(r, s))
                f = ct.load(F, (k, r, s, c), (tn, 1, 1, tk), padding_mode=ZERO).reshape((tn, tk))
                total = ct.mma(x, f.transpose(), total)
    ct.store(ct.im2col_view(Y, window=1, tile=(tm, tn)), (i, k), total.astype(Y.dtype))


@ct.kernel
def grouped_slices(X, F, Y, R: Const, S: Const, stride: Const, padding: Const, tm: Const, tn: Const, tk: Const):
    """The same for groups of any size, each a slice of the channels; block (i, k, z) computes a tile of group z."""
    i, k, group = ct.bid(0), ct.bid(1), ct.bid(2)
    channels, filters = F.shape[3], F.shape[0] // ct.num_blocks(2)
    own = X.slice(3, group * channels, (group + 1) * channels)
    weights = F.slice(0, group * filters, (group + 1) * filters)
    pixels = ct.im2col_view(own, window=(R, S), stride=stride, padding=padding, tile=(tm, tk))
    total = ct.zeros((tm, tn), ct.float32)
    for r in range(R):
        for s in range(S):
            for c in range(pixels.num_tiles(1)):
                f = ct.load(weights, (k, r, s, c), (tn, 1, 1, tk), padding_mode=ZERO).reshape((tn, tk))
                total = ct.mma(ct.load(pixels, (i, c), offset=(r, s)), f.transpose(), total)
    result = Y.slice(3, group * filters, (group + 1) * filters)
    ct.store(ct.im2col_view(result, window=1, tile=(tm, tn)), (i, k), total.astype(Y.dtype))


@ct.kernel
def depthwise(X, F, Y, R: Const, S: Const, stride: Const, dilation: Const, padding: Const, tm: Const, tc: Const):
    """One filter per channel, F [R, S, C]: no matrix multiply, and sums in float32."""
    pixels = ct.im2col_view(X, window=(R, S), dilation=dilation, stride=stride, padding=padding, tile=(tm, tc))
    i, c = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tc), ct.float32)
    for r in range(R):
        for s in range(S):
            x = ct.load(pixels, (i, c), offset=(r, s))
            f = ct.load(F, (r, s, c), (1, 1, tc), padding_mode=ZERO).reshape((1, tc))
            total = total + x.astype(ct.float32) * f.astype(ct.float32)
    ct.store(ct.im2col_view(Y, window=1, tile=(tm, tc)), (i, c), total.astype(Y.dtype))


@ct.kernel
def pointwise(X, F, Y, stride: Const, tm: Const, tn: Const, tk: Const):
    """A window of one tap, F [C, K]: the matrix multiply of pixels and filters."""
    pixels = ct.im2col_view(X, window=1, stride=stride, tile=(tm, tk))
    i, k = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for c in range(pixels.num_tiles(1)):
        f = ct.load(F, (c, k), (tk, tn), padding_mode=ZERO)
        total = ct.mma(ct.load(pixels, (i, c)), f, total)
    ct.store(ct.im2col_view(Y, window=1, tile=(tm, tn)), (i, k), total.astype(Y.dtype))


def first_elements(view, i, stride, padding):
    """The rows and the columns that the pixels of tile i read at the tap (0, 0), one pixel per row of a tile."""
    P, Q = view.output_shape
    pixel = i * view.tile_shape[0] + ct.arange(view.tile_shape[0], dtype=ct.int32)[:, None]
    return pixel // Q % P * stride - padding, pixel % Q * stride - padding


def exists(X, h, w):
    """Whether the images have an element in these rows and columns."""
    return (h >= 0) & (h < X.shape[1]) & (w >= 0) & (w < X.shape[2])


@ct.kernel
def max_pool(X, Y, R: Const, S: Const, stride: Const, padding: Const, tm: Const, tc: Const):
    """The largest element in each window. The zeros around the images do not take part."""
    pixels = ct.im2col_view(X, window=(R, S), stride=stride, padding=padding, tile=(tm, tc))
    i, c = ct.bid(0), ct.bid(1)
    h, w = first_elements(pixels, i, stride, padding)
    largest = ct.full((tm, tc), float("-inf"), X.dtype)
    for r in range(R):
        for s in range(S):
            x = ct.load(pixels, (i, c), offset=(r, s))
            largest = ct.maximum(largest, ct.where(exists(X, h + r, w + s), x, float("-inf")))
    ct.store(ct.im2col_view(Y, window=1, tile=(tm, tc)), (i, c), largest)


@ct.kernel
def average_pool(
    X, Y, R: Const, S: Const, stride: Const, padding: Const, tm: Const, tc: Const,
    count_padding: ct.Constant[bool],
):  # fmt: skip
    """The mean of each window, of all its elements or of those in the images."""
    pixels = ct.im2col_view(X, window=(R, S), stride=stride, padding=padding, tile=(tm, tc))
    i, c = ct.bid(0), ct.bid(1)
    h, w = first_elements(pixels, i, stride, padding)
    total, count = ct.zeros((tm, tc), ct.float32), ct.zeros((tm, 1), ct.float32)
    for r in range(R):
        for s in range(S):
            total = total + ct.load(pixels, (i, c), offset=(r, s)).astype(ct.float32)
            count = count + (1.0 if count_padding else ct.where(exists(X, h + r, w + s), 1.0, 0.0))
    ct.store(ct.im2col_view(Y, window=1, tile=(tm, tc)), (i, c), (total / count).astype(Y.dtype))


@ct.kernel
def causal(X, F, Y, S: Const, dilation: Const, tm: Const, tn: Const, tk: Const):
    """Sequences [N, L, C] with filters [S, C, K]: output t reads the elements t - (S - 1) dilation to t."""
    before = (((S - 1) * dilation, 0),)
    steps = ct.im2col_view(X, window=S, dilation=dilation, padding=before, tile=(tm, tk))
    i, k = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for s in range(S):
        for c in range(steps.num_tiles(1)):
            f = ct.load(F, (s, c, k), (1, tk, tn), padding_mode=ZERO).reshape((tk, tn))
            total = ct.mma(ct.load(steps, (i, c), offset=s), f, total)
    ct.store(ct.im2col_view(Y, window=1, tile=(tm, tn)), (i, k), total.astype(Y.dtype))


@ct.kernel
def causal_depthwise(X, F, B, Y, S: Const, tm: Const, tc: Const):
    """The short convolution of state-space models: F [S, C], bias B [C], and SiLU of the sum."""
    steps = ct.im2col_view(X, window=S, padding=((S - 1, 0),), tile=(tm, tc))
    i, c = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tc), ct.float32) + ct.load(B, c, tc, padding_mode=ZERO).astype(ct.float32)
    for s in range(S):
        f = ct.load(F, (s, c), (1, tc), padding_mode=ZERO).astype(ct.float32)
        total = total + ct.load(steps, (i, c), offset=s).astype(ct.float32) * f
    result = total / (1.0 + ct.exp(-total))
    ct.store(ct.im2col_view(Y, window=1, tile=(tm, tc)), (i, c), result.astype(Y.dtype))


@ct.kernel
def volumes(X, F, Y, T: Const, R: Const, S: Const, stride: Const, padding: Const, tm: Const, tn: Const, tk: Const):
    """Volumes [N, D, H, W, C] with filters [T, R, S, C, K]."""
    pixels = ct.im2col_view(X, window=(T, R, S), stride=stride, padding=padding, tile=(tm, tk))
    i, k = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for tap in range(T * R * S):
        t, r, s = tap // (R * S), tap // S % R, tap % S
        for c in range(pixels.num_tiles(1)):
            f = ct.load(F, (t, r, s, c, k), (1, 1, 1, tk, tn), padding_mode=ZERO).reshape((tk, tn))
            total = ct.mma(ct.load(pixels, (i, c), offset=(t, r, s)), f, total)
    ct.store(ct.im2col_view(Y, window=1, tile=(tm, tn)), (i, k), total.astype(Y.dtype))
