"""NVIDIA's Python bindings, which exist for Linux and Windows only."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tilec.errors import UnsupportedError

# Module of cuda.bindings -> the step that needs it, and the alternative without it.
_PURPOSES = {
    "driver": ("launches and times kernels on a GPU", "run them in the simulator (backend='simulate')"),
    "nvjitlink": ("assembles cubins", "compile to PTX (stop='ptx', --emit ptx), which can be simulated"),
    "nvrtc": ("compiles the device functions of CUDA", "use only math functions that are PTX instructions"),
}


def cuda_binding(name: str) -> Any:
    """The module cuda.bindings.NAME; raises UnsupportedError with the alternative if it is not installed."""
    try:
        return import_module(f"cuda.bindings.{name}")
    except ModuleNotFoundError as error:
        purpose, alternative = _PURPOSES[name]
        raise UnsupportedError(
            f"cuda.bindings.{name}, which {purpose}, is not installed: install cuda-bindings, or, on a platform for "
            f"which NVIDIA has no packages, {alternative}"
        ) from error
