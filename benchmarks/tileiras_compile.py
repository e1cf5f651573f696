"""Compiles the same kernel with NVIDIA's cuTile and tileiras, which need no GPU (extra `peers`)."""

from __future__ import annotations

import importlib.util
import io
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType
from typing import Any

BYTECODE_VERSION = "13.3"


def installed() -> bool:
    """Whether cuTile and tileiras are installed."""
    return importlib.util.find_spec("cuda.tile") is not None and tileiras().exists()


def tileiras() -> Path:
    """The path of tileiras in the package nvidia-cuda-tileiras."""
    spec = importlib.util.find_spec("nvidia")
    roots = list(spec.submodule_search_locations or ()) if spec else []
    return next((Path(root) / "cu13/bin/tileiras" for root in roots), Path("tileiras"))


def compile_times(kernel_file: Path, tile: tuple[int, int, int], target: str) -> dict[str, float]:
    """Seconds of the first run of the front end in this process, and of tileiras."""
    kernel = _load(kernel_file).matmul
    signature = _signature(tile)
    from cuda.tile.compilation import export_kernel

    start = time.perf_counter()
    bytecode = io.BytesIO()
    export_kernel(kernel, [signature], bytecode, output_format="tileir_bytecode", bytecode_version=BYTECODE_VERSION)
    seconds = {"front end": time.perf_counter() - start}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "matmul.tileirbc"
        source.write_bytes(bytecode.getvalue())
        seconds["tileiras"] = assembly_seconds(source, target)
    return seconds


def command_of_tileiras(source: Path, cubin: Path, target: str) -> list[str]:
    """Compiles a file of bytecode with line information."""
    return [*map(str, (tileiras(), source, "-o", cubin, "--gpu-name", target.rstrip("a"), "-O3", "--lineinfo"))]


def assembly_seconds(source: Path, target: str) -> float:
    """Seconds of tileiras for a file of bytecode, with line information; the cubin is written beside it."""
    command = command_of_tileiras(source, source.with_suffix(".cubin"), target)
    start = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - start


def _load(kernel_file: Path) -> ModuleType:
    """Imports the file of the kernel with the import of tilec replaced by cuTile."""
    text = kernel_file.read_text().replace("import tilec as ct", "import cuda.tile as ct")
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write(text)
    spec = importlib.util.spec_from_file_location("cutile_matmul", file.name)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _signature(tile: tuple[int, int, int]) -> Any:
    import cuda.tile as ct
    from cuda.tile.compilation import ArrayConstraint, CallingConvention, ConstantConstraint, KernelSignature

    # A row-major f16 matrix with 16-byte aligned rows, equivalent to 'A: f16[?,?]' in tilec.
    matrix = ArrayConstraint(
        ct.float16,
        2,
        index_dtype=ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=False,
        stride_constant=(None, 1),
        stride_divisible_by=(8, 1),
        base_addr_divisible_by=16,
    )
    constants = [ConstantConstraint(extent) for extent in tile]
    return KernelSignature([matrix, matrix, matrix, *constants], CallingConvention.cutile_python_v1(), "matmul")
