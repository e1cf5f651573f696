"""Tile IR complete: the namespace, with every op group attached to it."""

from tilec.dialect.cuda_tile import attributes, debug_info, preview, types  # noqa: F401
from tilec.dialect.cuda_tile.namespace import CudaTile  # noqa: F401
from tilec.dialect.cuda_tile.operations import (  # noqa: F401
    arith,
    assume,
    atomic,
    control,
    convert,
    debug,
    entry,
    float,
    math,
    memory,
    mma,
    multimem,
    reduce,
    shape,
    view,
)
