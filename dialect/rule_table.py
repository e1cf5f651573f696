"""A table of functions by key, filled by decorators; a second function for one key is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Key = TypeVar("Key")
Entry = TypeVar("Entry")
Function = TypeVar("Function", bound=Callable[..., Any])


class RuleTable(dict[Key, Entry]):
    """Functions by key. `verb`, such as "lowered", is for the message about a second function for one key."""

    def __init__(self, verb: str) -> None:
        super().__init__()
        self._verb = verb
        self._functions: dict[Key, Callable[..., Any]] = {}

    def enter(self, keys: Iterable[Key], function: Function, entry: Entry) -> Function:
        """Makes `entry` that of all keys and returns the function that it stands for.

        Raises ValueError for a key that has an entry, naming both functions.
        """
        given = list(keys)
        for key in given:
            if key in self:
                both = f"{_qualified(self._functions[key])} and {_qualified(function)}"
                raise ValueError(f"'{_spelled(key)}' is {self._verb} by both {both}")
        self.update(dict.fromkeys(given, entry))
        self._functions.update(dict.fromkeys(given, function))
        return function


def _spelled(key: object) -> str:
    return key if isinstance(key, str) else str(getattr(key, "__qualname__", key))


def _qualified(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__qualname__}"
