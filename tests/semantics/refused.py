"""The operations that a target refuses, with a part of the error; docs/operations.md lists them with the reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from vector_facts import element

TARGETS = ("sm_100a", "sm_90a")


@dataclass(frozen=True)
class Refusal:
    """A class of refused operations.

    Attributes:
        message: A regular expression for a part of the error.
        reason: The reason and the nearest program that works, as the page shows them.
        targets: The targets that refuse the operations.
        applies: Whether an operation belongs to the class.
    """

    message: str
    reason: str
    targets: tuple[str, ...]
    applies: Callable[[Any], bool]


def _accesses_half_pairs(op: Any) -> bool:
    """Whether a row of a multicast view of 16-bit elements ends within a pair."""
    name = op.operation.name
    if not name.startswith("cuda_tile.multimem") or element(op.view.type) not in ("f16", "bf16"):
        return False
    return bool(op.view.type.tensor_view.shape[-1] % 2)


REFUSALS = (
    Refusal(
        "accesses 2 elements of b?f16 at once, but base, extents, strides and indices allow one",
        "Views of multicast memory access 16-bit elements in pairs: their base is aligned, and their extents and "
        "strides are even, which `assume` can state.",
        TARGETS,
        _accesses_half_pairs,
    ),
)


def refusal(operations: Iterable[Any], target: str) -> Refusal | None:
    """The refusal of the first of the operations that the target cannot run, or None."""
    for op in operations:
        for each in REFUSALS:
            if target in each.targets and each.applies(op):
                return each
    return None
