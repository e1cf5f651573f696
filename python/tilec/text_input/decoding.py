"""The text of a file's bytes."""

from __future__ import annotations

from tilec.errors import InputError


def decoded(content: bytes, file: str) -> str:
    """UTF-8 text, without a mark of its byte order; raises InputError where it is none."""
    zero = content.find(0)
    if zero >= 0:
        raise InputError(f"{file} is neither text nor Tile IR bytecode: byte {zero} is 0, which no text holds")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is neither text nor Tile IR bytecode: byte {error.start} is no UTF-8") from None
