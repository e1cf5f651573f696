"""The stream of a launch: a handle, another library's stream, or the current stream of the arrays' library."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from tilec.errors import InputError

# By the module that an array's class comes from: the handle of the library's current stream on a device. A library is
# asked only where the caller has imported it, as whoever has one of its arrays did.
_CURRENT_STREAM: dict[str, Callable[[ModuleType, int], int]] = {
    "torch": lambda torch, ordinal: torch.cuda.current_stream(ordinal).cuda_stream,
    "cupy": lambda cupy, ordinal: cupy.cuda.get_current_stream(ordinal).ptr,
}


def stream_handle(stream: Any) -> int:
    """The CUstream behind a handle or a stream of torch, cupy or `__cuda_stream__`; InputError for anything else."""
    if isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for name in ("cuda_stream", "ptr"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    raise InputError(f"a stream needs to be a handle or an object with __cuda_stream__, got {type(stream).__name__}")


def current_stream(arrays: Iterable[Any], ordinal: int) -> int:
    """The current stream of the library that the arrays are of; the default stream where no library has one.

    InputError where the arrays are of two libraries whose current streams differ.
    """
    found = {}
    for array in arrays:
        library = _library(array)
        if library is not None and library not in found:
            found[library] = int(_CURRENT_STREAM[library](sys.modules[library], ordinal))
    if len(set(found.values())) > 1:
        listed = ", ".join(f"{library}: {handle:#x}" for library, handle in found.items())
        raise InputError(f"the arrays' libraries have unlike current streams ({listed}): give the stream of the launch")
    return next(iter(found.values()), 0)


def _library(array: Any) -> str | None:
    """The library with a current stream that defines the array's class or one of its bases."""
    modules = (base.__module__.partition(".")[0] for base in type(array).__mro__)
    return next((module for module in modules if module in _CURRENT_STREAM and module in sys.modules), None)
