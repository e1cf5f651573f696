"""Integers that are a few bits of a word become floats without shifts and conversions: every value against numpy.

The oracle unpacks the bits of the words in numpy. All three float types represent each number exactly.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct

TARGETS = ("sm_100a", "sm_90a")
COUNT = 256
FLOATS = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32}
# The number of bits of an element, and how many of them a word of 32 bits has.
BITS = ((1, 32), (2, 16), (3, 8), (4, 8), (5, 4), (8, 4))


@ct.kernel
def unsigned_parts(X, R, bits: ct.Constant[int], parts: ct.Constant[int], added: ct.Constant[int]):
    """All elements of each word, from its lowest bits."""
    x = ct.load(X, (0,), (COUNT,))
    shifts = ct.arange(parts, dtype=ct.int32) * bits
    numbers = (x[:, None] >> shifts[None, :]) & ((1 << bits) - 1)
    ct.store(R, (0, 0), (numbers + added).astype(R.dtype))


@ct.kernel
def signed_parts(X, R, bits: ct.Constant[int], parts: ct.Constant[int]):
    """The same, with the sign in the highest bit of each element."""
    x = ct.load(X, (0,), (COUNT,))
    shifts = 32 - bits - ct.arange(parts, dtype=ct.int32) * bits
    ct.store(R, (0, 0), ((x[:, None] << shifts[None, :]) >> (32 - bits)).astype(R.dtype))


@ct.kernel
def signed_nibbles(X, R):
    """The nibbles of signed bytes; the lower one is shifted up and back."""
    x = ct.load(X, (0,), (COUNT,))
    low, high = ((x << 4) >> 4)[:, None], (x >> 4)[:, None]
    ct.store(R, (0, 0), ct.cat((low, high), 1).astype(R.dtype))


@ct.kernel
def centered_nibbles(X, R):
    """The nibbles of bytes minus 8, in integers of 8 bits."""
    x = ct.load(X, (0,), (COUNT,))
    low, high = (x & 15)[:, None], ((x >> 4) & 15)[:, None]
    ct.store(R, (0, 0), (ct.cat((low, high), 1) - 8).astype(R.dtype))


@ct.kernel
def resized(X, R):
    """Bits of words as bytes, and bits of bytes as integers of 32 bits."""
    x = ct.load(X, (0,), (COUNT,))
    bytes_ = (x >> 5).astype(ct.int8)
    ct.store(R, (0, 0), bytes_.astype(R.dtype)[None, :])
    ct.store(R, (1, 0), (bytes_ & 7).astype(ct.int32).astype(R.dtype)[None, :])
    ct.store(R, (2, 0), (bytes_ >> 3).astype(ct.int32).astype(R.dtype)[None, :])
    ct.store(R, (3, 0), (bytes_.astype(ct.int32) & 0x1F).astype(R.dtype)[None, :])
    ct.store(R, (4, 0), (((x ^ 5) >> 1) & 7).astype(R.dtype)[None, :])


@ct.kernel
def unaligned_bytes(X, R):
    """Signed bytes that begin inside of a byte of the word, as integers of 32 and of 8 bits."""
    x = ct.load(X, (0,), (COUNT,))
    ct.store(R, (0, 0), ((x << 20) >> 24).astype(R.dtype)[None, :])
    ct.store(R, (1, 0), (x >> 4).astype(ct.int8).astype(R.dtype)[None, :])


@ct.kernel
def truncated_sums(X, R):
    """Sums that integers of 16 bits hold, truncated to 8 bits: some wrap, and one needs all bits and the sign."""
    x = ct.load(X, (0,), (COUNT,)).astype(ct.int16)
    ct.store(R, (0, 0), ((x & 0x7F) + 100).astype(ct.int8).astype(R.dtype)[None, :])
    ct.store(R, (1, 0), ((x & 15) + 120).astype(ct.int8).astype(R.dtype)[None, :])
    ct.store(R, (2, 0), ((x & 0xFF) - 128).astype(ct.int8).astype(R.dtype)[None, :])


@ct.kernel
def other_bits(X, R):
    """Results of the same operations that are not bits of the word: they wrap, keep a gap, or lose the sign."""
    x = ct.load(X, (0,), (COUNT,))
    nibble = x & 15
    ct.store(R, (0, 0), ((x & 0x7F) + 100).astype(R.dtype)[None, :])
    ct.store(R, (1, 0), (x & 0x55).astype(R.dtype)[None, :])
    ct.store(R, (2, 0), (nibble << 2).astype(R.dtype)[None, :])
    ct.store(R, (3, 0), ((nibble << 6) >> 6).astype(R.dtype)[None, :])
    ct.store(R, (4, 0), (((nibble - 8) >> 1) & 7).astype(R.dtype)[None, :])


@ct.kernel
def divided(X, R):
    """Quotients and remainders of bytes, signed as the array, and of parts of them in integers of 32 bits."""
    x = ct.load(X, (0,), (COUNT,))
    wide = x.astype(ct.int32)
    ct.store(R, (0, 0), (x // 16).astype(R.dtype)[None, :])
    ct.store(R, (1, 0), (x % 16).astype(R.dtype)[None, :])
    ct.store(R, (2, 0), (wide // 8).astype(R.dtype)[None, :])
    ct.store(R, (3, 0), (wide % 32).astype(R.dtype)[None, :])
    ct.store(R, (4, 0), ((wide & 0x7F) // 4).astype(R.dtype)[None, :])
    ct.store(R, (5, 0), (wide // 3).astype(R.dtype)[None, :])
    ct.store(R, (6, 0), ct.cdiv(wide, 16).astype(R.dtype)[None, :])


@ct.kernel
def inverted(X, R):
    """Inverted bits: the highest one of a part is its sign then; all other bits, and the sign of a byte, are not."""
    x = ct.load(X, (0,), (COUNT,))
    nibble = x & 15
    ct.store(R, (0, 0), (nibble ^ 8).astype(R.dtype)[None, :])
    ct.store(R, (1, 0), ((nibble ^ 8) - 8).astype(R.dtype)[None, :])
    ct.store(R, (2, 0), (nibble ^ 4).astype(R.dtype)[None, :])
    ct.store(R, (3, 0), (nibble ^ 16).astype(R.dtype)[None, :])
    ct.store(R, (4, 0), (((x << 4) >> 4) ^ 8).astype(R.dtype)[None, :])
    ct.store(R, (5, 0), (x ^ -128).astype(R.dtype)[None, :])
    ct.store(R, (6, 0), (((nibble ^ 8) - 8) ^ 8).astype(R.dtype)[None, :])


def words() -> np.ndarray:
    """Words whose bytes have each value at each position."""
    byte = np.arange(COUNT, dtype=np.uint32)
    return (byte | (byte * 7 % 256) << 8 | (byte ^ 0xA5) << 16 | (255 - byte) << 24).astype(np.uint32)


def wrapped(numbers: np.ndarray) -> np.ndarray:
    """The numbers as integers of 8 bits."""
    return numbers.astype(np.uint8).view(np.int8).astype(np.int64)


def check(kernel, x: np.ndarray, expected: np.ndarray, result: str, target: str, *args: int) -> None:
    arrays = (x, np.zeros(expected.shape, FLOATS[result]))
    for (found,) in run_everywhere(kernel, (1,), (*arrays, *args), (1,), target=target, hints={}):
        np.testing.assert_array_equal(found.astype(np.float64), expected.astype(np.float64))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("result", "added"), [("float16", -8), ("bfloat16", 0), ("float32", 3)])
@pytest.mark.parametrize(("bits", "parts"), BITS)
def test_unsigned_parts_of_words(bits: int, parts: int, result: str, added: int, target: str) -> None:
    shifts = np.arange(parts, dtype=np.uint32) * bits
    expected = (words()[:, None] >> shifts & (1 << bits) - 1).astype(np.int64) + added
    check(unsigned_parts, words().view(np.int32), expected, result, target, bits, parts, added)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("bits", "parts"), [(2, 16), (4, 8), (8, 4)])
@pytest.mark.parametrize("result", FLOATS)
def test_signed_parts_of_words(bits: int, parts: int, result: str, target: str) -> None:
    shifts = np.arange(parts, dtype=np.uint32) * bits
    numbers = (words()[:, None] >> shifts & (1 << bits) - 1).astype(np.int64)
    expected = numbers - (numbers >> bits - 1 << bits)
    check(signed_parts, words().view(np.int32), expected, result, target, bits, parts)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", [signed_nibbles, centered_nibbles])
@pytest.mark.parametrize("result", FLOATS)
def test_nibbles_of_bytes(kernel, result: str, target: str) -> None:
    x = np.arange(COUNT).astype(np.uint8)
    numbers = np.stack((x & 15, x >> 4), 1).astype(np.int64)
    expected = numbers - 8 if kernel is centered_nibbles else numbers - (numbers >> 3 << 4)
    check(kernel, x.view(np.int8), expected, result, target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("result", FLOATS)
def test_bits_in_integers_of_other_sizes(result: str, target: str) -> None:
    x = words().view(np.int32)
    bytes_ = wrapped(x >> 5)
    expected = np.stack((bytes_, bytes_ & 7, bytes_ >> 3, bytes_ & 0x1F, (x ^ 5) >> 1 & 7))
    check(resized, x, expected, result, target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("result", FLOATS)
def test_signed_bytes_inside_of_two_bytes_of_a_word(result: str, target: str) -> None:
    x = words().view(np.int32)
    check(unaligned_bytes, x, np.stack((wrapped(x >> 4),) * 2), result, target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("result", FLOATS)
def test_sums_wrap_when_they_are_truncated(result: str, target: str) -> None:
    x = np.arange(COUNT, dtype=np.int64)
    expected = np.stack((wrapped((x & 0x7F) + 100), wrapped((x & 15) + 120), x - 128))
    check(truncated_sums, x.astype(np.uint8).view(np.int8), expected, result, target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("result", FLOATS)
def test_other_bits_are_not_taken_for_those_of_the_word(result: str, target: str) -> None:
    x = np.arange(COUNT, dtype=np.int64)
    nibble = x & 15
    cleared = wrapped(wrapped(nibble << 6) >> 6)
    expected = np.stack((wrapped((x & 0x7F) + 100), x & 0x55, nibble << 2, cleared, nibble - 8 >> 1 & 7))
    check(other_bits, x.astype(np.uint8).view(np.int8), expected, result, target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("result", FLOATS)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_quotients_round_down(dtype: type, result: str, target: str) -> None:
    bytes_ = np.arange(COUNT).astype(np.uint8).view(dtype)
    x = bytes_.astype(np.int64)
    expected = np.stack((x // 16, x % 16, x // 8, x % 32, (x & 0x7F) // 4, x // 3, -(-x // 16)))
    check(divided, bytes_, expected, result, target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("result", FLOATS)
def test_inverted_bits(result: str, target: str) -> None:
    x = np.arange(COUNT).astype(np.uint8).view(np.int8).astype(np.int64)
    nibble = x & 15
    signed = nibble - (nibble >> 3 << 4)
    expected = np.stack((nibble ^ 8, signed, nibble ^ 4, nibble ^ 16, signed ^ 8, x ^ -128, signed ^ 8))
    check(inverted, x.astype(np.int8), expected, result, target)


@pytest.mark.parametrize(("result", "magic"), [(np.float16, "0x64006400"), (ml_dtypes.bfloat16, "0x43004300")])
def test_nibbles_of_words_need_no_conversion(result: type, magic: str) -> None:
    """A pair of nibbles takes a permutation, one lop3, and one operation that subtracts the power of two."""
    args = (words().view(np.int32), np.zeros((COUNT, 8), result), 4, 8, 0)
    ptx = ct.compile(unsigned_parts, target="sm_90a", signature=ct.Signature.from_arguments(unsigned_parts, args)).ptx
    assert "cvt.rn" not in ptx
    assert f"0xf000f, {magic}, 0x6a;" in ptx
    # 256 words of eight nibbles, two of which are a pair, in 128 threads.
    assert ptx.count("lop3.b32") == 256 * 8 // 2 // 128
