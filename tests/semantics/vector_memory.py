"""Elements in host memory: written, read back, and compared with the expected bits."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Bits of an element in memory, where the name of the type does not contain them.
_BITS = {"i1": 8, "bf16": 16, "tf32": 32, "f4E2M1FN": 4}
_BITS |= {"f8E4M3FN": 8, "f8E5M2": 8, "f8E8M0FNU": 8, "fnv8E5M3FNU": 8}
# Of each type with NaN: exponent bits, fraction bits, whether only the code of all ones is NaN, whether it has a sign.
_NAN_FIELDS = {
    "f16": (5, 10, False, True),
    "bf16": (8, 7, False, True),
    "f32": (8, 23, False, True),
    "tf32": (8, 23, False, True),
    "f64": (11, 52, False, True),
    "f8E5M2": (5, 2, False, True),
    "f8E4M3FN": (4, 3, True, True),
    "f8E8M0FNU": (8, 0, True, False),
    "fnv8E5M3FNU": (5, 3, True, False),
}
_FLOAT_CODES = {"f16": "e", "f32": "f", "f64": "d"}
# The largest alignment that a tensor map or `div_by` requires.
_ALIGNMENT = 256
_UNSPECIFIED_BYTE = 0x55

Bits = Sequence[int | None]


def storage_bits(element: str) -> int:
    if element.startswith("ptr"):
        return 64
    return _BITS.get(element) or int(element[1:])


def number(element: str, bits: int) -> int | float:
    """The value of a scalar argument; integers are signed."""
    if element == "i1":
        return bool(bits)
    if element == "bf16":
        return number("f32", bits << 16)
    if element in _FLOAT_CODES:
        width = {"f16": "H", "f32": "I", "f64": "Q"}[element]
        return struct.unpack(f"<{_FLOAT_CODES[element]}", struct.pack(f"<{width}", bits))[0]
    return bits - (1 << storage_bits(element)) if bits >> storage_bits(element) - 1 else bits


@dataclass(frozen=True)
class Buffer:
    """Elements in memory before a run (None if unspecified) and after it (None: the same)."""

    element: str
    before: Bits | None
    after: Bits | None

    def allocate(self) -> np.ndarray:
        """An array of the elements before the run, at a multiple of the largest alignment."""
        bits, count = storage_bits(self.element), len(self.before or self.after or ())
        size = -(-count * bits // 8)
        storage = np.full(size + _ALIGNMENT, _UNSPECIFIED_BYTE, np.uint8)
        start = -storage.ctypes.data % _ALIGNMENT
        array = storage[start : start + size]
        if self.before is not None:
            array[:] = np.frombuffer(_packed(self.before, bits), np.uint8)
        return array

    def check(self, array: np.ndarray, units: int) -> None:
        """Raises AssertionError if the array differs from the expected elements by more than `units`."""
        expected = self.before if self.after is None else self.after
        assert expected is not None
        found = unpacked(array.tobytes(), storage_bits(self.element), len(expected))
        required = [code if want is None else want for code, want in zip(found, expected, strict=True)]
        if not units or self.element not in _NAN_FIELDS:
            assert [_key(self.element, code) for code in found] == [_key(self.element, code) for code in required]
            return
        for code, want in zip(found, required, strict=True):
            a, b = _key(self.element, code), _key(self.element, want)
            assert (a is None) == (b is None), (code, want)
            assert a is None or b is None or abs(a - b) <= 2 * units, (code, want)


def _packed(codes: Bits, bits: int) -> bytes:
    assert all(code is not None for code in codes)
    whole = sum((code or 0) << bits * at for at, code in enumerate(codes))
    return whole.to_bytes(-(-len(codes) * bits // 8), "little")


def unpacked(stored: bytes, bits: int, count: int) -> list[int]:
    whole = int.from_bytes(stored, "little")
    return [whole >> bits * at & (1 << bits) - 1 for at in range(count)]


def _key(element: str, code: int) -> int | None:
    """Twice the rank of a code among the values of its type; None for every NaN."""
    if element not in _NAN_FIELDS:
        return code
    exponent, fraction, ones, signed = _NAN_FIELDS[element]
    everything = (1 << exponent + fraction) - 1
    magnitude = code & everything
    infinite = everything - ((1 << fraction) - 1)
    if magnitude == everything if ones else magnitude > infinite:
        return None
    # -0 has a key of its own, half a step below the key of +0.
    return -2 * magnitude - 1 if signed and code > everything else 2 * magnitude
