"""The dialect tile_gpu with all its op groups."""

from tilec.dialect.tile_gpu import types  # noqa: F401
from tilec.dialect.tile_gpu.namespace import TileGpu  # noqa: F401
from tilec.dialect.tile_gpu.operations import (  # noqa: F401
    atomic,
    channel,
    claims,
    cluster,
    copy,
    debug,
    global_memory,
    kernel,
    matrix,
    memory,
    multimem,
    placed,
    reduce,
    scaled,
    shape,
    shifted_rows,
    tensor_map,
    tma,
    view,
    vote,
)
