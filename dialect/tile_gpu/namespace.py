"""The namespace `tile_gpu` and the base class of its operations (`tilec.dialect.operation` tells how to declare)."""

from tilec.dialect.mlir import ext
from tilec.dialect.operation import operation_base


class TileGpu(ext.Dialect, name="tile_gpu"):
    """The machine made explicit on tiles: buffers, channels, roles, TMA and tensor cores (README.md is normative)."""


Operation = operation_base(TileGpu)
