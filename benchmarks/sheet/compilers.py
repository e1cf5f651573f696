"""The compilers that the sheet compares: each compiles a case to a cubin for a target."""

from __future__ import annotations

import io
import re
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from tileiras_compile import BYTECODE_VERSION, command_of_tileiras

import tilec
from sheet.case import Array, Case, Scalar
from sheet.machine_code.disassembly import Function, ToolError, disassemble, version
from sheet.stopwatch import Stopwatch
from sheet.triton_compiler import LANES, compile_triton
from tilec.version import VERSION

ENTRY = "kernel"
# cuTile's launch assumes that extents are multiples of this many elements, if they are.
_EXTENT_DIVISOR = 16
_ALIGNMENT_BYTES = 16
_LOCAL_ARRAY = re.compile(r"\.local \.align \d+ \.b8 \w+\[(\d+)\]")


@dataclass(frozen=True)
class Result:
    """The machine code of a case.

    Attributes:
        function: the machine code.
        threads: threads per block.
        shared_bytes: shared memory of a block, static and dynamic.
        seconds: processor time of the compile, in all its threads and processes, without the front end of cuTile.
        compiled: the compiled kernel if tilec compiled it.
        array_bytes: local memory of the arrays that the PTX of the kernel has; 0 if it is not known.
    """

    function: Function
    threads: int
    shared_bytes: int
    seconds: float
    compiled: Any = None
    array_bytes: int = 0


def module_of(case: Case) -> bytes | str:
    """The module of a case: bytecode of cuTile's front end, or text of tilec's for kernels that Tile IR cannot hold."""
    if not case.is_tilex:
        return bytecode(case)
    compiled = tilec.compile(case.function, signature=_signature(case), stop="tile")
    stage = compiled.stage("tile")
    assert stage is not None
    return stage.text


def _signature(case: Case) -> str:
    """The signature of a case for tilec, with the facts that `_constraint` gives to cuTile."""
    parts = []
    for name, argument in zip(case.parameters, case.arguments, strict=True):
        if isinstance(argument, Array):
            unknown = [f"?%{_EXTENT_DIVISOR}"] * (argument.rank - len(argument.known))
            extents = ",".join([*map(str, argument.known), *unknown])
            parts.append(f"{name}: {getattr(tilec, argument.dtype).element}[{extents}]")
        elif isinstance(argument, Scalar):
            parts.append(f"{name}: {getattr(tilec, argument.dtype).element}")
        else:
            parts.append(f"{name}={argument!r}")
    return ", ".join(parts)


def bytecode(case: Case) -> bytes:
    """The module that cuTile's front end makes of a case, which both compilers of Tile IR read."""
    from cuda.tile.compilation import CallingConvention, KernelSignature, export_kernel

    parameters = [_constraint(argument) for argument in case.arguments]
    signature = KernelSignature(parameters, CallingConvention.cutile_python_v1(), ENTRY)
    file = io.BytesIO()
    export_kernel(case.function, [signature], file, output_format="tileir_bytecode", bytecode_version=BYTECODE_VERSION)
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
    module = module_of(case)
    watch = Stopwatch()
    compiled = tilec.compile(module, target=target, hints=case.hints)
    return result_of_tilec(compiled, folder / "tilec.cubin", watch.seconds())


def result_of_tilec(compiled: Any, path: Path, seconds: float) -> Result:
    """The result of a compile that took this time; the cubin is written to a path."""
    cubin = compiled.stage("cubin")
    assert cubin is not None and compiled.metadata is not None
    path.write_bytes(cubin.content(False))
    function = disassemble(path, compiled.metadata.entry)
    threads = function.threads or 0
    arrays = sum(map(int, _LOCAL_ARRAY.findall(compiled.ptx)))
    return Result(function, threads, function.shared_bytes + compiled.metadata.shared_bytes, seconds, compiled, arrays)


def by_tileiras(case: Case, target: str, folder: Path) -> Result:
    """Compiles with NVIDIA's tileiras; raises ToolError, or TimeoutError at the limit of this process."""
    source, path = folder / "kernel.tileirbc", folder / "tileiras.cubin"
    source.write_bytes(bytecode(case))
    watch = Stopwatch()
    process = subprocess.run(command_of_tileiras(source, path, target), capture_output=True, text=True)
    seconds = watch.seconds()
    if process.returncode == -signal.SIGXCPU:
        raise TimeoutError
    if process.returncode != 0:
        raise ToolError(f"tileiras: {process.stderr.strip().splitlines()[0] if process.stderr else process.returncode}")
    function = disassemble(path, ENTRY)
    return Result(function, function.threads or 0, function.shared_bytes, seconds)


def by_triton(case: Case, target: str, folder: Path) -> Result:
    """Compiles the equivalent kernel with Triton; raises ToolError."""
    compiled, seconds = compile_triton(case, target, folder)
    path = folder / "triton.cubin"
    path.write_bytes(compiled.asm["cubin"])
    function = disassemble(path, compiled.metadata.name)
    if not any(each.opcode == "EXIT" for each in function.instructions):
        raise ToolError("Triton: writes a kernel that only traps")
    return Result(function, compiled.metadata.num_warps * LANES, compiled.metadata.shared, seconds)


COMPILERS: dict[str, Callable[[Case, str, Path], Result]] = {
    "tilec": by_tilec,
    "tileiras": by_tileiras,
    "Triton": by_triton,
}


def has_kernel(compiler: str, case: Case) -> bool:
    """Whether a compiler can read the case: tileiras has no tilex, and Triton needs a kernel of its own."""
    return {"tileiras": not case.is_tilex, "Triton": case.triton is not None}.get(compiler, True)


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
