"""tilec: an open compiler for GPU tile kernels.

    import tilec as ct

provides the functions of the kernel language, which have the names and the semantics of cuTile Python, and the compiler
interface: compile, run, load_artifact, Module. Importing this package does not load MLIR.
"""

# ruff: noqa: F401  (the imports define the public names)

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tilec.errors import (
    CompileError,
    StaticException,
    TilecError,
    TileCompilerExecutionError,
    TileCompilerTimeoutError,
    TileRecursionError,
    TileStaticAssertionError,
    TileStaticEvalError,
    TileSyntaxError,
    TileTypeError,
    TileValueError,
)
from tilec.errors import InternalError as TileInternalError
from tilec.errors import UnsupportedError as TileUnsupportedFeatureError
from tilec.language.annotations import (
    ArrayAnnotation,
    Constant,
    ConstantAnnotation,
    IndexedWithInt64,
    ListAnnotation,
    ScalarInt64,
)
from tilec.language.arith import (
    abs,
    add,
    cdiv,
    divmod,
    floordiv,
    maximum,
    minimum,
    mod,
    mul,
    negative,
    pow,
    sub,
    truediv,
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
from tilec.language.bitwise import bitwise_and, bitwise_lshift, bitwise_not, bitwise_or, bitwise_rshift, bitwise_xor
from tilec.language.comparison import equal, greater, greater_equal, isnan, less, less_equal, not_equal, where
from tilec.language.control import assert_, ensure_constant, static_assert, static_eval, static_exception, static_iter
from tilec.language.convert import astype, bitcast, pack_to_bytes, unpack_from_bytes
from tilec.language.datatypes import (
    DType,
    bfloat16,
    bool_,
    float4_e2m1fn,
    float8_e4m3fn,
    float8_e5m2,
    float8_e5m3fnu,
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
from tilec.language.debug import print, printf
from tilec.language.declared_signatures import signatures
from tilec.language.foreign_pointer import foreign_pointer_dtype
from tilec.language.grid_dependency import grid_dependency_control_launch_dependents, grid_dependency_control_wait
from tilec.language.hints import ByTarget
from tilec.language.im2col import Im2colView, im2col_output_shape, im2col_view
from tilec.language.kernel import Kernel, function, kernel
from tilec.language.math import atan2, ceil, cos, cosh, exp, exp2, floor, log, log2, rsqrt, sin, sinh, sqrt, tan, tanh
from tilec.language.memory import (
    Slice,
    assume_divisible_by,
    bid,
    gather,
    load,
    load_advanced_indexing,
    num_blocks,
    num_tiles,
    scatter,
    store,
    store_advanced_indexing,
)
from tilec.language.mma import matmul, mma, mma_scaled
from tilec.language.modes import MemoryOrder, MemoryScope, PaddingMode, RoundingMode
from tilec.language.packed import PackedView, packed_view
from tilec.language.raw_memory import RawArrayMemory
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
from tilec.language.view import Array, Scalar, Tile, TiledView
from tilec.process.time_limit import compiler_timeout
from tilec.version import VERSION as __version__

# The name of the base class of errors in cuTile Python.
TileError = TilecError

if TYPE_CHECKING:
    from tilec import compat, compilation, tensor_map, tune
    from tilec.driver.backends import load_artifact, preload, run
    from tilec.driver.compiled import Compiled
    from tilec.driver.kernel_launch import launch, launch_counts
    from tilec.driver.stages import compile
    from tilec.signature import Signature
    from tilec.text_input.module import Module

# Name -> defining module. Imported on first use, so that importing tilec loads neither MLIR nor a backend.
_LAZY = {
    "launch": "tilec.driver.kernel_launch",
    "launch_counts": "tilec.driver.kernel_launch",
    "compile": "tilec.driver.stages",
    "run": "tilec.driver.backends",
    "preload": "tilec.driver.backends",
    "load_artifact": "tilec.driver.backends",
    "Module": "tilec.text_input.module",
    "Compiled": "tilec.driver.compiled",
    "Signature": "tilec.signature",
}

# Modules of the public interface, imported on first use.
_MODULES = ("compat", "compilation", "tensor_map", "tune")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"tilec.{name}")
    if name not in _LAZY:
        raise AttributeError(f"module 'tilec' has no attribute '{name}'")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_MODULES})
