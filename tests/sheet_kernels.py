"""The kernels of benchmarks/sheet, which are written in cuTile Python, as kernels of tilec."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import tilec
from tilec import compilation

TESTS = Path(__file__).parent
# The names of the modules that the kernels import.
OTHERS = ("cuda.tile", "sheet.", "cutile")


@contextmanager
def importable_sheet() -> Iterator[None]:
    """tilec stands for cuTile; later imports of both are unchanged."""
    path, hidden = list(sys.path), _without_others()
    sys.path[:0] = [str(TESTS.parent / "benchmarks"), str(TESTS / "peers")]
    sys.modules |= {"cuda.tile": tilec, "cuda.tile.compilation": compilation}
    try:
        yield
    finally:
        _without_others()
        sys.modules |= hidden
        sys.path[:] = path


def _without_others() -> dict[str, ModuleType]:
    """Forgets the modules of the kernels; returns them."""
    names = [name for name in sys.modules if f"{name}.".startswith(OTHERS)]
    return {name: sys.modules.pop(name) for name in names}


def kernels_of(family: str) -> ModuleType:
    """The module of the kernels of a family of the sheet."""
    with importable_sheet():
        return importlib.import_module(f"sheet.kernels_{family}")
