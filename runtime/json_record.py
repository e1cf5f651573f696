"""Reading JSON whose shape is a contract: each misfit names its place in the file, what it needs and what it got."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Collection
from typing import Any

from tilec.errors import InputError


class Record:
    """One JSON value with its path from the root of the file, so that each check can say where it failed."""

    def __init__(self, value: Any, file: str, path: str = "") -> None:
        self.value = value
        self.file = file
        self.path = path

    @classmethod
    def parse(cls, text: str, file: str) -> Record:
        """The root of the file; an InputError with line and column where it is no JSON."""
        try:
            return cls(json.loads(text), file)
        except json.JSONDecodeError as error:
            raise InputError(f"{file}:{error.lineno}:{error.colno} is no JSON: {error.msg}") from None

    def error(self, needs: str) -> InputError:
        shown = textwrap.shorten(json.dumps(self.value), 60, placeholder=" ...")
        return InputError(f"{self.file}: '{self.path or 'the file'}' needs {needs}, got {shown}")

    def _needs(self, fits: bool, needs: str) -> Any:
        if not fits:
            raise self.error(needs)
        return self.value

    def __getitem__(self, name: str) -> Record:
        fields = self._needs(isinstance(self.value, dict), "an object")
        if name not in fields:
            raise self.error(f"a field '{name}'")
        return Record(fields[name], self.file, f"{self.path}.{name}" if self.path else name)

    def get(self, name: str, default: Any) -> Record:
        """The field, or a record of the default where it is absent."""
        return self[name] if name in self.fields() else Record(default, self.file, f"{self.path}.{name}")

    def fields(self) -> dict[str, Any]:
        return self._needs(isinstance(self.value, dict), "an object")

    def only(self, names: Collection[str]) -> Record:
        """Itself; an InputError where it has a field that is none of `names`."""
        for name in self.fields():
            if name not in names:
                raise self.error(f"no field '{name}' (known fields: {', '.join(sorted(names))})")
        return self

    def items(self, length: int | range | None = None) -> list[Record]:
        """The elements of a list, whose length may be prescribed."""
        values = self._needs(isinstance(self.value, list), "a list")
        if isinstance(length, int) and len(values) != length:
            raise self.error(f"a list of {length}")
        if isinstance(length, range) and len(values) not in length:
            raise self.error(f"a list of {length.start} to {length.stop - 1}")
        return [Record(value, self.file, f"{self.path}[{index}]") for index, value in enumerate(values)]

    def text(self, among: Collection[str] | None = None) -> str:
        """A string, one of `among` where that is given."""
        self._needs(isinstance(self.value, str), "a string")
        return self._needs(among is None or self.value in among, f"one of {', '.join(among or ())}")

    def integer(self, low: int | None = None, high: int | None = None) -> int:
        """An integer from `low` to `high`, both included."""
        fits = isinstance(self.value, int) and not isinstance(self.value, bool)
        fits = fits and (low is None or self.value >= low) and (high is None or self.value <= high)
        bounds = "" if low is None else f" of at least {low}" if high is None else f" of {low} to {high}"
        return self._needs(fits, f"an integer{bounds}")

    def boolean(self) -> bool:
        return self._needs(isinstance(self.value, bool), "true or false")
