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
# The library that a module calls, and the package with it; the driver comes with the GPU.
_LIBRARIES = {"nvjitlink": ("nvJitLink", "nvidia-nvjitlink"), "nvrtc": ("nvrtc", "nvidia-cuda-nvrtc")}


def cuda_binding(name: str) -> Any:
    """The module cuda.bindings.NAME; raises UnsupportedError with the alternative if it or its library is missing."""
    try:
        binding = import_module(f"cuda.bindings.{name}")
        if name in _LIBRARIES:
            _load_library(*_LIBRARIES[name])
        return binding
    except ModuleNotFoundError as error:
        purpose, alternative = _PURPOSES[name]
        raise UnsupportedError(
            f"cuda.bindings.{name}, which {purpose}, is not installed: install cuda-bindings, or, on a platform for "
            f"which NVIDIA has no packages, {alternative}"
        ) from error


def _load_library(name: str, package: str) -> None:
    """Loads the library that the functions of a module call; they would raise an error without a remedy."""
    pathfinder = import_module("cuda.pathfinder")
    try:
        pathfinder.load_nvidia_dynamic_lib(name)
    except (pathfinder.DynamicLibNotFoundError, OSError) as error:
        raise UnsupportedError(f"the library {name} was not found or cannot be loaded: install {package}") from error
