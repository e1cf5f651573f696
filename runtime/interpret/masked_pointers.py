"""Pointers that only accesses with a mask use: one that leaves all memory is an error where an access takes it.

A gather computes the addresses of all its elements and masks those that are outside of the array.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilec.dialect.mlir import ir

OFFSET = "cuda_tile.offset"
_SHAPES = ("cuda_tile.reshape", "cuda_tile.broadcast", "cuda_tile.permute", OFFSET)
_POINTERS = ("source", "destination", "pointers")
# Stands for an address that an offset does not reach; no memory of a process lies there, in bytes or in half bytes.
NO_ADDRESS = np.uint64(0xDEAD_0000_0000_0000)
# What a fault says of an address whose offset looks like poison.
POISON = "the index has the bits of poison: it comes from a value that nothing defines"


def is_masked(op: Any) -> bool:
    """Whether all uses of the pointers that an operation gives are accesses with a mask, through shapes and offsets."""
    value = op.operation.results[0]
    uses = list(value.uses)
    return bool(uses) and all(_is_masked_use(use.owner, value) for use in uses)


def _is_masked_use(owner: Any, value: ir.Value) -> bool:
    if owner.operation.name in _SHAPES:
        return is_masked(owner)
    if getattr(owner, "mask", None) is None:
        return False
    return any(hasattr(owner, field) and getattr(owner, field) == value for field in _POINTERS)
