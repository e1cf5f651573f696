"""The compilers that the sheet compares: each compiles a case to a cubin for a target."""

from __future__ import annotations

import importlib
import io
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from tileiras_compile import BYTECODE_VERSION, tileiras

from sheet.cases import Array, Case, Scalar
from sheet.disassembly import Function, ToolError, disassemble, version
from sheet.occupancy import MOST_SHARED_BYTES
from tilec.version import VERSION

ENTRY = "kernel"
# cuTile's launch assumes that extents are multiples of this many elements, if they are.
_EXTENT_DIVISOR = 16
_ALIGNMENT_BYTES = 16
_LANES = 32
# The types of the arguments of each kernel in Triton.
_HALF, _FLOAT, _NUMBER = "*fp16", "*fp32", "i32"
_TRITON_TYPES = {
    "matmul": {**dict.fromkeys("ABC", _HALF), **dict.fromkeys("MNK", _NUMBER)},
    "attention": {**dict.fromkeys("QKVO", _HALF), "scale": "fp32", "length": _NUMBER},
    "softmax": {"X": _FLOAT, "Y": _FLOAT, "step": _NUMBER, "columns": _NUMBER},
    "layer_norm": {
        **dict.fromkeys("XWBY", _HALF),
        **dict.fromkeys(("Mean", "Scale"), _FLOAT),
        **dict.fromkeys(("step", "columns"), _NUMBER),
        "eps": "fp32",
    },
    "add": {**dict.fromkeys("abc", _HALF), "size": _NUMBER},
}
# Warps and stages of each kernel.
_TRITON_OPTIONS = {"matmul": (8, 4), "attention": (8, 3), "softmax": (4, 3), "layer_norm": (4, 3), "add": (4, 3)}


@dataclass(frozen=True)
class Result:
    """The machine code of a case.

    Attributes:
        function: the machine code.
        threads: threads per block.
        shared_bytes: shared memory of a block, static and dynamic.
        compiled: the compiled kernel of tilec, if it is of tilec.
    """

    function: Function
    threads: int
    shared_bytes: int
    compiled: Any = None


def bytecode(case: Case) -> bytes:
    """The module that cuTile's front end makes of a case, which both compilers of Tile IR read."""
    from cuda.tile.compilation import CallingConvention, KernelSignature, export_kernel

    kernel = getattr(importlib.import_module(case.module), case.kernel)
    parameters = [_constraint(argument) for argument in case.arguments]
    signature = KernelSignature(parameters, CallingConvention.cutile_python_v1(), ENTRY)
    file = io.BytesIO()
    export_kernel(kernel, [signature], file, output_format="tileir_bytecode", bytecode_version=BYTECODE_VERSION)
    return file.getvalue()


def _constraint(argument: Any) -> Any:
    import cuda.tile as ct
    from cuda.tile.compilation import ArrayConstraint, ConstantConstraint, ScalarConstraint

    if isinstance(argument, Scalar):
        return ScalarConstraint(getattr(ct, argument.dtype))
    if not isinstance(argument, Array):
        return ConstantConstraint(argument)
    dtype = getattr(ct, argument.dtype)
    outer = argument.rank - 1
    return ArrayConstraint(
        dtype,
        argument.rank,
        index_dtype=ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=False,
        stride_constant=[*[None] * outer, 1],
        stride_divisible_by=[*[_ALIGNMENT_BYTES * 8 // dtype.bitwidth] * outer, 1],
        shape_divisible_by=[_EXTENT_DIVISOR] * argument.rank,
        base_addr_divisible_by=_ALIGNMENT_BYTES,
    )


def by_tilec(case: Case, target: str, folder: Path) -> Result:
    """Compiles with tilec; raises TilecError."""
    import tilec

    source = folder / "kernel.tileirbc"
    source.write_bytes(bytecode(case))
    compiled = tilec.compile(str(source), target=target)
    cubin = compiled.stage("cubin")
    assert cubin is not None and compiled.metadata is not None
    path = folder / "tilec.cubin"
    path.write_bytes(cubin.content(False))
    function = disassemble(path, compiled.metadata.entry)
    threads = function.threads or 0
    return Result(function, threads, function.shared_bytes + compiled.metadata.shared_bytes, compiled)


def by_tileiras(case: Case, target: str, folder: Path) -> Result:
    """Compiles with NVIDIA's tileiras; raises ToolError."""
    source, path = folder / "kernel.tileirbc", folder / "tileiras.cubin"
    source.write_bytes(bytecode(case))
    words = [tileiras(), source, "-o", path, "--gpu-name", target.rstrip("a"), "-O3", "--lineinfo"]
    process = subprocess.run([*map(str, words)], capture_output=True, text=True)
    if process.returncode != 0:
        raise ToolError(f"tileiras: {process.stderr.strip().splitlines()[0] if process.stderr else process.returncode}")
    function = disassemble(path, ENTRY)
    return Result(function, function.threads or 0, function.shared_bytes)


def by_triton(case: Case, target: str, folder: Path) -> Result | None:
    """Compiles the equivalent kernel with Triton; None if there is none, ToolError if Triton refuses it."""
    if case.triton is None:
        return None
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from sheet import triton_kernels

    kernel = getattr(triton_kernels, case.triton)
    types = _TRITON_TYPES[case.triton]
    signature = {name: types.get(name, "constexpr") for name in kernel.arg_names}
    constants = {(kernel.arg_names.index(name),): value for name, value in case.constants.items()}
    # Pointers and numbers of elements are multiples of 16, as cuTile's launch assumes.
    aligned = {(at,): [["tt.divisibility", 16]] for at, name in enumerate(kernel.arg_names) if _is_aligned(types, name)}
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=aligned)
    gpu = GPUTarget("cuda", int(target.strip("sm_a")), _LANES)
    warps, stages = _TRITON_OPTIONS[case.triton]
    try:
        # The most stages that fit, as a tuning would find.
        for count in range(stages, 0, -1):
            compiled = triton.compile(source, target=gpu, options={"num_warps": warps, "num_stages": count})
            if compiled.metadata.shared <= MOST_SHARED_BYTES:
                break
    except Exception as error:
        raise ToolError(f"Triton: {str(error).strip().splitlines()[0]}") from error
    if compiled.metadata.shared > MOST_SHARED_BYTES:
        raise ToolError(f"Triton: needs {compiled.metadata.shared} of {MOST_SHARED_BYTES} bytes of shared memory")
    path = folder / "triton.cubin"
    path.write_bytes(compiled.asm["cubin"])
    function = disassemble(path, compiled.metadata.name)
    if not any(each.opcode == "EXIT" for each in function.instructions):
        raise ToolError("Triton: writes a kernel that only traps")
    return Result(function, compiled.metadata.num_warps * _LANES, compiled.metadata.shared)


def _is_aligned(types: dict[str, str], name: str) -> bool:
    return name in types and types[name] != "fp32"


COMPILERS: dict[str, Callable[[Case, str, Path], Result | None]] = {
    "tilec": by_tilec,
    "tileiras": by_tileiras,
    "Triton": by_triton,
}


def versions() -> dict[str, str]:
    """The versions of the compilers and tools."""
    packages = {
        "ptxas": "nvidia-cuda-nvcc",
        "cuTile": "cuda-tile",
        "tileiras": "nvidia-cuda-tileiras",
        "Triton": "triton",
    }
    found = {name: _package_version(package) for name, package in packages.items()}
    return {"tilec": VERSION, **found, "nvdisasm": version("nvdisasm")}


def _package_version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
