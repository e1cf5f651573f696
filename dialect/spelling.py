"""Types as written in Tile IR, for diagnostics and the printer."""

from __future__ import annotations

from collections.abc import Iterable

from tilec.dialect.cache import cached
from tilec.dialect.mlir import ir

# Builtin types with another spelling in Tile IR than in MLIR.
_RENAMED = {"f8E5M3FNU": "fnv8E5M3FNU"}


@cached
def spell(type: ir.Type) -> str:
    """`tile<4x2xf32>` for a type of Tile IR, MLIR's own spelling for others."""
    spelled = getattr(type, "spelled", None)
    if spelled is not None:
        try:
            return spelled()
        except ValueError:
            # Generic text can contain a type with parameters of the wrong kind.
            return str(type)
    text = str(type)
    return _RENAMED.get(text, text)


def full_spelling(type: ir.Type) -> str:
    """The type with its dialect: `cuda_tile.tile<4x2xf32>`. Types of tilex are always written with it."""
    spelled = spell(type)
    return spelled if spelled.startswith("tilex.") else f"cuda_tile.{spelled}"


def quote(type: ir.Type) -> str:
    return f"'{spell(type)}'"


def spell_list(types: Iterable[ir.Type]) -> str:
    """`(tile<f32>, token)`: a list of types in parentheses."""
    return f"({', '.join(map(spell, types))})"
