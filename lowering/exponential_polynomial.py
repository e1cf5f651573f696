"""The polynomial that computes 2**x without MUFU, which elements of a thread it computes, and its operations.

    n = floor(clamped x), f = clamped x - n, 2**x = 2**n * (1 + f * q(f)), q of degree 5

The error is at most 1.29 units in the last place, and 2**-23.6 of the result: less than the 2 units of
`ex2.approx.ftz.f32` (PTX ISA 9.7.3.21). Powers of two are exact.
"""

from __future__ import annotations

# The coefficients of q, the constant first: the least maximum error of 1 + f * q(f) from 2**f in 0 <= f <= 1, rounded
# to f32. At f = 1, to which the fraction of a small negative x is rounded, the result is 2.
COEFFICIENTS = tuple(
    map(
        float.fromhex,
        ("0x1.62e42ap-1", "0x1.ebfda8p-3", "0x1.c68336p-5", "0x1.3d3b88p-7", "0x1.457324p-10", "0x1.c9112ep-13"),
    )
)
# A sum of f32 from 2**23 to 2**24 is an integer. Its low bits are n + 127, the exponent of 2**n.
SHIFTER = 1.5 * 2.0**23 + 127
# The bits of an f32 below its exponent.
FRACTION_BITS = 23
# The exponent of 2**n is 0 below, so that the result is zero, and 255 from here on, so that it is infinity.
LEAST, GREATEST = -127.0, 128.0
# Per element: n twice, as bits and as a float, the fraction, the polynomial and the product; two clamps and a shift.
FMA_OPERATIONS = 3 + len(COEFFICIENTS) + 1
ALU_OPERATIONS = 3


def is_polynomial(pair: int, share: int, parts: int) -> bool:
    """Whether polynomials compute a pair of elements of a thread: `share` of `parts` pairs, spread evenly."""
    return (pair + 1) * share // parts > pair * share // parts


def polynomial_elements(elements: int, share: int, parts: int) -> int:
    """The number of elements that polynomials compute, of all `elements` of a thread."""
    return 2 * (elements // 2 * share // parts)
