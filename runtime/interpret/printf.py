"""One number formatted by a directive of C's printf, by the C library itself."""

from __future__ import annotations

import ctypes
import re

from tilec.runtime.interpret.fault import Fault

# Flags, width, precision and length of C. Lengths above int are ignored: the element type determines the width.
_DIRECTIVE = re.compile(r"%([-+ #0]*)([0-9]*)(\.[0-9]*)?(hh?|ll?|[Lqjzt])?([diuoxXeEfFgGaAcsp])")
_SHORT = {"hh": 8, "h": 16}
# C guarantees 4095 characters per directive (ISO C 7.21.6.1, paragraph 15).
_MAX_CHARACTERS = 4095

_Number = ctypes.c_longlong | ctypes.c_ulonglong | ctypes.c_int | ctypes.c_double
_snprintf = ctypes.CDLL(None).snprintf


def printed(directive: str, number: int | float) -> str:
    """The formatted number; raises Fault if the directive is not valid for it."""
    found = _DIRECTIVE.fullmatch(directive)
    if found is None:
        raise Fault(f"'{directive}' is not a printf directive for one number")
    flags, width, precision, length, conversion = found[1], found[2], found[3] or "", found[4], found[5]
    if max(int(width or 0), int(precision[1:] or 0)) > _MAX_CHARACTERS:
        raise Fault(f"'{directive}' exceeds the limit of {_MAX_CHARACTERS} characters")
    if isinstance(number, float) and conversion in "diuoxXcp":
        raise Fault(f"'{directive}' prints integers, got a float")
    if length in _SHORT and isinstance(number, int):
        number = _shortened(number, _SHORT[length], conversion in "di")
    if conversion == "p":
        return _written(f"%{flags}{width}s", f"{number:#x}".encode())
    if conversion == "s":
        return _written(f"%{flags}{width}{precision}s", str(number).encode())
    return _written(f"%{flags}{width}{precision}", *_argument(conversion, number))


def _shortened(number: int, bits: int, is_signed: bool) -> int:
    low = number & ((1 << bits) - 1)
    return low - (1 << bits) if is_signed and low >> (bits - 1) else low


def _argument(conversion: str, number: int | float) -> tuple[_Number, str]:
    """The number as a C argument, and the conversion with the length modifier of that argument."""
    if conversion in "di":
        return ctypes.c_longlong(int(number)), f"ll{conversion}"
    if conversion in "uoxX":
        return ctypes.c_ulonglong(int(number)), f"ll{conversion}"
    if conversion == "c":
        return ctypes.c_int(int(number) & 0xFF), conversion
    return ctypes.c_double(number), conversion


def _written(start: str, argument: _Number | bytes, end: str = "") -> str:
    form = (start + end).encode()
    buffer = ctypes.create_string_buffer(_snprintf(None, ctypes.c_size_t(0), form, argument) + 1)
    _snprintf(buffer, ctypes.c_size_t(len(buffer)), form, argument)
    return buffer.raw[:-1].decode("latin-1")
