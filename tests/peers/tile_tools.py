"""NVIDIA's tools for Tile IR, of the package nvidia-cuda-tileiras."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path


def tool(name: str) -> Path:
    """The path of tileiras or tileirdisasm."""
    found = importlib.util.find_spec("nvidia")
    roots = found.submodule_search_locations if found is not None else ()
    return next(Path(root) / "cu13/bin" / name for root in roots or ())


def disassembled(content: bytes, folder: Path, *options: str) -> str:
    """The output of tileirdisasm for bytecode; raises AssertionError with its error."""
    path = folder / "module.tileirbc"
    path.write_bytes(content)
    process = subprocess.run([tool("tileirdisasm"), *options, path], capture_output=True, text=True)
    assert (process.returncode, process.stderr) == (0, ""), process.stderr[:2000]
    return process.stdout


def compiled(content: bytes, gpu: str, folder: Path) -> bytes:
    """The cubin; raises AssertionError with the error of tileiras."""
    source, cubin = folder / "module.tileirbc", folder / "module.cubin"
    source.write_bytes(content)
    process = subprocess.run([tool("tileiras"), source, "-o", cubin, "--gpu-name", gpu], capture_output=True, text=True)
    assert (process.returncode, process.stderr) == (0, ""), process.stderr[:2000]
    return cubin.read_bytes()
