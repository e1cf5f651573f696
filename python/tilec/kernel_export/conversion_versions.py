"""The bytecode versions that know the roundings of float conversions (Tile IR 13.3 and 13.4, ftof)."""

from __future__ import annotations

from tilec.dialect.bytecode.version import OLDEST, Version
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.walk import operations_named
from tilec.errors import UnsupportedError

# The type of block scales, to which all types but these could be converted in 13.3.
_SCALE = "f8E8M0FNU"
_LATE_SOURCES_OF_SCALES = ("f64", "f8E5M2", "f8E4M3FN")


def check_conversions(module: ir.Module, version: Version) -> None:
    """Raises UnsupportedError for a conversion whose rounding a tool of this version does not know."""
    for operation in operations_named(module, ("cuda_tile.ftof",)):
        source, target = (spell(value.type.element) for value in (operation.from_, operation.to))
        since = _since(source, target, operation.rounding_mode)
        if version < since:
            raise UnsupportedError(
                f"a conversion of {source} to {target} with rounding '{operation.rounding_mode}' needs bytecode "
                f"version {since} or later, got {version}",
                source_location(operation.operation.location),
            )


def _since(source: str, target: str, rounding: str) -> Version:
    if rounding == "nearest_even":
        return OLDEST
    return Version(13, 3 if target == _SCALE and source not in _LATE_SOURCES_OF_SCALES else 4)
