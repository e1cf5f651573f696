"""Compiles the kernels of triton_kernels for the cases that name them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sheet.case import Array, Case
from sheet.machine_code.disassembly import ToolError
from sheet.machine_code.occupancy import MOST_SHARED_BYTES
from sheet.stopwatch import Stopwatch

LANES = 32
_TYPES = {
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float8_e4m3fn": "fp8e4nv",
    "int8": "i8",
    "uint8": "u8",
    "int32": "i32",
}
# Names of arguments that are floats; other numbers are integers.
_FLOATS = ("scale", "eps")
# Warps and stages of kernels; others have 4 warps and 3 stages.
_PRODUCTS = ("matmul", "persistent_matmul", "gated_matmul", "matmul_bias_gelu", "split_matmul", "grouped_matmul")
_OPTIONS = dict.fromkeys((*_PRODUCTS, "matmul_of_byte_weights"), (8, 4))
_OPTIONS |= {"attention": (8, 3)}


def compile_triton(case: Case, target: str, folder: Path) -> tuple[Any, float]:
    """The kernel of a case as Triton compiles it, and the processor time; ToolError if Triton refuses it."""
    # A compile of an earlier run would take no time.
    os.environ["TRITON_CACHE_DIR"] = str(folder / "triton")
    os.environ["TRITON_ALWAYS_COMPILE"] = "1"
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from sheet import triton_kernels

    kernel = getattr(triton_kernels, case.triton or "")
    types = _types(kernel.arg_names, case)
    constants = {(kernel.arg_names.index(name),): value for name, value in case.constants.items()}
    # Pointers and numbers of elements are multiples of 16, as cuTile's launch assumes.
    aligned = {
        (at,): [["tt.divisibility", 16]]
        for at, name in enumerate(kernel.arg_names)
        if types[name] not in ("constexpr", "fp32")
    }
    source = ASTSource(fn=kernel, signature=types, constexprs=constants, attrs=aligned)
    gpu = GPUTarget("cuda", int(target.strip("sm_a")), LANES)
    warps, stages = warps_and_stages(case)
    try:
        # The most stages that fit, as a tuning would find.
        for count in range(stages, 0, -1):
            watch = Stopwatch()
            compiled = triton.compile(source, target=gpu, options={"num_warps": warps, "num_stages": count})
            if compiled.metadata.shared <= MOST_SHARED_BYTES:
                return compiled, watch.seconds()
    except Exception as error:
        raise ToolError(f"Triton: {str(error).strip().splitlines()[0]}") from error
    raise ToolError(f"Triton: needs {compiled.metadata.shared} of {MOST_SHARED_BYTES} bytes of shared memory")


def warps_and_stages(case: Case) -> tuple[int, int]:
    """The warps of a block, and the most stages that are tried."""
    return _OPTIONS.get(case.triton or "", (4, 3))


def _types(names: list[str], case: Case) -> dict[str, str]:
    """The types of the arguments: first the arrays of the case in their order, then numbers and constants."""
    arrays = [f"*{_TYPES[each.dtype]}" for each in case.arguments if isinstance(each, Array)]
    types = dict(zip(names, arrays, strict=False))
    for name in names[len(arrays) :]:
        types[name] = "constexpr" if name in case.constants else "fp32" if name in _FLOATS else "i32"
    return types
