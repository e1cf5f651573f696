"""Diagnostics for unknown operation names."""

from __future__ import annotations

from difflib import get_close_matches

from tilec.dialect.assembly.tokens.lexer import is_name
from tilec.dialect.assembly.tokens.tokens import shown
from tilec.dialect.operation import SPELLED

# The similarity to an operation name above which a correction is suggested.
_ALIKE = 0.75


def unknown_operation(token: str) -> str:
    """The diagnostic for an unknown operation name."""
    if not is_name(token):
        return f"expected an operation, but got {shown(token)}"
    if token.removeprefix("cuda_tile.").startswith("testing$"):
        return f"{token} exists only in NVIDIA's own test builds, and no released tool takes it"
    if token.removeprefix("cuda_tile.").startswith("preview$"):
        return f"{token} is of NVIDIA's preview, of which only preview$call is known"
    known = [name.removeprefix("cuda_tile.") for name in SPELLED if name.startswith("cuda_tile.")]
    alike = get_close_matches(token.removeprefix("cuda_tile."), known, 1, _ALIKE)
    return f"unknown operation: {token}" + (f"; did you mean '{alike[0]}'?" if alike else "")
