"""Cuts Tile IR assembly into tokens. A whole type (`tile<4x2xf32>`) is one token, which makes reading fast."""

from __future__ import annotations

import re

from tilec.dialect.assembly.source import Source


def _nested(depth: int) -> str:
    return r"[^<>]*" if depth == 0 else rf"[^<>]*(?:<{_nested(depth - 1)}>[^<>]*)*"


# The deepest type is a view over a tensor_view of pointers with an attribute: four levels.
_TYPE = rf"(?:!cuda_tile\.)?(?:tile|ptr|tensor_view|partition_view|strided_view|gather_scatter_view)<{_nested(4)}>"
_NAME = r"[A-Za-z_][A-Za-z0-9_$.]*"
_TOKEN = re.compile(
    rf"""(?P<space>[ \t\r\n]+|//[^\n]*)
    |%[A-Za-z0-9_$.\-]+(?:\#\d+)?
    |{_TYPE}
    |{_NAME}
    |[,:()\[\]{{}}=<>?|*+]
    |->|-
    |0x[0-9a-fA-F]+
    |\d+\.\d*(?:[eE][+-]?\d+)?
    |\d+
    |"(?:[^"\\\n]|\\.)*"
    |[!\#^](?:{_NAME}|\d+)
    |@(?:{_NAME}|"(?:[^"\\\n]|\\.)*")
    |(?P<bad>.)""",
    re.VERBOSE,
)

END = ""


def tokenize(source: Source) -> tuple[list[str], list[int]]:
    """Tokens and their offsets, both closed by END; raises InputError at a character that starts no token."""
    matches = [match for match in _TOKEN.finditer(source.text) if match.lastgroup != "space"]
    for match in matches:
        if match.lastgroup == "bad":
            source.fail(match.start(), f"unexpected character {match.group()!r}")
    return [*[match.group() for match in matches], END], [*[match.start() for match in matches], len(source.text)]


def is_name(token: str) -> bool:
    """Whether a token is a bare word."""
    return token[:1].isalpha() or token[:1] == "_"
