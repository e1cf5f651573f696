"""Without cuda-bindings each step that needs it names itself and the alternative."""

from __future__ import annotations

import sys

import pytest
from cuda import pathfinder

from tilec.errors import UnsupportedError
from tilec.process.cuda_bindings import cuda_binding


@pytest.mark.parametrize(
    ("name", "purpose", "alternative"),
    [
        ("driver", "launches and times kernels on a GPU", "run them in the simulator (backend='simulate')"),
        ("nvjitlink", "assembles cubins", "compile to PTX (stop='ptx', --emit ptx), which can be simulated"),
        ("nvrtc", "compiles the device functions of CUDA", "use only math functions that are PTX instructions"),
    ],
)
def test_advice(monkeypatch: pytest.MonkeyPatch, name: str, purpose: str, alternative: str) -> None:
    monkeypatch.setitem(sys.modules, f"cuda.bindings.{name}", None)
    with pytest.raises(UnsupportedError) as caught:
        cuda_binding(name)
    assert caught.value.message == (
        f"cuda.bindings.{name}, which {purpose}, is not installed: install cuda-bindings, or, on a platform for which "
        f"NVIDIA has no packages, {alternative}"
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nvjitlink", "the library nvJitLink was not found or cannot be loaded: install nvidia-nvjitlink"),
        ("nvrtc", "the library nvrtc was not found or cannot be loaded: install nvidia-cuda-nvrtc"),
    ],
)
def test_missing_library(name: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package of the bindings is there, but not that of the library which they call."""

    def missing(library: str) -> None:
        raise pathfinder.DynamicLibNotFoundError(library)

    monkeypatch.setattr(pathfinder, "load_nvidia_dynamic_lib", missing)
    with pytest.raises(UnsupportedError) as caught:
        cuda_binding(name)
    assert caught.value.message == message
