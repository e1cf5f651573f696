"""All chapters of meanings; importing this fills the registry."""

from __future__ import annotations

from tilec.runtime.interpret import (
    arith,
    assume,
    atomic,
    control,
    convert,
    debug,
    float,
    grid,
    math,
    memory,
    mma,
    reduce,
    shape,
    view,
)
from tilec.runtime.interpret.registry import MEANINGS

__all__ = [
    "MEANINGS",
    "arith",
    "assume",
    "atomic",
    "control",
    "convert",
    "debug",
    "float",
    "grid",
    "math",
    "memory",
    "mma",
    "reduce",
    "shape",
    "view",
]
