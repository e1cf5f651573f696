"""Structured sparsity: the kept elements of lhs at the positions that their metadata names, zeros elsewhere."""

from __future__ import annotations

import numpy as np

from tilec.dialect import undefined_behaviour
from tilec.dialect.tilex.sparse_rules import (
    GROUPS,
    INTERLEAVING,
    NIBBLES_PER_WORD,
    SINGLE_NIBBLES,
    interleaved_blocks,
    is_interleaved,
    nibbles,
)
from tilec.runtime.interpret.fault import Fault
from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.numbers.integer import reading, wrap
from tilec.runtime.interpret.operations.mma import decoded, product, rounded_sum
from tilec.runtime.interpret.registry import interprets
from tilec.runtime.interpret.step import Step

Tile = np.ndarray


@interprets("tilex.mma_sparse")
def _mma_sparse(op: Step, machine: Machine, lhs: Tile, rhs: Tile, acc: Tile, metadata: Tile) -> Tile:
    element = op.types[0].element
    codes = _codes(metadata, element.name)
    if machine.check:
        _check(codes, element.name)
    if element.name == "i8":
        signs = ("unsigned" if op[f"{side}_unsigned"] else "signed" for side in ("lhs", "rhs"))
        left, right = (
            reading(tile, element, sign).astype(np.float64) for tile, sign in zip((lhs, rhs), signs, strict=True)
        )
        # Sums of products of bytes stay below 2**53, so the product in f64 is exact.
        return wrap(product(_dense(left, codes, element.name), right).astype(np.int64) + acc, op.element)
    left, right = decoded(lhs, element), decoded(rhs, element)
    return rounded_sum(op, product(_dense(left, codes, element.name), right), acc)


def _codes(metadata: Tile, element: str) -> Tile:
    """The nibbles of each row."""
    rows, words = metadata.shape
    shifts = 4 * np.arange(NIBBLES_PER_WORD, dtype=np.uint32)
    found = (np.asarray(metadata, order="C").view(np.uint32)[..., None] >> shifts) & 15
    if is_interleaved(element):
        found = found.reshape(interleaved_blocks(rows, words)).transpose(INTERLEAVING)
    return found.reshape(rows, words * NIBBLES_PER_WORD)


def _check(codes: Tile, element: str) -> None:
    """Faults for a nibble that names no elements."""
    illegal = np.argwhere(~np.isin(codes, nibbles(element)))
    if len(illegal):
        row, group = map(int, illegal[0])
        raise Fault(undefined_behaviour.sparse_metadata(nibbles(element), (row, group, int(codes[row, group]))))


def _dense(kept: Tile, codes: Tile, element: str) -> Tile:
    """The elements of all groups, of which those that are not kept are zero."""
    rows, groups = codes.shape
    size = GROUPS[element]
    dense = np.empty((rows, groups, size))
    if size == 2:
        for position, code in enumerate(SINGLE_NIBBLES):
            dense[..., position] = np.where(codes == code, kept, 0)
    else:
        first, second = np.moveaxis(kept.reshape(rows, groups, 2), -1, 0)
        for position in range(size):
            others = np.where(codes >> 2 == position, second, 0)
            dense[..., position] = np.where(codes & 3 == position, first, others)
    return dense.reshape(rows, groups * size)
