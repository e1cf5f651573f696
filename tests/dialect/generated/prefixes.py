"""Adds `cuda_tile.` to each operation and `!cuda_tile.` to each type of assembly."""

from __future__ import annotations

import re

# The first operation of a line, after its results.
_OPERATION = re.compile(r"^(\s*(?:%[\w$.:]+(?:, %[\w$.:]+)* = )?)([a-z_]\w*(?:\$\w+)?)(?=[\s(@]|$)", re.MULTILINE)
_TYPES = r"(?:tile|partition_view|strided_view|gather_scatter_view|tensor_view)<|token\b(?! ?=)"
# A string, which is not changed, or the beginning of a type.
_STRING_OR_TYPE = re.compile(rf'"(?:[^"\\]|\\.)*"|(?<![\w.%@])(?:{_TYPES})')


def prefixed(text: str) -> str:
    """The text of `Module.to_text` with all optional prefixes."""
    head, body = text.split("\n", 1)
    body = _OPERATION.sub(r"\1cuda_tile.\2", body)
    return f"{head}\n" + _STRING_OR_TYPE.sub(_with_prefix, body)


def _with_prefix(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else f"!cuda_tile.{found[0]}"
