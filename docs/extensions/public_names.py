"""A Sphinx extension: a comment that names modules becomes the reference of their public names.

The comment `<!-- public names of MODULE ... -->` stands for the names of the package tilec that these modules define.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import tilec

if TYPE_CHECKING:
    from sphinx.application import Sphinx

MARKER = re.compile(r"<!-- public names of ([\w. ]+) -->")


def public_names(module: str) -> list[str]:
    """The names of the package tilec that the module defines, in the order of its source."""
    found = {name: getattr(tilec, name) for name in dir(tilec) if not name.startswith("_")}
    return sorted(
        (name for name, value in found.items() if not inspect.ismodule(value) and _module(value) == module),
        key=lambda name: (_line(found[name]), name),
    )


def modules() -> set[str]:
    """The modules of tilec that define public names."""
    values = [getattr(tilec, name) for name in dir(tilec) if not name.startswith("_")]
    found = {_module(value) for value in values if not inspect.ismodule(value)}
    return {module for module in found if module.startswith("tilec.")}


def reference(names: Iterable[str]) -> str:
    """The directives of these names, in a block of reStructuredText."""
    lines = ["```{eval-rst}", ".. currentmodule:: tilec", ""]
    for name in names:
        lines += [f".. auto{_kind(getattr(tilec, name))}:: {name}", *_options(getattr(tilec, name)), ""]
    return "\n".join([*lines, "```"])


def _module(value: object) -> str:
    return str(getattr(value, "__module__", ""))


def _line(value: object) -> int:
    try:
        return inspect.getsourcelines(inspect.unwrap(value))[1]  # type: ignore[arg-type]
    except (TypeError, OSError):
        return 0


def _kind(value: object) -> str:
    if inspect.isclass(value):
        return "exception" if issubclass(value, BaseException) else "class"
    return "function" if callable(value) else "data"


def _options(value: object) -> list[str]:
    if not inspect.isclass(value):
        return []
    return ["   :show-inheritance:"] if issubclass(value, BaseException) else ["   :members:"]


def _insert(_app: Sphinx, _page: str, source: list[str]) -> None:
    source[0] = MARKER.sub(
        lambda found: reference(name for module in found[1].split() for name in public_names(module)), source[0]
    )


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _insert)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
