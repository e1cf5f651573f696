"""The versions of Tile IR and its bytecode."""

from __future__ import annotations

from typing import NamedTuple


class Version(NamedTuple):
    """A version of Tile IR, ordered by age and printed as `13.3`."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> Version:
        """Parses a version such as "13.3"; raises ValueError for an unknown version."""
        found = {str(version): version for version in VERSIONS}.get(text)
        if found is None:
            raise ValueError(f"unknown version '{text}' of Tile IR: expected one of {', '.join(map(str, VERSIONS))}")
        return found

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


VERSIONS = tuple(Version(13, minor) for minor in range(1, 6))
OLDEST, NEWEST = VERSIONS[0], VERSIONS[-1]
