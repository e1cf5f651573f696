"""Remarks: reports of missed optimizations and of hints that the compiler did not follow, each with the reason."""

from __future__ import annotations

from collections.abc import Iterable

from tilec.errors import SourceLocation
from tilec.frozen import Frozen

# The topics of remarks, each with the condition that it reports.
TOPICS = {
    "matrix-unit": "a multiply uses a slower unit, is divided, multiplies scaled operands, or adds short sums in f32",
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
# Topics that are not about the time of a kernel.
_WITHOUT_TIME = ("cache", "checks")

# The kinds of losses, each with the kernel that the cost model compares with the compiled one.
LOSSES = {
    "unit": "the preferred matrix unit does the multiply, and nothing moves its operands",
    "steps": "the multiply is done without the operations beside it",
    "half": "the multiply takes the tensor pipe for half of the time, without the operations beside it",
    "access": "TMA moves the tile of a load or a store, in iterations before it is used",
    "operand": "TMA moves the tile of a load to shared memory, where a multiply reads it",
    "parts": "an operand that several parts of a tile need, each after the other, is loaded once",
    "multicast": "TMA reads half of the bytes of a load from L2, and an adjacent block the other half",
    "ahead": "loads of threads run as many iterations ahead as hide their latency",
    "rings": "rings have as many slots as hide the latency of loads",
    "atomic": "no thread waits for the result of the atomic",
    "roles": "no thread waits for another role, nor for a load",
    "chains": "this number of chains wait for their own multiplies while the others compute",
    "epilogue": "the epilogue of a tile runs beside the loop of the next tile",
    "blocks": "this number of blocks share an SM",
}
# The estimate below which a remark is silent, in percent of the kernel.
LEAST_PERCENT = 1.0


class Loss(Frozen):
    """A loss that the cost model estimates: the kernel without it is one of LOSSES.

    Attributes:
        kind: a name of LOSSES.
        locations: the locations of further operations that take part.
        count: the number of chains, blocks or parts; for `ahead`, the part of the latency that iterations ahead hide.
    """

    kind: str
    locations: tuple[SourceLocation | None, ...] = ()
    count: float = 0

    def __post_init__(self) -> None:
        if self.kind not in LOSSES:
            raise ValueError(f"unknown loss '{self.kind}': expected one of {', '.join(LOSSES)}")


class Remark(Frozen):
    """One remark; `str()` renders the message, the topic, the estimate and the source excerpt.

    Raises ValueError for an unknown topic.

    Attributes:
        topic: a name of TOPICS.
        message: what is lost, why, and a correction.
        location: the line.
        loss: the loss for an estimate by the cost model; None if it has none.
        percent: the part of the modeled time of the kernel that is lost; None before the estimate and without one.
    """

    topic: str
    message: str
    location: SourceLocation | None = None
    loss: Loss | None = None
    percent: float | None = None

    def __post_init__(self) -> None:
        if self.topic not in TOPICS:
            raise ValueError(f"unknown topic '{self.topic}': expected one of {', '.join(TOPICS)}")

    @property
    def is_silent(self) -> bool:
        """Whether the loss is too small for a report."""
        return self.percent is not None and self.percent < LEAST_PERCENT

    @property
    def estimate(self) -> str | None:
        """The estimate as text; None for a remark that is not about the time of a kernel."""
        if self.topic in _WITHOUT_TIME:
            return None
        if self.percent is None:
            return "no estimate"
        return f"less than {LEAST_PERCENT:g} %" if self.is_silent else f"{self.percent:.0f} % of the kernel"

    def __str__(self) -> str:
        text = f"remark: {self.message} [{', '.join(filter(None, (self.topic, self.estimate)))}]"
        if self.location is None:
            return text
        excerpt = self.location.excerpt()
        return f"{self.location}: {text}" + (f"\n{excerpt}" if excerpt else "")


def reported(remarks: Iterable[Remark]) -> tuple[Remark, ...]:
    """The remarks that are not silent."""
    return tuple(remark for remark in remarks if not remark.is_silent)
