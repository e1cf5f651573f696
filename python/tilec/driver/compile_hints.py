"""Hints of a compile: which optimisations of the lowering are on, and sizes it would otherwise choose itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tilec.errors import UsageError

SWITCHES = {
    "roles": "loads, matrix instructions and epilogue in warps of their own",
    "pipeline": "a ring of buffers that is filled ahead of its use",
    "tma": "copies by TMA where a view allows it",
}
SIZES = {
    "stages": ("buffers of the ring", range(1, 17)),
    "warps": ("warps that compute", range(1, 33)),
}
_WORDS = {"on": True, "true": True, "off": False, "false": False}


def checked_hints(hints: Mapping[str, Any]) -> dict[str, bool | int]:
    """The hints themselves; UsageError for an unknown name or a value out of range."""
    for name, value in hints.items():
        if name in SWITCHES:
            fits, needs = isinstance(value, bool), "True or False"
        elif name in SIZES:
            sizes = SIZES[name][1]
            fits = isinstance(value, int) and not isinstance(value, bool) and value in sizes
            needs = f"an integer of {sizes.start} to {sizes.stop - 1}"
        else:
            raise UsageError(f"unknown hint '{name}': expected one of {', '.join((*SWITCHES, *SIZES))}")
        if not fits:
            raise UsageError(f"hint '{name}' needs {needs}, got {value!r}")
    return dict(hints)


def from_text(texts: Iterable[str]) -> dict[str, bool | int]:
    """The hints in `name=value` texts, switches written on and off; UsageError where one is no such text."""
    hints: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"a hint is written name=value, got '{text}'")
        hints[name] = _WORDS.get(value, int(value) if value.isdigit() else value)
    return checked_hints(hints)


def to_text(hints: Mapping[str, bool | int]) -> list[str]:
    """What `from_text` reads back."""
    return [f"{name}={'on' if value is True else 'off' if value is False else value}" for name, value in hints.items()]
