"""Tile IR complete: the namespace, with every op group attached to it."""

from __future__ import annotations

from tilec.dialect.cuda_tile import (
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
from tilec.dialect.cuda_tile.namespace import CudaTile

OP_GROUPS = (
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

__all__ = ["OP_GROUPS", "CudaTile"]
