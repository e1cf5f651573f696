"""NVIDIA's compiler of CUDA C++, of the package nvidia-cuda-nvcc."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def nvcc() -> Path:
    """The path of nvcc."""
    spec = find_spec("nvidia")
    assert spec is not None and spec.submodule_search_locations is not None
    return next(found for folder in spec.submodule_search_locations for found in Path(folder).glob("*/bin/nvcc"))
