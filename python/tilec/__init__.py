"""tilec: an open compiler for GPU tile kernels.

    import tilec as ct

is the namespace of kernels: the names of cuTile Python with the same meaning. Beside it stands the compiler's own
interface: compile, run, load, Module. Importing this package does not load MLIR.
"""

# ruff: noqa: F401  (the imports are the namespace)

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from tilec.annotations import ArrayAnnotation, Constant, ConstantAnnotation, ScalarInt64
from tilec.datatypes import (
    DType,
    bfloat16,
    bool_,
    float4_e2m1fn,
    float8_e4m3fn,
    float8_e5m2,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    tfloat32,
    uint8,
    uint16,
    uint32,
    uint64,
)
from tilec.errors import CompileError, TilecError
from tilec.hints import ByTarget
from tilec.kernel import Kernel, function, kernel
from tilec.language.arith import (
    abs,
    add,
    bitwise_and,
    bitwise_lshift,
    bitwise_not,
    bitwise_or,
    bitwise_rshift,
    bitwise_xor,
    cdiv,
    divmod,
    equal,
    floordiv,
    greater,
    greater_equal,
    isnan,
    less,
    less_equal,
    maximum,
    minimum,
    mod,
    mul,
    negative,
    not_equal,
    pow,
    sub,
    truediv,
    where,
)
from tilec.language.atomic import (
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_xchg,
    atomic_xor,
)
from tilec.language.control import assert_, ensure_constant, static_assert, static_eval, static_iter
from tilec.language.convert import astype, bitcast, pack_to_bytes, unpack_from_bytes
from tilec.language.debug import print, printf
from tilec.language.math import atan2, ceil, cos, cosh, exp, exp2, floor, log, log2, rsqrt, sin, sinh, sqrt, tan, tanh
from tilec.language.memory import assume_divisible_by, bid, gather, load, num_blocks, num_tiles, scatter, store
from tilec.language.mma import matmul, mma, mma_scaled
from tilec.language.reduce import argmax, argmin, max, min, prod, reduce, sum
from tilec.language.scan import cumprod, cumsum, scan
from tilec.language.shape import (
    arange,
    astile,
    broadcast_to,
    cat,
    expand_dims,
    extract,
    full,
    insert,
    ones,
    permute,
    reshape,
    transpose,
    zeros,
)
from tilec.language.view import Array, Tile, TiledView
from tilec.modes import MemoryOrder, MemoryScope, PaddingMode, RoundingMode
from tilec.version import VERSION as __version__

# What programs written for cuTile catch.
TileError = TilecError
TileSyntaxError = TileTypeError = TileValueError = TileUnsupportedFeatureError = TileStaticAssertionError = CompileError

# Loaded when first used: name, module, and the name there.
_LAZY = {
    "launch": ("tilec.launch", "launch"),
    "compile": ("tilec.compile", "compile"),
    "run": ("tilec.run", "run"),
    "Module": ("tilec.module", "Module"),
    "Compiled": ("tilec.compiled", "Compiled"),
}


def _lazy(module: str, name: str) -> property:
    # The setter is what the import of a submodule of the same name calls; the function keeps the name.
    return property(lambda _package: getattr(import_module(module), name), lambda _package, _submodule: None)


class _Package(ModuleType):
    """`tilec.compile` is the function, also after something has imported the module tilec.compile."""

    def __dir__(self) -> list[Any]:
        return [*self.__dict__, *_LAZY]


for _name, (_module, _attribute) in _LAZY.items():
    setattr(_Package, _name, _lazy(_module, _attribute))

sys.modules[__name__].__class__ = _Package
