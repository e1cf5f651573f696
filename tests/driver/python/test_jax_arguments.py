"""Calls of kernels from JAX that end before JAX is used."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

import tilec as ct
from tilec import jax as module
from tilec.jax import cutile_call


@ct.kernel
def kernel(x):
    pass


def test_kernel_and_arguments_are_checked() -> None:
    with pytest.raises(TypeError, match="cutile_call expects a kernel, got builtin_function_or_method"):
        cutile_call((1,), min, ())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="cutile_call expects the arguments as a tuple, got list"):
        cutile_call((1,), kernel, [])  # type: ignore[arg-type]


def test_advice_without_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(ct.TileError, match=r"tilec.jax needs JAX: pip install jax \(import of jax halted"):
        cutile_call((1,), kernel, ())


def test_copies_to_a_gpu_are_announced() -> None:
    with pytest.warns(UserWarning, match="tilec.jax copies arrays between the GPU and the host for each call"):
        assert module._backend(SimpleNamespace(default_backend=lambda: "gpu")) == "launch"
