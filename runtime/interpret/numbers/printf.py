"""One number formatted by a directive of C's printf, by the C library itself."""

from __future__ import annotations

import ctypes

from tilec.dialect.print_format import Directive
from tilec.runtime.interpret.fault import Fault

_Number = ctypes.c_longlong | ctypes.c_ulonglong | ctypes.c_int | ctypes.c_double
_snprintf = ctypes.CDLL(None).snprintf


def formatted(directive: Directive, number: int | float) -> bytes:
    """The formatted number; raises Fault if the directive cannot print it."""
    problem = directive.problem(isinstance(number, float))
    if problem is not None:
        raise Fault(problem)
    flags, width, precision, conversion = directive.flags, directive.width, directive.precision, directive.conversion
    if directive.short_bits is not None and isinstance(number, int):
        number = _shortened(number, directive.short_bits, conversion in "di")
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


def _written(start: str, argument: _Number | bytes, end: str = "") -> bytes:
    form = (start + end).encode()
    buffer = ctypes.create_string_buffer(_snprintf(None, ctypes.c_size_t(0), form, argument) + 1)
    _snprintf(buffer, ctypes.c_size_t(len(buffer)), form, argument)
    return buffer.raw[:-1]
