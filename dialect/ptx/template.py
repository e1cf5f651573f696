"""The text of an instruction: PTX with `$0, $1, ...` for its results, then its operands.

`$4..$67` names a whole run, separated by commas, as wgmma and tcgen05.ld need it:

    wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {$0..$63}, $128, $129, $130, 1, 1, 0, 1;
"""

from __future__ import annotations

import functools
import re

_SINGLE_PLACEHOLDER = re.compile(r"\$(\d+)")
_PLACEHOLDER = re.compile(r"\$(\d+)(?:\.\.\$(\d+))?")


@functools.lru_cache(maxsize=65536)
def pieces(text: str) -> tuple[str | tuple[int, ...], ...]:
    """The text split at its placeholders: literal strings and the values between them."""
    found: list[str | tuple[int, ...]] = []
    end = 0
    for match in _PLACEHOLDER.finditer(text):
        first, last = match.group(1), match.group(2) or match.group(1)
        found += [text[end : match.start()], tuple(range(int(first), int(last) + 1))]
        end = match.end()
    return tuple(piece for piece in (*found, text[end:]) if piece)


@functools.lru_cache(maxsize=65536)
def mentioned(text: str) -> frozenset[int]:
    """The values named in the text."""
    return frozenset(index for piece in pieces(text) if isinstance(piece, tuple) for index in piece)


@functools.lru_cache(maxsize=65536)
def format_string(text: str) -> str:
    """The text as a template for str.format, which formats ten thousand instructions in milliseconds."""
    escaped = text.replace("{", "{{").replace("}", "}}")
    if ".." not in text:
        return _SINGLE_PLACEHOLDER.sub(r"{\1}", escaped)
    return _PLACEHOLDER.sub(_fields_of_run, escaped)


def _fields_of_run(match: re.Match[str]) -> str:
    """The fields of a placeholder of one value, or of a run."""
    first, last = match[1], match[2] or match[1]
    return ", ".join(f"{{{index}}}" for index in range(int(first), int(last) + 1))
