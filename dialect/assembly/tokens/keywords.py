"""Diagnostics for unknown keywords of enumerations."""

from __future__ import annotations

from tilec.dialect.fields import AttributeField


def keyword_problem(field: AttributeField, word: str) -> str:
    """The diagnostic for an unknown keyword."""
    name, keywords = field.name, field.keywords
    quoted = ", ".join(f"'{keyword}'" for keyword in keywords)
    if name.startswith("rounding"):
        return f"expected rounding mode to be one of: {quoted}, got: '{word}'"
    if name.startswith("signedness"):
        return f"expected signedness to be one of: {{{quoted}}}, got: '{word}'"
    if name.startswith("comparison"):
        return f"expected '{name}' to be one of: {{{quoted}}}, got: '{word}'"
    if name == "mode":
        return f"unknown atomic RMW mode: '{word}'; expected one of: {', '.join(keywords)}"
    if name == "overflow":
        return f"expected overflow to be one of: {quoted}, got: '{word}'"
    return f'invalid {name} attribute specification. Got "{word}" but expect one of: {", ".join(keywords)}'
