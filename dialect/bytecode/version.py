"""The versions of Tile IR and its bytecode."""

from __future__ import annotations

from typing import NamedTuple


class Version(NamedTuple):
    """A version of Tile IR; they compare by age, and print as `13.3`."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> Version:
        """The version of a text such as "13.3"; raises ValueError where it is none that exists."""
        found = {str(version): version for version in VERSIONS}.get(text)
        if found is None:
            raise ValueError(f"unknown version '{text}' of Tile IR: expected one of {', '.join(map(str, VERSIONS))}")
        return found

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


VERSIONS = tuple(Version(13, minor) for minor in range(1, 6))
OLDEST, NEWEST = VERSIONS[0], VERSIONS[-1]
