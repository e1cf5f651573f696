"""Remarks: what the compiler could not do as fast, or as hinted, as the user may expect, with the reason."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.errors import SourceLocation

# What a remark is about.
TOPICS = {
    "matrix-unit": "a multiply is done by a slower unit",
    "tma": "an access or a matrix operand does not use TMA",
    "roles": "a kernel is not split into roles",
    "hint": "a hint is not followed",
    "registers": "registers spill, or ptxas serialises instructions",
}


@dataclass(frozen=True)
class Remark:
    """One remark; `str()` is the whole message with excerpt.

    Raises ValueError for an unknown topic.
    """

    topic: str
    message: str
    location: SourceLocation | None = None

    def __post_init__(self) -> None:
        if self.topic not in TOPICS:
            raise ValueError(f"unknown topic '{self.topic}': expected one of {', '.join(TOPICS)}")

    def __str__(self) -> str:
        text = f"remark: {self.message} [{self.topic}]"
        if self.location is None:
            return text
        excerpt = self.location.excerpt()
        return f"{self.location}: {text}" + (f"\n{excerpt}" if excerpt else "")
