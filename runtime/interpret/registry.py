"""What each operation means: a table from names to functions, filled by the op groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Meaning = Callable[..., Any]


@dataclass(frozen=True)
class Interpretation:
    """The meaning of an operation; an elementwise one works on operands of any shape, also where the types say 0-D."""

    meaning: Meaning
    elementwise: bool


MEANINGS: dict[str, Interpretation] = {}


def interprets(*names: str, elementwise: bool = False) -> Callable[[Meaning], Meaning]:
    """Makes a function the meaning of operations; a name without a dot is of `cuda_tile`.

    The function takes the `Step`, the `Machine` and one argument for each operand field: the value, None for an absent
    optional, a tuple for a variadic group. It gives None, the only result, a tuple of results, or a `Leave`.
    Raises ValueError, naming both functions, for a second entry.
    """

    def enter(meaning: Meaning) -> Meaning:
        for name in names:
            full = name if "." in name else f"cuda_tile.{name}"
            if full in MEANINGS:
                first = MEANINGS[full].meaning
                raise ValueError(f"'{full}' has two meanings: {_place(first)} and {_place(meaning)}")
            MEANINGS[full] = Interpretation(meaning, elementwise)
        return meaning

    return enter


def _place(function: Meaning) -> str:
    return f"{function.__module__}.{function.__qualname__}"
