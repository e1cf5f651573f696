"""The bytecode versions of uses of operations that are newer than the operations: roundings and element types."""

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


def check_uses(module: ir.Module, version: Version) -> None:
    """Raises UnsupportedError for a use of an operation that a tool of this version does not know."""
    for operation in operations_named(module, _USES):
        use, since = _USES[operation.operation.name](operation)
        if version < since:
            raise UnsupportedError(
                f"{use} needs bytecode version {since} or later, got {version}",
                source_location(operation.operation.location),
            )


def _conversion(operation: ir.OpView) -> tuple[str, Version]:
    source, target = (spell(value.type.element) for value in (operation.from_, operation.to))
    use = f"a conversion of {source} to {target} with rounding '{operation.rounding_mode}'"
    if operation.rounding_mode == "nearest_even":
        return use, OLDEST
    return use, Version(13, 3 if target == _SCALE and source not in _LATE_SOURCES_OF_SCALES else 4)


def _atomic(operation: ir.OpView) -> tuple[str, Version]:
    element = spell(operation.result.type.element)
    late = operation.mode == "addf" and element == "bf16"
    return f"the atomic '{operation.mode}' of {element}", Version(13, 3) if late else OLDEST


# Operation -> its use, and the first version with it (Tile IR 13.3 and 13.4: ftof; cuTile 1.7: atomic_rmw_tko).
_USES = {"cuda_tile.ftof": _conversion, "cuda_tile.atomic_rmw_tko": _atomic}
