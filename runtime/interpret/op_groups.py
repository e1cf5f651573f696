"""Imports every op group of the interpreter, which fills the registry."""

from __future__ import annotations

from tilec.runtime.interpret.operations import (
    arith,
    assume,
    atomic,
    control,
    convert,
    debug,
    entry,
    float,
    im2col,
    math,
    memory,
    mma,
    multimem,
    packed,
    prefetch,
    reduce,
    shape,
    sparse,
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
    "entry",
    "float",
    "im2col",
    "math",
    "memory",
    "mma",
    "multimem",
    "packed",
    "prefetch",
    "reduce",
    "shape",
    "sparse",
    "view",
]
