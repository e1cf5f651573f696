"""tilec: an open compiler for GPU tile kernels.

    import tilec as ct

provides the functions of the kernel language, which have the names and the semantics of cuTile Python, and the compiler
interface: compile, run, load_artifact, Module. Each name is imported on first use, so that importing this package loads
neither MLIR nor what a program does not use.
"""

# ruff: noqa: F401  (the imports define the public names for type checkers and editors)

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilec import compat, compilation, tensor_map, tune
    from tilec.driver.backends import load_artifact, preload, run
    from tilec.driver.compiled import Compiled
    from tilec.driver.kernel_launch import launch, launch_counts
    from tilec.driver.stages import compile
    from tilec.errors import (
        CompileError,
        ConstantWarning,
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
    from tilec.language.datatypes import (
        DType,
        bfloat16,
        bool_,
        float4_e2m1fn,
        float6_e2m3fn,
        float6_e3m2fn,
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
    from tilec.language.declared_signatures import signatures
    from tilec.language.hints import ByTarget
    from tilec.language.kernel import Kernel, function, kernel
    from tilec.language.modes import MemoryOrder, MemoryScope, PaddingMode, RoundingMode
    from tilec.language.operations.arith import (
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
    from tilec.language.operations.atomic import (
        atomic_add,
        atomic_and,
        atomic_cas,
        atomic_dec,
        atomic_inc,
        atomic_max,
        atomic_min,
        atomic_or,
        atomic_xchg,
        atomic_xor,
    )
    from tilec.language.operations.bitwise import (
        bitwise_and,
        bitwise_lshift,
        bitwise_not,
        bitwise_or,
        bitwise_rshift,
        bitwise_xor,
    )
    from tilec.language.operations.comparison import (
        equal,
        greater,
        greater_equal,
        isnan,
        less,
        less_equal,
        not_equal,
        where,
    )
    from tilec.language.operations.control import (
        assert_,
        ensure_constant,
        static_assert,
        static_eval,
        static_exception,
        static_iter,
    )
    from tilec.language.operations.convert import astype, bitcast, pack_to_bytes, unpack_from_bytes
    from tilec.language.operations.debug import print, printf
    from tilec.language.operations.foreign_pointer import foreign_pointer_dtype
    from tilec.language.operations.grid_dependency import (
        grid_dependency_control_launch_dependents,
        grid_dependency_control_wait,
    )
    from tilec.language.operations.im2col import Im2colView, im2col_output_shape, im2col_view
    from tilec.language.operations.math import (
        atan2,
        ceil,
        cos,
        cosh,
        exp,
        exp2,
        floor,
        log,
        log2,
        rsqrt,
        sin,
        sinh,
        sqrt,
        tan,
        tanh,
    )
    from tilec.language.operations.memory import (
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
    from tilec.language.operations.mma import matmul, mma, mma_scaled, mma_sparse
    from tilec.language.operations.packed import PackedView, packed_view
    from tilec.language.operations.prefetch import prefetch
    from tilec.language.operations.raw_memory import RawArrayMemory
    from tilec.language.operations.reduce import argmax, argmin, max, min, prod, reduce, sum
    from tilec.language.operations.scan import cumprod, cumsum, scan
    from tilec.language.operations.shape import (
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
    from tilec.language.operations.view import Array, Scalar, Tile, TiledView
    from tilec.packed_rows import pack_rows, unpack_rows
    from tilec.process.time_limit import compiler_timeout
    from tilec.signature import Signature
    from tilec.structured_sparsity import compress_2_4
    from tilec.text_input.module import Module
    from tilec.version import VERSION as __version__

    # The name of the base class of errors in cuTile Python.
    TileError = TilecError

# Defining module -> the public names of the kernel language and of errors.
_LANGUAGE = {
    "tilec.errors": """
        CompileError ConstantWarning StaticException TileCompilerExecutionError TileCompilerTimeoutError TileError
        TileInternalError TileRecursionError TileStaticAssertionError TileStaticEvalError TileSyntaxError TileTypeError
        TileUnsupportedFeatureError TileValueError TilecError
    """,
    "tilec.language.annotations": """
        ArrayAnnotation Constant ConstantAnnotation IndexedWithInt64 ListAnnotation ScalarInt64
    """,
    "tilec.language.operations.arith": "abs add cdiv divmod floordiv maximum minimum mod mul negative pow sub truediv",
    "tilec.language.operations.atomic": """
        atomic_add atomic_and atomic_cas atomic_dec atomic_inc atomic_max atomic_min atomic_or atomic_xchg atomic_xor
    """,
    "tilec.language.operations.bitwise": "bitwise_and bitwise_lshift bitwise_not bitwise_or bitwise_rshift bitwise_xor",
    "tilec.language.operations.comparison": "equal greater greater_equal isnan less less_equal not_equal where",
    "tilec.language.operations.control": """
        assert_ ensure_constant static_assert static_eval static_exception static_iter
    """,
    "tilec.language.operations.convert": "astype bitcast pack_to_bytes unpack_from_bytes",
    "tilec.language.datatypes": """
        DType bfloat16 bool_ float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e4m3fn float8_e5m2 float8_e5m3fnu
        float8_e8m0fnu float16 float32 float64 int8 int16 int32 int64 tfloat32 uint8 uint16 uint32 uint64
    """,
    "tilec.language.operations.debug": "print printf",
    "tilec.language.declared_signatures": "signatures",
    "tilec.language.operations.foreign_pointer": "foreign_pointer_dtype",
    "tilec.language.operations.grid_dependency": """
        grid_dependency_control_launch_dependents grid_dependency_control_wait
    """,
    "tilec.language.hints": "ByTarget",
    "tilec.language.operations.im2col": "Im2colView im2col_output_shape im2col_view",
    "tilec.language.kernel": "Kernel function kernel",
    "tilec.language.operations.math": "atan2 ceil cos cosh exp exp2 floor log log2 rsqrt sin sinh sqrt tan tanh",
    "tilec.language.operations.memory": """
        Slice assume_divisible_by bid gather load load_advanced_indexing num_blocks num_tiles scatter store
        store_advanced_indexing
    """,
    "tilec.language.operations.mma": "matmul mma mma_scaled mma_sparse",
    "tilec.language.modes": "MemoryOrder MemoryScope PaddingMode RoundingMode",
    "tilec.language.operations.packed": "PackedView packed_view",
    "tilec.language.operations.prefetch": "prefetch",
    "tilec.language.operations.raw_memory": "RawArrayMemory",
    "tilec.language.operations.reduce": "argmax argmin max min prod reduce sum",
    "tilec.language.operations.scan": "cumprod cumsum scan",
    "tilec.language.operations.shape": """
        arange astile broadcast_to cat expand_dims extract full insert ones permute reshape transpose zeros
    """,
    "tilec.language.operations.view": "Array Scalar Tile TiledView",
    "tilec.process.time_limit": "compiler_timeout",
    "tilec.structured_sparsity": "compress_2_4",
}
# Defining module -> the public names of the compiler interface, which `from tilec import *` omits: some are names of
# builtins that programs use.
_INTERFACE = {
    "tilec.driver.backends": "load_artifact preload run",
    "tilec.driver.compiled": "Compiled",
    "tilec.driver.kernel_launch": "launch launch_counts",
    "tilec.driver.stages": "compile",
    "tilec.packed_rows": "pack_rows unpack_rows",
    "tilec.signature": "Signature",
    "tilec.text_input.module": "Module",
    "tilec.version": "__version__",
}
# Public names that differ from those in the defining module.
_RENAMED = {
    "TileError": "TilecError",
    "TileInternalError": "InternalError",
    "TileUnsupportedFeatureError": "UnsupportedError",
    "__version__": "VERSION",
}
# Public name -> defining module.
_DEFINED_IN = {name: module for module, names in (_LANGUAGE | _INTERFACE).items() for name in names.split()}
# Modules of the public interface.
_MODULES = ("compat", "compilation", "tensor_map", "tune")

__all__ = sorted(name for names in _LANGUAGE.values() for name in names.split())


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"tilec.{name}")
    if name not in _DEFINED_IN:
        raise AttributeError(f"module 'tilec' has no attribute '{name}'")
    value = getattr(import_module(_DEFINED_IN[name]), _RENAMED.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_DEFINED_IN, *_MODULES})
