"""Matrix multiplication."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilec.language.kernel_function import kernel_function

if TYPE_CHECKING:
    from tilec.language.operations.view import Tile


@kernel_function
def mma(x: Tile, y: Tile, /, acc: Tile, *, use_fast_acc: bool = False) -> Tile:
    """x @ y + acc, accumulated in the element type of `acc`.

    float32 operands are multiplied in float32; to use tf32 tensor cores, convert both with `astype(ct.tfloat32)`.

    Args:
        x: a tile of shape (M, K) or (batch, M, K).
        y: a tile of shape (K, N) or (batch, K, N), of the element type of x; int8 and uint8 may be mixed, and floats of
            4, 6 and 8 bits (float8_e4m3fn, float8_e5m2, float6_e2m3fn, float6_e3m2fn, float4_e2m1fn).
        acc: a tile of shape (M, N) or (batch, M, N), of an accumulator type for the element type of x.
        use_fast_acc: whether products of floats of 8 bits and less may be accumulated with reduced precision: 13
            fraction bits on sm_90a. There each sum of 128 products is otherwise added in float32, and operands of less
            than 8 bits are multiplied in float16.

    Returns:
        The products plus `acc`, in the type of `acc`.

    Raises:
        TileTypeError: shapes do not match, or the element types are not a supported combination.

    Example:
        >>> @ct.kernel
        ... def example():
        ...     x = ct.arange(4, dtype=ct.float16).reshape((2, 2))
        ...     print(ct.mma(x, x, ct.ones((2, 2), ct.float32)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [[3.000000, 4.000000], [7.000000, 12.000000]]
    """


@kernel_function
def matmul(x: Tile, y: Tile, /) -> Tile:
    """x @ y in their common element type.

    Args:
        x: a tile of shape (M, K) or (batch, M, K); a vector is one row.
        y: a tile of shape (K, N) or (batch, K, N); a vector is one column.

    Returns:
        The product; the row axis of a vector x and the column axis of a vector y are removed.

    Raises:
        TileTypeError: shapes do not match, or the common element type cannot be multiplied.

    Example:
        >>> @ct.kernel
        ... def example():
        ...     x = ct.arange(4, dtype=ct.float32)
        ...     print(ct.matmul(x, x), ct.matmul(x.reshape((2, 2)), ct.ones(2, ct.float32)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        14.000000 [1.000000, 5.000000]
    """


@kernel_function
def mma_scaled(x: Tile, x_scale: Tile, y: Tile, y_scale: Tile, /, acc: Tile) -> Tile:
    """(x * x_scale) @ (y * y_scale) + acc, where each scale applies to 16 or 32 consecutive elements along K.

    The tensor cores of sm_100a scale tiles of a multiple of 128 rows. For other tiles, for float8_e5m3fnu scales and on
    sm_90a they sum the products of a block, which is multiplied by its scales and added to `acc` in float32.

    Args:
        x: a tile of shape (M, K) or (batch, M, K), of floats of 4, 6 or 8 bits.
        x_scale: the scales of x, of shape (M, K / 32) or (M, K / 16).
        y: a tile of shape (K, N) or (batch, K, N), of floats of 4, 6 or 8 bits; with another type than x, or with 6
            bits, scales are float8_e8m0fnu, one per 32 elements.
        y_scale: the scales of y, of shape (K / 32, N) or (K / 16, N).
        acc: a float32 tile of shape (M, N) or (batch, M, N).

    Returns:
        The products plus `acc`, float32.

    Raises:
        TileTypeError: shapes do not match, or the element types are not a supported combination.

    Example:
        >>> @ct.kernel
        ... def example():
        ...     x, two = ct.ones((2, 32), ct.float8_e4m3fn), ct.full((2, 1), 2.0, ct.float8_e8m0fnu)
        ...     print(ct.mma_scaled(x, two, x.transpose(), two.transpose(), ct.zeros((2, 2), ct.float32)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [[128.000000, 128.000000], [128.000000, 128.000000]]
    """


@kernel_function
def mma_sparse(x: Tile, metadata: Tile, y: Tile, /, acc: Tile) -> Tile:
    """dense(x, metadata) @ y + acc, where x holds two of each four elements along K (float32: one of each two).

    `ct.compress_2_4` makes x and its metadata from a matrix. Metadata that names no two elements in ascending order is
    undefined behavior. Elements of y that meet no element of x must be finite: whether they are multiplied by zero or
    left out is not specified. Tensor cores leave them out for tiles of a multiple of 128 rows on sm_100a, and of 64
    rows on sm_90a; other multiplies are done with a dense x.

    Args:
        x: the kept elements, a tile of shape (M, K / 2) of float16, bfloat16, tfloat32, float8_e4m3fn, float8_e5m2,
            int8 or uint8.
        metadata: a tile of uint32 or int32 of shape (M, K / 32), for tfloat32 (M, K / 16). M is a multiple of 16 if
            elements have more than 8 bits.
        y: a tile of shape (K, N), of the element type of x; int8 and uint8 may be mixed.
        acc: a tile of shape (M, N), of an accumulator type for the element type of x.

    Returns:
        The products plus `acc`, in the type of `acc`.

    Raises:
        TileTypeError: shapes do not match, or the element types are not a supported combination.

    Example:
        >>> dense = np.zeros((16, 32), np.int8)
        >>> dense[0, :8] = [1, 2, 0, 0, 0, 3, 0, 4]
        >>> values, metadata = ct.compress_2_4(dense)
        >>> @ct.kernel
        ... def example(values, metadata):
        ...     x = ct.load(values, (0, 0), (1, 16))
        ...     y = ct.arange(32, dtype=ct.int8).reshape((32, 1))
        ...     acc = ct.zeros((1, 1), ct.int32)
        ...     print(ct.mma_sparse(x, ct.load(metadata, (0, 0), (1, 1)), y, acc))
        >>> ct.launch(None, 1, example, (values, metadata), backend="interpret")
        [[45]]
    """
