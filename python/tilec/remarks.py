"""Remarks: reports of missed optimizations and of hints that the compiler did not follow, each with the reason."""

from __future__ import annotations

from tilec.errors import SourceLocation
from tilec.frozen import Frozen

# The topics of remarks, each with the condition that it reports.
TOPICS = {
    "matrix-unit": "a multiply uses a slower unit, is divided, is done in blocks, or adds short sums in f32",
    "tma": "an access or a matrix operand does not use TMA",
    "convolution": "the compiler chose how images are loaded, or cannot load them once for all taps along W",
    "pipeline": "loads wait because shared memory has one slot for them",
    "staging": "a stored tile takes shared memory from the rings of loads",
    "atomic": "an atomic reads memory although nothing uses its result",
    "roles": "a kernel is not split into roles, or one role computes what several could",
    "hint": "a hint is not followed",
    "cache": "a compiled kernel is not kept on disk",
    "checks": "an operation of a checked build has no check",
    "registers": "registers spill, or ptxas serializes instructions",
}


class Remark(Frozen):
    """One remark; `str()` renders the message, the topic and the source excerpt.

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
