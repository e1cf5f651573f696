"""The stream of a launch: a handle, a stream of another library, or the current stream of the library of the arrays."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import ModuleType

from tilec.errors import InputError

# The handle of the current stream on a device, by the module of the class of an array. The library is looked up in
# sys.modules: a caller with one of its arrays has imported it.
_CURRENT_STREAM: dict[str, Callable[[ModuleType, int], int]] = {
    "torch": lambda torch, ordinal: torch.cuda.current_stream(ordinal).cuda_stream,
    "cupy": lambda cupy, ordinal: cupy.cuda.get_current_stream(ordinal).ptr,
}


def stream_handle(stream: object) -> int:
    """The CUstream of a handle or a stream of torch, cupy or `__cuda_stream__`; InputError for other values."""
    if isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for name in ("cuda_stream", "ptr"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    raise InputError(f"a stream must be a handle or an object with __cuda_stream__, got {type(stream).__name__}")


def current_stream(arrays: Iterable[object], ordinal: int) -> int:
    """The current stream of the library of the arrays, the default stream if there is none.

    Raises InputError if the arrays are of two libraries whose current streams differ.
    """
    found: dict[str, int] = {}
    for array in arrays:
        library = library_of(array)
        if library is not None and library not in found:
            found[library] = current_stream_of(library, ordinal)
    if len(set(found.values())) > 1:
        listed = ", ".join(f"{library}: {handle:#x}" for library, handle in found.items())
        raise InputError(
            f"the current streams of the libraries of the arrays differ ({listed}): pass the stream of the launch"
        )
    return next(iter(found.values()), 0)


def current_stream_of(library: str, ordinal: int) -> int:
    """The handle of the current stream of a library, which was imported, on a device."""
    return int(_CURRENT_STREAM[library](sys.modules[library], ordinal))


def library_of(array: object) -> str | None:
    """The library, of those with a current stream, that defines the class of the array or a base of it."""
    modules = (base.__module__.partition(".")[0] for base in type(array).__mro__)
    return next((module for module in modules if module in _CURRENT_STREAM and module in sys.modules), None)
