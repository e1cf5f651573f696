"""The format string of a print: literal text and directives of C's printf, one per tile."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

# A directive ends at the first conversion character or second `%`.
_DIRECTIVE = re.compile(r"%[^diuoxXeEfFgGaAcsSpn%]*[diuoxXeEfFgGaAcsSpn%]")
# Flags, width, precision and length of C.
_PARTS = re.compile(r"%([-+ #0]*)([0-9]*)(\.[0-9]*)?(hh?|ll?|[Lqjzt])?([diuoxXeEfFgGaAcsp])")
# C guarantees 4095 characters per directive (ISO C 7.21.6.1, paragraph 15).
_MAX_CHARACTERS = 4095
_SHORT_BITS = {"hh": 8, "h": 16}


@dataclass(frozen=True)
class Directive:
    """A directive as written, and its flags, width, precision (with its period) and conversion.

    `short_bits` is the number of bits to which the lengths `hh` and `h` truncate an integer, None for other lengths,
    which have no effect: the element type determines the width.
    """

    text: str
    flags: str
    width: str
    precision: str
    short_bits: int | None
    conversion: str

    @property
    def is_signed(self) -> bool:
        """Whether the directive reads integers as signed."""
        return self.conversion not in "uoxXp"

    def problem(self, is_float: bool) -> str | None:
        """Why the directive cannot print a number, or None."""
        if is_float and self.conversion in "diuoxXcp":
            return f"'{self.text}' prints integers, got a float"
        return None


@functools.cache
def parse_format(text: str) -> tuple[str | Directive, ...]:
    """Literal text, in which `%%` is `%`, and directives in order; raises ValueError for an invalid directive."""
    found: list[str | Directive] = []
    end = 0
    for match in _DIRECTIVE.finditer(text):
        is_percent = match[0].endswith("%")
        found += [text[end : match.start()], "%" if is_percent else _directive(match[0])]
        end = match.end()
    return tuple(part for part in (*found, text[end:]) if part)


def _directive(text: str) -> Directive:
    found = _PARTS.fullmatch(text)
    if found is None:
        raise ValueError(f"'{text}' is not a printf directive for one number")
    flags, width, precision, length, conversion = found[1], found[2], found[3] or "", found[4], found[5]
    if max(int(width or 0), int(precision[1:] or 0)) > _MAX_CHARACTERS:
        raise ValueError(f"'{text}' exceeds the limit of {_MAX_CHARACTERS} characters")
    return Directive(text, flags, width, precision, _SHORT_BITS.get(length or ""), conversion)
