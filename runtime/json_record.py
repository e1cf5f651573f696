"""Validated access to JSON; errors name the path in the file, the expected value and the value found."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Collection
from typing import Any

from tilec.errors import InputError


class Record:
    """One JSON value and its path from the root of the file, which error messages contain."""

    def __init__(self, value: Any, file: str, path: str = "") -> None:
        self.value = value
        self.file = file
        self.path = path

    @classmethod
    def parse(cls, text: str, file: str) -> Record:
        """The root of the file; raises InputError, with line and column, if it is not valid JSON."""
        try:
            return cls(json.loads(text), file)
        except json.JSONDecodeError as error:
            raise InputError(f"{file}:{error.lineno}:{error.colno} is not valid JSON: {error.msg}") from None

    def error(self, needs: str) -> InputError:
        shown = textwrap.shorten(json.dumps(self.value), 60, placeholder=" ...")
        return InputError(f"{self.file}: '{self.path or 'the file'}' needs {needs}, got {shown}")

    def _needs(self, is_valid: bool, needs: str) -> Any:
        if not is_valid:
            raise self.error(needs)
        return self.value

    def __getitem__(self, name: str) -> Record:
        fields = self._needs(isinstance(self.value, dict), "an object")
        if name not in fields:
            raise self.error(f"a field '{name}'")
        return Record(fields[name], self.file, f"{self.path}.{name}" if self.path else name)

    def get(self, name: str, default: object) -> Record:
        """The field, or a record of the default where it is absent."""
        return self[name] if name in self.fields() else Record(default, self.file, f"{self.path}.{name}")

    def fields(self) -> dict[str, object]:
        return self._needs(isinstance(self.value, dict), "an object")

    def only(self, names: Collection[str]) -> Record:
        """This record; raises InputError for a field that is not in `names`."""
        for name in self.fields():
            if name not in names:
                raise self.error(f"no field '{name}' (known fields: {', '.join(sorted(names))})")
        return self

    def items(self, length: int | range | None = None) -> list[Record]:
        """The elements of a list, of `length` if passed."""
        values = self._needs(isinstance(self.value, list), "a list")
        if isinstance(length, int) and len(values) != length:
            raise self.error(f"a list of {length}")
        if isinstance(length, range) and len(values) not in length:
            raise self.error(f"a list of {length.start} to {length.stop - 1}")
        return [Record(value, self.file, f"{self.path}[{index}]") for index, value in enumerate(values)]

    def text(self, among: Collection[str] | None = None) -> str:
        """A string, one of `among` if passed."""
        self._needs(isinstance(self.value, str), "a string")
        return self._needs(among is None or self.value in among, f"one of {', '.join(among or ())}")

    def integer(self, low: int | None = None, high: int | None = None) -> int:
        """An integer from `low` to `high`, inclusive."""
        is_valid = isinstance(self.value, int) and not isinstance(self.value, bool)
        is_valid = is_valid and (low is None or self.value >= low) and (high is None or self.value <= high)
        bounds = "" if low is None else f" of at least {low}" if high is None else f" of {low} to {high}"
        return self._needs(is_valid, f"an integer{bounds}")

    def boolean(self) -> bool:
        return self._needs(isinstance(self.value, bool), "true or false")
