"""Compile options: one record for the options of the command line, `ct.launch` and the hints of a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tilec.errors import UsageError
from tilec.frozen import Frozen, replace

SWITCHES = {
    "roles": "assign loads, matrix instructions and epilogue to separate warps",
    "pipeline": "fill a ring of buffers ahead of its use",
    "tma": "use TMA for the loads and stores of views that support it",
    "multicast": "load once what all blocks of a cluster need, also for clusters of adjacent tile blocks",
    "register_budgets": "take registers from warps that need few where computing warps need more",
    "persistent": "let blocks compute others that have not started, one after the other; off unless set",
    "solver": "let OR-Tools (extra 'schedule') search shorter schedules of loops, about 2 s each; off unless set",
    "slices_in_bounds": "slices start inside of their arrays, and no offset of one wraps; off unless set",
    "arrays_apart": "no memory is reached through two arguments of the kernel; off unless set",
    "checks": "assert at run time that no operation is undefined; off unless set",
    "allow_unconfirmed": "use behavior of the GPU that NVIDIA does not document; off unless set",
}
SIZES = {
    "stages": ("number of buffers in the ring", range(1, 17)),
    "warps": ("number of compute warps", range(1, 33)),
    "occupancy": ("minimum number of resident blocks per SM", range(1, 33)),
    "num_ctas": ("number of blocks per cluster", range(1, 17)),
    "opt_level": ("optimization level of ptxas", range(4)),
}
CHOICES = {
    "convolution": (
        "how the images of convolutions are loaded, chosen by the cost model if not given: a copy per tap, one copy of "
        "the pixels of all taps along W, such a copy whose rows move in tensor memory, or filters as the first operand",
        ("im2col", "run", "stationary", "weights"),
    ),
}
_MOST_DIGITS = 20
_SWITCH_VALUES = {"on": True, "true": True, "off": False, "false": False}


class CompileOptions(Frozen):
    """Switches that enable optimizations, sizes, and choices by name; the compiler chooses what is None."""

    roles: bool = True
    register_budgets: bool = True
    pipeline: bool = True
    tma: bool = True
    multicast: bool = True
    persistent: bool = False
    solver: bool = False
    slices_in_bounds: bool = False
    arrays_apart: bool = False
    checks: bool = False
    allow_unconfirmed: bool = False
    stages: int | None = None
    warps: int | None = None
    occupancy: int | None = None
    num_ctas: int | None = None
    opt_level: int | None = None
    convolution: str | None = None

    @classmethod
    def of(cls, hints: Mapping[str, Any]) -> CompileOptions:
        """Options from a mapping of names to values; raises UsageError for an unknown name or an invalid value."""
        if not isinstance(hints, Mapping):
            raise UsageError(f"expected hints as a dictionary, got {type(hints).__name__}")
        for name, value in hints.items():
            if name in SWITCHES:
                valid, expected = isinstance(value, bool), "True or False"
            elif name in SIZES:
                sizes = SIZES[name][1]
                valid = isinstance(value, int) and not isinstance(value, bool) and value in sizes
                expected = f"an integer from {sizes.start} to {sizes.stop - 1}"
            elif name in CHOICES:
                known = CHOICES[name][1]
                valid, expected = value in known, f"one of {', '.join(known)}"
            else:
                raise UsageError(f"unknown hint '{name}': expected one of {', '.join((*SWITCHES, *SIZES, *CHOICES))}")
            if not valid:
                raise UsageError(f"hint '{name}': expected {expected}, got {value!r}")
        return cls(**hints)

    def completed(self, hints: Mapping[str, int]) -> CompileOptions:
        """A copy of these options in which sizes that are None have the values of `hints`."""
        missing: dict[str, Any] = {name: value for name, value in hints.items() if getattr(self, name) is None}
        return replace(self, **missing)

    def to_text(self) -> list[str]:
        """The `name=value` texts of the options that differ from the default; `hints_from_text` parses them."""
        given = {name: getattr(self, name) for name in (*SWITCHES, *SIZES, *CHOICES)}
        return hints_to_text({name: value for name, value in given.items() if value != getattr(DEFAULTS, name)})


DEFAULTS = CompileOptions()


def hints_from_text(texts: Iterable[str]) -> dict[str, Any]:
    """Names and unchecked values parsed from `name=value` texts; raises UsageError for a text without `=`."""
    hints: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"cannot parse hint '{text}': expected name=value")
        # The check of a hint refuses a text, as any integer of more digits.
        is_number = value.isascii() and value.isdecimal() and len(value) <= _MOST_DIGITS
        hints[name] = _SWITCH_VALUES.get(value, int(value) if is_number else value)
    return hints


def hints_to_text(hints: Mapping[str, bool | int | str]) -> list[str]:
    """The `name=value` texts of hints; `hints_from_text` parses them."""
    return [f"{name}={'on' if value is True else 'off' if value is False else value}" for name, value in hints.items()]
