"""What passes do, one by one: the module after each, its changes as a diff, and their times."""

from __future__ import annotations

import difflib
import sys
import time
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from tilec.errors import UsageError

if TYPE_CHECKING:
    from tilec.dialect.mlir import ir

ALL = "all"


class PassObserver:
    """Prints the module after some passes to standard error, and measures all of them."""

    def __init__(self, names: Sequence[str], known: Collection[str], locations: bool = False) -> None:
        """Raises UsageError for a name that is neither `all` nor known."""
        for name in names:
            if name != ALL and name not in known:
                raise UsageError(f"unknown pass '{name}': expected {ALL}, or one of {', '.join(known)}")
        self._names, self._locations = names, locations
        self._seconds: list[tuple[str, float]] = []
        self._start = time.perf_counter()

    def observe(self, name: str, module: ir.Module) -> None:
        """Called after each pass."""
        self._seconds.append((name, time.perf_counter() - self._start))
        if name in self._names or ALL in self._names:
            sys.stderr.write(f"// after {name}\n{_text(module, self._locations)}\n")
        self._start = time.perf_counter()

    def times(self) -> str:
        """A line per pass, in order: its milliseconds, and its share of the time of all."""
        total = sum(seconds for _, seconds in self._seconds) or 1.0
        return "".join(
            f"{name:28}{1000 * seconds:10.2f} ms{100 * seconds / total:6.1f} %\n" for name, seconds in self._seconds
        )


class PassDiffs:
    """The changes of each pass, as a unified diff of the text of the module."""

    def __init__(self, module: ir.Module) -> None:
        self._lines = _text(module).splitlines(keepends=True)
        self._found: list[str] = []

    def observe(self, name: str, module: ir.Module) -> None:
        """Called after each pass."""
        lines = _text(module).splitlines(keepends=True)
        self._found += difflib.unified_diff(self._lines, lines, f"before {name}", f"after {name}", n=2)
        self._lines = lines

    @property
    def text(self) -> str:
        """The diffs of the passes that changed the module."""
        return "".join(self._found)


def _text(module: ir.Module, locations: bool = False) -> str:
    from tilec.driver.opt_passes import text

    return text(module, False, locations)
