"""Pointers used by masked accesses only: an invalid one is an error only if an unmasked element accesses it.

A gather computes the addresses of all its elements and masks those outside the array.
"""

from __future__ import annotations

import numpy as np

from tilec.dialect.mlir import ir

OFFSET = "cuda_tile.offset"
_SHAPES = ("cuda_tile.reshape", "cuda_tile.broadcast", "cuda_tile.permute", OFFSET)
_POINTERS = ("source", "destination", "pointers")
# Replaces an address that an offset cannot represent; never mapped, neither as a byte address nor in steps of 4 bits.
NO_ADDRESS = np.uint64(0xDEAD_0000_0000_0000)
# The note of a fault for an address computed from poison.
POISON = "the index has the bits of poison: it comes from an undefined value"


def is_masked(op: ir.OpView) -> bool:
    """Whether all uses of the resulting pointers are masked accesses, also through shape operations and offsets."""
    value = op.operation.results[0]
    uses = list(value.uses)
    return bool(uses) and all(_is_masked_use(use.owner, value) for use in uses)


def _is_masked_use(owner: ir.OpView, value: ir.Value) -> bool:
    if owner.operation.name in _SHAPES:
        return is_masked(owner)
    if getattr(owner, "mask", None) is None:
        return False
    return any(hasattr(owner, field) and getattr(owner, field) == value for field in _POINTERS)
