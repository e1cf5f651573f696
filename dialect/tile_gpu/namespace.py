"""The namespace `tile_gpu` and the base class of its operations (`tilec.dialect.operation` tells how to declare)."""

from typing import TYPE_CHECKING

from tilec.dialect.mlir import ext
from tilec.dialect.operation import operation_base

# The prefix of full names: of operations, and of attributes on operations of other dialects.
PREFIX = "tile_gpu."

if TYPE_CHECKING:
    from tilec.dialect.class_interfaces import Dialect, Operation
else:
    Dialect = ext.Dialect


class TileGpu(Dialect, name="tile_gpu"):
    """The machine made explicit on tiles: buffers, channels, roles, TMA and tensor cores (README.md is normative)."""


if not TYPE_CHECKING:
    Operation = operation_base(TileGpu)
