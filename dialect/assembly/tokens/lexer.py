"""Splits Tile IR assembly into tokens. A whole type (`tile<4x2xf32>`) is one token, which makes reading fast."""

from __future__ import annotations

import re

from tilec.dialect.assembly.tokens.source import Source


def _nested(depth: int) -> str:
    return r"[^<>]*" if depth == 0 else rf"[^<>]*(?:<{_nested(depth - 1)}>[^<>]*)*"


# Skipped text uses possessive quantifiers (`++`); backtracking would turn the end of a last comment into a token.
# The deepest type is a view over a tensor_view of pointers with an attribute: four levels.
_TILE_TYPE = r"(?:!cuda_tile\.)?(?:tile|ptr|tensor_view|partition_view|strided_view|gather_scatter_view)"
_TYPE = rf"(?:{_TILE_TYPE}|!?tilex\.(?:im2col|packed)_view)<{_nested(4)}>"
_NAME = r"[A-Za-z_][A-Za-z0-9_$.]*"
_TOKEN = re.compile(
    rf"""(?:[ \t\r\n]++|//[^\n]*+)*+
    ( [,:()\[\]{{}}=<>?|*+]
    | %[A-Za-z0-9_$.\-]+(?:\#\d+)?
    | {_TYPE}
    | {_NAME}
    | ->|-
    | 0x[0-9a-fA-F]+
    | \d+\.\d*(?:[eE][+-]?\d+)?
    | \d+
    | "(?:[^"\\\n]|\\.)*"
    | [!\#^](?:{_NAME}|\d+)
    | @(?:{_NAME}|"(?:[^"\\\n]|\\.)*")
    | [^ \t\r\n]
    | \Z)""",
    re.VERBOSE,
)

END = ""
# The number of END tokens, which readers may look ahead to without a bounds check.
LOOKAHEAD = 4
_PUNCTUATION = ",:()[]{}=<>?|*+-_"


def tokenize(source: Source) -> tuple[list[str], list[int]]:
    """Tokens and their offsets, both terminated by END entries; raises InputError at an invalid character."""
    matches = list(_TOKEN.finditer(source.text))
    tokens = [match[1] for match in matches]
    offsets = [match.start(1) for match in matches]
    for token in set(tokens):
        if len(token) == 1 and not token.isalnum() and token not in _PUNCTUATION:
            at = tokens.index(token)
            source.fail(offsets[at], f"unexpected character {token!r}")
    end = len(source.text)
    return tokens + [END] * LOOKAHEAD, offsets + [end] * LOOKAHEAD


def is_name(token: str) -> bool:
    """Whether a token is a bare identifier."""
    return token[:1].isalpha() or token[:1] == "_"
