"""Identifies the installed compiler: its files, Python, ptxas, and the versions of packages that determine results."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections.abc import Iterator

from tilec import version
from tilec.hashing import sha256

# The distributions whose version determines what the compiler emits, as prefixes of `.dist-info` folders.
DISTRIBUTIONS = (
    *("numpy-", "ml_dtypes-", "torch_mlir-", "mlir-", "mlir_python_bindings-"),
    *("cuda_bindings-", "cuda_pathfinder-", "nvidia_nvjitlink-", "nvidia_cuda_nvrtc-", "nvidia_cuda_nvcc-"),
    "ortools-",
)
# The packages whose folders contain these distributions.
_PACKAGES = ("numpy", "torch_mlir", "mlir", "cuda", "nvidia", "ortools")
_SUFFIXES = (".py", ".so", ".pyd")


@functools.cache
def fingerprint() -> str:
    """The hash of the identity of this installation; two installations that compile differently have different ones.

    The files of tilec are identified by path, size and time of modification, so that a changed source file counts
    without a new version. If a file has changed since this process imported tilec, the process may run the older
    code, and its fingerprint is unique.
    """
    files = sorted(_files())
    parts = [version.VERSION, sys.version, sys.platform, str(sys.flags.optimize), *sorted(_distributions()), _ptxas()]
    if max(modified_ns for _, _, modified_ns in files) > version.IMPORTED_NS:
        parts += [str(os.getpid()), str(version.IMPORTED_NS)]
    return sha256(repr((parts, files)).encode()).hexdigest()


def _files() -> Iterator[tuple[str, int, int]]:
    """The path, size and time of modification of each file of the package."""
    folders = [os.path.dirname(version.__file__)]
    while folders:
        folder = folders.pop()
        for item in os.scandir(folder):
            if item.name.endswith(_SUFFIXES):
                status = item.stat()
                yield item.path, status.st_size, status.st_mtime_ns
            elif item.name != "__pycache__" and item.is_dir():
                folders.append(item.path)


def _ptxas() -> str:
    """The path, size and time of modification of the executable of the PATH; empty without one."""
    for folder in os.get_exec_path():
        path = os.path.join(folder, "ptxas")
        try:
            status = os.stat(path)
        except OSError:
            continue
        return f"{path} {status.st_size} {status.st_mtime_ns}"
    return ""


def _distributions() -> set[str]:
    """The names of the `.dist-info` folders, which contain the versions; reading the metadata takes much longer."""
    found: set[str] = set()
    for name in _PACKAGES:
        spec = importlib.util.find_spec(name)
        for location in (spec.submodule_search_locations or ()) if spec is not None else ():
            found.update(_listed(os.path.dirname(location)))
    return found


@functools.cache
def _listed(folder: str) -> tuple[str, ...]:
    try:
        return tuple(name for name in os.listdir(folder) if name.startswith(DISTRIBUTIONS))
    except OSError:
        return ()
