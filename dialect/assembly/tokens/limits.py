"""Limits checked before a text is read: UTF-8 strings, known escapes, bounded nesting of brackets.

MLIR's own parser has no such bounds: it runs over its stack, and strings in other encodings have no Python value.
"""

from __future__ import annotations

import re
from itertools import pairwise

from tilec.dialect.assembly.tokens.source import Source

# Regions, attributes, types and locations all nest in brackets. NVIDIA's disassembler follows 240 nested branches.
MAXIMUM_DEPTH = 512
# More digits than any number in a field or a type has.
MAXIMUM_DIGITS = 64
_NO_BRACKETS = bytes(set(range(256)) - set(b"()[]{}<>"))
_PAIRS = (b"()", b"[]", b"{}", b"<>")
_PIECE = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|->|[()\[\]{}<>]')
_DEFINITION = re.compile(r"([#!][A-Za-z_]\w*)\s*=")
_REFERENCE = re.compile(r"[#!][A-Za-z_]\w*")
_STRING = re.compile(r'(?P<string>"(?:[^"\\\n]|\\.)*")|//[^\n]*')
_WRONG_ESCAPE = re.compile(r'(?:[^\\]|\\(?:[0-9A-Fa-f]{2}|["\\nt]))*+(?P<escape>\\.)')
_HIGH_ESCAPE = re.compile(r"\\[89A-Fa-f][0-9A-Fa-f]")
_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2}|.)")
_LETTERS = {b"n": b"\n", b"t": b"\t"}


def check_limits(text: str, file: str) -> None:
    """Raises InputError at a string with invalid UTF-8 or an unknown escape, and at brackets nested too deeply.

    Of operations in the generic form, which have two brackets around a region, as many may nest as of others.
    """
    if "\\" in text:
        _check_strings(text, file)
    most = MAXIMUM_DEPTH * (2 if '"cuda_tile.' in text else 1)
    if _may_be_deep(text):
        _check_depth(text, file, most)
    if _DEFINITION.search(text):
        _check_aliases(text, file, most)


def _may_be_deep(text: str) -> bool:
    """A cheap conservative test for deeply nested brackets, which also counts those in strings and comments."""
    left = text.replace("->", "").encode().translate(None, _NO_BRACKETS)
    for _ in range(MAXIMUM_DEPTH // 8):
        before = len(left)
        for pair in _PAIRS:
            left = left.replace(pair, b"")
        if len(left) == before:
            break
    return len(left) >= MAXIMUM_DEPTH // 8


def _check_aliases(text: str, file: str, most: int) -> None:
    """Aliases nest as deeply as their definitions; the last one is used only by operations."""
    depths: dict[str, int] = {}
    found = list(_DEFINITION.finditer(text))
    for alias, following in pairwise(found):
        meaning = text[alias.end() : following.start()]
        used = _REFERENCE.findall(meaning) if "#" in meaning or "!" in meaning else ()
        inner = max((depths.get(name, 0) for name in used), default=0)
        depths[alias[1]] = inner + _depth(meaning)
        if depths[alias[1]] > most:
            Source(text, file).fail(alias.start(), f"aliases nest more than {most} levels deep")


def _depth(text: str) -> int:
    opening = sum(map(text.count, "([{<"))
    if opening < 4:
        return opening
    depth = deepest = 0
    for found in _PIECE.finditer(text):
        depth += (found[0] in "([{<") - (found[0] in ")]}>")
        deepest = max(deepest, depth)
    return deepest


def _check_depth(text: str, file: str, most: int) -> None:
    depth = 0
    for found in _PIECE.finditer(text):
        if found[0] in "([{<":
            depth += 1
            if depth > most:
                Source(text, file).fail(found.start(), f"brackets nest more than {most} levels deep")
        elif found[0] in ")]}>":
            depth -= 1


def _check_strings(text: str, file: str) -> None:
    for found in _STRING.finditer(text):
        string = found["string"]
        if string is None or "\\" not in string:
            continue
        wrong = _WRONG_ESCAPE.match(string)
        if wrong is not None:
            expected = r"expected one of \" \\ \n \t and \ with two hexadecimal digits"
            offset = found.start() + wrong.start("escape")
            Source(text, file).fail(offset, f"unknown escape in a string: {expected}, but got {wrong['escape']}")
        if _HIGH_ESCAPE.search(string):
            _check_encoding(string, found.start(), Source(text, file))


def _check_encoding(string: str, start: int, source: Source) -> None:
    try:
        _ESCAPE.sub(_unescaped, string.encode()).decode()
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        source.fail(start, f"expected a string in UTF-8, but got the byte 0x{byte:02X}")


def _unescaped(escape: re.Match[bytes]) -> bytes:
    word = escape[1]
    return bytes.fromhex(word.decode()) if len(word) == 2 else _LETTERS.get(word, word)
