"""The stream of a launch."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from tilec.errors import InputError
from tilec.runtime.devices.streams import current_stream, stream_handle


def test_stream_of_another_type_is_refused() -> None:
    with pytest.raises(InputError, match="a stream must be a handle or an object with __cuda_stream__, got str"):
        stream_handle("stream")


def test_arrays_of_libraries_with_different_current_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    torch, cupy = ModuleType("torch"), ModuleType("cupy")
    torch.cuda = SimpleNamespace(current_stream=lambda ordinal: SimpleNamespace(cuda_stream=0x10 + ordinal))  # type: ignore[attr-defined]
    cupy.cuda = SimpleNamespace(get_current_stream=lambda ordinal: SimpleNamespace(ptr=0x20))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    arrays = [type("Array", (), {"__module__": library})() for library in ("torch", "cupy.core")]
    assert current_stream(arrays[:1], 1) == 0x11
    listed = r"the libraries of the arrays differ \(torch: 0x11, cupy: 0x20\): pass the stream of the launch"
    with pytest.raises(InputError, match=listed):
        current_stream(arrays, 1)
