"""The operations that a target refuses, with a part of the error; docs/operations.md lists them with the reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from vector_facts import element

TARGETS = ("sm_100a", "sm_90a")
# The smallest tile of tcgen05.mma with block scaling, and the bytes along K of its elements of 4 bits.
SCALED_ROWS, SCALED_STEP = 128, 64


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


def _is_scaled(op: Any) -> bool:
    return op.operation.name == "cuda_tile.mmaf_scaled"


def _has_factors_without_unit(op: Any) -> bool:
    return _is_scaled(op) and element(op.lhs_scale.type) == "fnv8E5M3FNU"


def _is_small_and_scaled(op: Any) -> bool:
    if not _is_scaled(op):
        return False
    *_, rows, depth = op.lhs.type.shape
    return rows % SCALED_ROWS != 0 or (element(op.lhs.type) == "f4E2M1FN" and depth % SCALED_STEP != 0)


def _accesses_half_pairs(op: Any) -> bool:
    """Whether a row of a multicast view of 16-bit elements ends within a pair."""
    name = op.operation.name
    if not name.startswith("cuda_tile.multimem") or element(op.view.type) not in ("f16", "bf16"):
        return False
    return bool(op.view.type.tensor_view.shape[-1] % 2)


_EMULATION = "The hint `emulate_block_scaling=True` multiplies scaled operands of bf16 instead."
REFUSALS = (
    Refusal(
        "sm_90a has no multiply with block scaling",
        f"sm_90a has no multiply with block scaling. {_EMULATION}",
        ("sm_90a",),
        _is_scaled,
    ),
    Refusal(
        "block-scaled tcgen05 (has no factors of fnv8E5M3FNU|needs|reads)",
        f"The multiply with block scaling has no factors of fnv8E5M3FNU. {_EMULATION}",
        ("sm_100a",),
        _has_factors_without_unit,
    ),
    Refusal(
        "block-scaled tcgen05 (needs|reads)",
        "The multiply with block scaling needs a multiple of 128 rows, and of 32 bytes along K. " + _EMULATION,
        ("sm_100a",),
        _is_small_and_scaled,
    ),
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
