"""The namespace `tilex` and the base class of its operations (`tilec.dialect.operation` tells how to declare)."""

from typing import TYPE_CHECKING

from tilec.dialect.cuda_tile.scope_rules import operation_scope_problem
from tilec.dialect.mlir import ext
from tilec.dialect.operation import operation_base

if TYPE_CHECKING:
    from tilec.dialect.class_interfaces import Dialect, Operation
else:
    Dialect = ext.Dialect


class TileX(Dialect, name="tilex"):
    """Extensions of Tile IR by tilec; NVIDIA's tools do not know them (README.md is normative)."""


if not TYPE_CHECKING:
    Operation = operation_base(TileX, discardable=True)
    Operation.check_location = operation_scope_problem
