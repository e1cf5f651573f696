"""Without cuda-bindings each step that needs it names itself and the alternative."""

from __future__ import annotations

import sys

import pytest

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
