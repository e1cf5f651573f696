"""Views of images as the matrix of a convolution: output pixels by channels, at one tap of a window at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from tilec.errors import TileTypeError
from tilec.language.datatypes import DType
from tilec.language.kernel_function import in_kernels_only, kernel_function
from tilec.language.operations.convolution_window import WindowProblem, convolution_window, integer

if TYPE_CHECKING:
    from tilec.language.operations.operands import Index, Operand
    from tilec.language.operations.view import Array, Tile

# One integer for all spatial dimensions, or one per spatial dimension, outermost first.
PerDimension: TypeAlias = int | tuple[int, ...]
# The zeros before and after the elements of each spatial dimension: like PerDimension, or pairs (lower, upper).
Padding: TypeAlias = int | tuple[int | tuple[int, int], ...]


class Im2colView:
    """Images as a matrix of output pixels by channels, in tiles, at one tap of a window at a time.

    Example:
        >>> @ct.kernel
        ... def example(x):
        ...     view = ct.im2col_view(x, 3, padding=1, tile=(16, 8))
        ...     print(view.tile_shape, view.window, view.output_shape[0], view.num_tiles(0), view.num_tiles(1))
        >>> ct.launch(None, 1, example, (np.zeros((2, 5, 6, 8)),), backend="interpret")
        (16, 8) (3, 3) 5 4 1
    """

    @property
    def dtype(self) -> DType:
        """The element type of the array."""
        in_kernels_only("dtype")

    @property
    def tile_shape(self) -> tuple[int, int]:
        """The number of pixels and of channels of each tile, constants."""
        in_kernels_only("tile_shape")

    @property
    def window(self) -> tuple[int, ...]:
        """The number of taps in each spatial dimension, constants."""
        in_kernels_only("window")

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The number of output pixels in each spatial dimension: constants if the extents are, else int32 scalars."""
        in_kernels_only("output_shape")

    @kernel_function
    def num_tiles(self, axis: int) -> int:
        """The number of tiles along an axis.

        Args:
            axis: 0 for pixels or 1 for channels, a constant.

        Returns:
            An int32 scalar, or a constant if the extents of the array are constants.

        Raises:
            TileTypeError: the axis is out of range.

        Example:
            >>> @ct.kernel
            ... def example(x): print(ct.im2col_view(x, 3, tile=(8, 2)).num_tiles(0))
            >>> ct.launch(None, 1, example, (np.zeros((2, 5, 6, 2)),), backend="interpret")
            3
        """

    @kernel_function
    def load(
        self,
        index: Index,
        *,
        offset: Index | None = None,
        latency: int | None = None,
        allow_tma: bool | None = None,
    ) -> Tile:
        """The elements that the output pixels of a tile read at a tap of the window; zero outside of the array.

        An index beyond `num_tiles` and, at run time, an offset outside of the window are undefined behavior.

        Args:
            index: the number of the tile along pixels and along channels, integer scalars.
            offset: the tap, one integer scalar per spatial dimension, from 0 to `window` - 1. A window of one tap needs
                none.
            latency: hint, from 1 (low) to 10 (high): the expected latency of the load.
            allow_tma: hint: whether TMA may be used.

        Returns:
            A tile of shape `tile_shape`.

        Raises:
            TileTypeError: `index` or `offset` has another number of integer scalars, or a constant offset is outside
                of the window.
            TileValueError: `latency` is out of range.

        Example:
            >>> @ct.kernel
            ... def example(x): print(ct.im2col_view(x, 3, padding=1, tile=(4, 1)).load((0, 0), offset=0))
            >>> ct.launch(None, 1, example, (np.arange(1, 5).reshape(1, 4, 1),), backend="interpret")
            [[0], [1], [2], [3]]
        """

    @kernel_function
    def store(
        self,
        index: Index,
        tile: Operand,
        *,
        offset: Index | None = None,
        latency: int | None = None,
        allow_tma: bool | None = None,
    ) -> None:
        """Writes a tile where a load at the same index and offset reads; elements outside of the array are dropped.

        Args:
            index: the number of the tile along pixels and along channels, integer scalars.
            tile: the tile, broadcast to `tile_shape`.
            offset: the tap, as for `load`.
            latency: hint, from 1 (low) to 10 (high): the expected latency of the store.
            allow_tma: hint: whether TMA may be used.

        Raises:
            TileTypeError: the tile cannot be broadcast to `tile_shape` or converted to the element type, `index` or
                `offset` has another number of integer scalars, or a constant offset is outside of the window.
            TileValueError: `latency` is out of range.

        Example:
            >>> @ct.kernel
            ... def example(x): ct.im2col_view(x, 1, stride=2, tile=(2, 1)).store((0, 0), 7)
            >>> x = np.zeros((1, 4, 1), np.int32)
            >>> ct.launch(None, 1, example, (x,), backend="interpret")
            >>> x.ravel()
            array([7, 0, 7, 0], dtype=int32)
        """


@kernel_function
def im2col_view(
    array: Array,
    /,
    window: PerDimension,
    *,
    dilation: PerDimension = 1,
    stride: PerDimension = 1,
    padding: Padding = 0,
    tile: tuple[int, int],
    mode: str | None = None,
    interleave: int | None = None,
) -> Im2colView:
    """Images as the matrix of a convolution: rows are output pixels, columns are channels.

    Output pixel p reads, at tap o of the window, the element p * stride + o * dilation - lower of each spatial
    dimension. Tile (i, j) has the pixels from i * tile[0] and the channels from j * tile[1]; pixels are numbered in the
    row-major order of the images and the output pixels of each. All parameters but the array are constants; an integer
    stands for all spatial dimensions.

    Args:
        array: the images, [N, W, C], [N, H, W, C] or [N, D, H, W, C], of elements that can be zero.
        window: the number of taps per spatial dimension.
        dilation: the distance between taps, in elements.
        stride: the distance between output pixels, in elements.
        padding: the number of zeros around the elements per spatial dimension, an integer or a pair (lower, upper); a
            negative number leaves elements out.
        tile: the number of pixels and of channels of each tile, powers of two.
        mode: None: the compiler chooses between TMA and gathers. "im2col", "w" or "w128": loads are done by TMA in this
            mode (PTX ISA 5.5.4 and 5.5.5), or are an error. In the modes "w" and "w128" the pixels of a tile are at one
            position of the spatial dimensions but the last, and tiles are numbered position by position; "w128" needs
            128 pixels, or 256, 512 or 1024 that the blocks of a cluster divide (hint num_ctas). "run": one copy by TMA
            has the pixels of all taps along W, or it is an error; the products of these taps may be added in another
            order. "stationary": the same in tensor memory, with the tiles of "w128"; it needs the hint
            allow_unconfirmed. "weights": the filters are the first operand of the multiplies, with the tiles of "w", of
            64, 128 or 256 pixels and 32, 64 or 128 filters.
        interleave: c: the array has slices of c channels, which are 16 or 32 bytes, [N, C / c, spatial dimensions, c]:
            channel b is element b % c of slice b // c. The last extent must be c, or the behavior is undefined. TMA
            loads tiles of whole slices, whose number is a constant of the signature, and `mode` is None or "im2col".

    Returns:
        The view.

    Raises:
        TileTypeError: the array has another rank or elements without a zero, or a parameter is not such a constant.

    Example:
        >>> @ct.kernel
        ... def slices(x): print(ct.im2col_view(x, window=1, tile=(2, 8), interleave=4).load((0, 0)))
        >>> x = np.arange(16, dtype=np.int32).reshape(1, 2, 2, 4)
        >>> ct.launch(None, 1, slices, (x,), backend="interpret")
        [[0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]]
        >>> @ct.kernel
        ... def example(x):
        ...     view = ct.im2col_view(x, window=(2, 2), tile=(4, 1))
        ...     print(ct.load(view, (0, 0), offset=(0, 1)))
        >>> ct.launch(None, 1, example, (np.arange(9).reshape(1, 3, 3, 1),), backend="interpret")
        [[1], [2], [4], [5]]
    """


def _output_shape_on_host(
    extents: PerDimension,
    /,
    window: PerDimension,
    *,
    dilation: PerDimension = 1,
    stride: PerDimension = 1,
    padding: Padding = 0,
) -> tuple[int, ...]:
    items = extents if isinstance(extents, tuple | list) else (extents,)
    try:
        geometry = convolution_window(window, dilation, stride, padding, len(items))
        return tuple(geometry.output_extent(axis, integer(item, "extents")) for axis, item in enumerate(items))
    except WindowProblem as problem:
        message = f"'ct.im2col_output_shape', argument '{problem.parameter}': {problem.message}"
        raise TileTypeError(message) from problem


@kernel_function(on_host=_output_shape_on_host)
def im2col_output_shape(
    extents: PerDimension,
    /,
    window: PerDimension,
    *,
    dilation: PerDimension = 1,
    stride: PerDimension = 1,
    padding: Padding = 0,
) -> tuple[int, ...]:
    """The number of output pixels of a convolution in each spatial dimension; also available on the host.

    Args:
        extents: the extents of the spatial dimensions: constants, or integer scalars in a kernel.
        window: the number of taps, an integer or one per spatial dimension, as are the parameters that follow.
        dilation: the distance between taps, in elements.
        stride: the distance between output pixels, in elements.
        padding: the number of zeros around the elements, an integer or a pair (lower, upper) per spatial dimension.

    Returns:
        floor((extent + lower + upper - ((window - 1) * dilation + 1)) / stride) + 1, at least 0, per spatial dimension:
        constants where the extents are constants, else int32 scalars.

    Raises:
        TileTypeError: a parameter is not an integer or one entry per spatial dimension, or an entry is out of range.

    Example:
        >>> ct.im2col_output_shape((224, 224), window=7, stride=2, padding=3)
        (112, 112)
    """
