"""The discrete Fourier transform of n = f0 * f1 * f2 points as dense transforms of f0, f1 and f2 points."""

import cuda.tile as ct

Extent = ct.Constant[int]


def parts(tile, shape):
    """The real and the imaginary part of a tile, which are the elements of its last dimension."""
    rows, columns, _ = tile.shape
    real = ct.extract(tile, index=(0, 0, 0), shape=(rows, columns, 1))
    imaginary = ct.extract(tile, index=(0, 0, 1), shape=(rows, columns, 1))
    return ct.reshape(real, shape), ct.reshape(imaginary, shape)


def table(array, rows, columns, shape):
    return parts(ct.load(array, index=(0, 0, 0), shape=(rows, columns, 2)), shape)


def dense(roots, x):
    """The product of complex matrices."""
    (a, b), (real, imaginary) = roots, x
    return (
        ct.matmul(a, real) - ct.matmul(b, imaginary),
        ct.matmul(a, imaginary) + ct.matmul(b, real),
    )


def multiplied(factors, x):
    """The product of complex numbers, element by element."""
    (a, b), (real, imaginary) = factors, x
    return a * real - b * imaginary, a * imaginary + b * real


def reshaped(x, shape):
    return ct.reshape(x[0], shape), ct.reshape(x[1], shape)


def rotated(x):
    """The tile with its second dimension last."""
    return ct.permute(x[0], (0, 2, 3, 1)), ct.permute(x[1], (0, 2, 3, 1))


@ct.kernel
def fft(
    X, Y, R0, R1, R2, T0, T1,
    n: Extent, f0: Extent, f1: Extent, f2: Extent, rows: Extent, packing: Extent,
):  # fmt: skip
    """R are the roots of unity of each factor, T the twiddle factors between the dense transforms."""
    shape = (rows, 2 * n // packing, packing)
    first = ct.bid(0)
    x = parts(ct.reshape(ct.load(X, index=(first, 0, 0), shape=shape), (rows, n, 2)), (rows, f0, f1 * f2))
    x = reshaped(dense(table(R0, f0, f0, (1, f0, f0)), x), (rows, n, 1))
    x = rotated(reshaped(multiplied(table(T0, f0, f1 * f2, (n, 1)), x), (rows, f0, f1, f2)))
    x = reshaped(x, (rows, f1, f0 * f2))
    x = reshaped(dense(table(R1, f1, f1, (1, f1, f1)), x), (rows, f1 * f2, f0))
    x = rotated(reshaped(multiplied(table(T1, f1, f2, (f1 * f2, 1)), x), (rows, f1, f2, f0)))
    x = dense(table(R2, f2, f2, (1, f2, f2)), reshaped(x, (rows, f2, f0 * f1)))
    # Point i0 + f0 * (i1 + f1 * i2) of the result is now at (i2, i0, i1).
    real, imaginary = reshaped(x, (rows, f2, f0, f1))
    real, imaginary = reshaped((ct.permute(real, (0, 1, 3, 2)), ct.permute(imaginary, (0, 1, 3, 2))), (rows, n, 1))
    ct.store(Y, index=(first, 0, 0), tile=ct.reshape(ct.cat((real, imaginary), -1), shape))
