"""The text of an instruction: PTX with `$0, $1, ...` for its results, then its operands.

`$4..$67` names a whole run, separated by commas, as wgmma and tcgen05.ld need it:

    wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {$0..$63}, $128, $129, $130, 1, 1, 0, 1;
"""

from __future__ import annotations

import functools
import re

_ONE_VALUE = re.compile(r"\$(\d+)")
_VALUES = re.compile(r"\$(\d+)(?:\.\.\$(\d+))?")


def _named(match: re.Match[str]) -> range:
    """The numbers of the values that a match of _VALUES names."""
    return range(int(match[1]), int(match[2] or match[1]) + 1)


@functools.lru_cache(maxsize=65536)
def mentioned(text: str) -> frozenset[int]:
    """The values named in the text."""
    return frozenset(number for match in _VALUES.finditer(text) for number in _named(match))


@functools.lru_cache(maxsize=65536)
def format_string(text: str) -> str:
    """The text as a template for str.format, which formats ten thousand instructions in milliseconds."""
    escaped = text.replace("{", "{{").replace("}", "}}")
    if ".." not in text:
        # Text and numbers in turn: re.sub with a template takes three times as long.
        first, *others = _ONE_VALUE.split(escaped)
        numbered = [f"{{{number}}}{after}" for number, after in zip(others[::2], others[1::2], strict=True)]
        return "".join([first, *numbered])
    return _VALUES.sub(lambda match: ", ".join(f"{{{number}}}" for number in _named(match)), escaped)
