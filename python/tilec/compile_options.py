"""Options of a compile: one record for what the command line, `ct.launch` and the kernel's hints ask for."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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
    "occupancy": ("blocks of an SM that shared memory and registers leave room for", range(1, 33)),
    "num_ctas": ("blocks of a cluster", range(1, 17)),
    "opt_level": ("optimisation level of ptxas", range(4)),
}
_WORDS = {"on": True, "true": True, "off": False, "false": False}


@dataclass(frozen=True)
class CompileOptions:
    """Switches of optimisations, and sizes; None lets the compiler choose."""

    roles: bool = True
    pipeline: bool = True
    tma: bool = True
    stages: int | None = None
    warps: int | None = None
    occupancy: int | None = None
    num_ctas: int | None = None
    opt_level: int | None = None

    @classmethod
    def of(cls, hints: Mapping[str, Any]) -> CompileOptions:
        """The options by name; UsageError for an unknown name or a value out of range."""
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
        return cls(**hints)

    @classmethod
    def from_text(cls, texts: Iterable[str]) -> CompileOptions:
        """The options in `name=value` texts, switches written on and off; UsageError if a text has another form."""
        return cls.of(hints_from_text(texts))

    def completed(self, hints: Mapping[str, int]) -> CompileOptions:
        """These options, with sizes that are not given taken from `hints`."""
        missing: dict[str, Any] = {name: value for name, value in hints.items() if getattr(self, name) is None}
        return dataclasses.replace(self, **missing)

    def to_text(self) -> list[str]:
        """The `name=value` texts of all options that are not the default; `from_text` reads them."""
        given = {name: getattr(self, name) for name in (*SWITCHES, *SIZES)}
        return hints_to_text({name: value for name, value in given.items() if value != getattr(DEFAULTS, name)})


DEFAULTS = CompileOptions()


def hints_from_text(texts: Iterable[str]) -> dict[str, Any]:
    """The names and values in `name=value` texts, not yet checked; UsageError if a text has another form."""
    hints: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"a hint is written name=value, got '{text}'")
        hints[name] = _WORDS.get(value, int(value) if value.isdigit() else value)
    return hints


def hints_to_text(hints: Mapping[str, bool | int]) -> list[str]:
    """The texts that `hints_from_text` reads."""
    return [f"{name}={'on' if value is True else 'off' if value is False else value}" for name, value in hints.items()]
