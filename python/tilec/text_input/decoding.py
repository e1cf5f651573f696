"""Decodes the content of a text file."""

from __future__ import annotations

from tilec.errors import InputError


def decoded(content: bytes, file: str) -> str:
    """UTF-8 text without its byte order mark; raises InputError if the content is not text."""
    zero = content.find(0)
    if zero >= 0:
        raise InputError(f"{file} is neither text nor Tile IR bytecode: NUL byte at offset {zero}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{file} is neither text nor Tile IR bytecode: invalid UTF-8 at offset {error.start}"
        ) from None
