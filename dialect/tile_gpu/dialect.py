"""The dialect tile_gpu with all its op groups."""

from tilec.dialect.tile_gpu import atomic, channel, kernel, matrix, memory, reduce, shape, types, view  # noqa: F401
from tilec.dialect.tile_gpu.namespace import TileGpu  # noqa: F401
