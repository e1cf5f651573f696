"""A shared-memory layout for a conversion with vector accesses and few bank conflicts on both sides."""

from __future__ import annotations

from tilec.lowering.layout.bit_matrix import BitMatrix, complement, independent, intersection
from tilec.lowering.layout.linear_layout import LANE_BITS, LinearLayout
from tilec.lowering.layout.vector_width import MAXIMUM_VECTOR_BYTES

# Larger tiles are converted in parts, which leaves shared memory to the channels.
SCRATCH_LIMIT_BYTES = 32 * 1024
_BANK_ROW_BYTES = 128


def scratch_matrix(source: LinearLayout, target: LinearLayout, element_bytes: int) -> BitMatrix:
    """Row-major element index -> byte offset, a bijection; `source` stores through it, `target` loads.

    Vector bits are the register bits of both sides; the bits above select the bank; row bits are outside the span
    of the lanes of either side that access together, so that those lanes access different banks if possible.
    """
    bits = source.size.bit_length() - 1
    element_shift = element_bytes.bit_length() - 1
    vector = _vector(source, target, bits, (MAXIMUM_VECTOR_BYTES // element_bytes).bit_length() - 1)
    vector_bytes = element_bytes << len(vector)
    bank_bits = max(0, min((_BANK_ROW_BYTES // vector_bytes).bit_length() - 1, bits - len(vector)))
    rows = _rows(
        vector, _together(source, vector_bytes), _together(target, vector_bytes), bits, bits - len(vector) - bank_bits
    )
    banks = complement(vector + rows, bits)
    ordered = BitMatrix(vector + banks + rows, bits).right_inverse()
    return BitMatrix(tuple(column << element_shift for column in ordered.columns), bits + element_shift)


def _vector(source: LinearLayout, target: LinearLayout, bits: int, limit: int) -> tuple[int, ...]:
    """The register bits of both sides, else of the target, else of the source."""
    shared = [c for c in source.register_matrix.columns if c and c in target.register_matrix.columns]
    if not shared:
        shared = [c for c in target.register_matrix.columns if c] or [c for c in source.register_matrix.columns if c]
    return independent(shared)[:limit]


def _together(layout: LinearLayout, vector_bytes: int) -> tuple[int, ...]:
    """The lane bases within one wavefront: all 32 lanes of 4 bytes, 16 of 8, 8 of 16."""
    dropped = max(0, (vector_bytes // 4).bit_length() - 1)
    return layout.thread_matrix.columns[: LANE_BITS - dropped]


def _rows(
    vector: tuple[int, ...], left: tuple[int, ...], right: tuple[int, ...], bits: int, count: int
) -> tuple[int, ...]:
    """`count` vectors independent of the vector bits whose span avoids both sets of lanes as far as possible.

    With C the intersection of both sets, the bases that complete C in each set form pairs; their XORs are in neither.
    """
    left, right = _modulo(vector, left), _modulo(vector, right)
    both = intersection(vector + left, vector + right, bits)
    left_only = independent((*vector, *both, *left))[len(independent((*vector, *both))) :]
    right_only = independent((*vector, *both, *right))[len(independent((*vector, *both))) :]
    outside = complement((*vector, *left, *right), bits)
    pairs = tuple(a ^ b for a, b in zip(left_only, right_only, strict=False))
    rest = left_only + right_only + both
    return independent((*vector, *outside, *pairs, *rest))[len(vector) : len(vector) + count]


def _modulo(vector: tuple[int, ...], lanes: tuple[int, ...]) -> tuple[int, ...]:
    return independent((*vector, *lanes))[len(vector) :]
