"""Facts about a kernel and its target that passes over Tile IR follow; the plan decides them (lowering/plan/)."""

from __future__ import annotations

from dataclasses import dataclass

# The shared memory of a block on each target.
SHARED_BYTES = 232448


@dataclass(frozen=True)
class TileFacts:
    """The facts that passes need; the default values hold for any kernel.

    Attributes:
        splits_chains: whether halves of a product of 256 rows may be computed by threads of their own.
        divides_stores: whether products may be stored in slices of columns: a thread has all columns of its rows.
        divides_depth: whether rings have slots for parts of tiles: no hint limits the number of their slots.
        shared_bytes: the shared memory of a block.
    """

    splits_chains: bool = True
    divides_stores: bool = True
    divides_depth: bool = False
    shared_bytes: int = SHARED_BYTES


# The facts that hold for any kernel.
UNKNOWN = TileFacts()
