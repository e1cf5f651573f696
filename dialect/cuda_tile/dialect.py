"""Tile IR complete: the namespace, with every op group attached to it."""

from tilec.dialect.cuda_tile import (  # noqa: F401
    arith,
    assume,
    atomic,
    attributes,
    control,
    convert,
    debug,
    debug_info,
    entry,
    float,
    math,
    memory,
    mma,
    multimem,
    preview,
    reduce,
    shape,
    types,
    view,
)
from tilec.dialect.cuda_tile.namespace import CudaTile  # noqa: F401
