"""The bits of constant elements."""

from __future__ import annotations

import math

import numpy as np

from tilec.dialect.bytecode.elements import dense_bytes
from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement

# A tf32 has the upper 19 bits of an f32, and three bytes in a constant.
_TF32_BYTES, _TF32_SHIFT = 3, 13


def element_codes(elements: ir.DenseElementsAttr, kind: PtxElement) -> np.ndarray:
    """The bits of each element in row-major order, as unsigned integers of its size in scratch memory."""
    count = math.prod(ir.RankedTensorType(elements.type).shape)
    codes = _stored_codes(np.frombuffer(dense_bytes(elements), np.uint8), kind)
    return np.repeat(codes[:1], count) if elements.is_splat else codes[:count]


def memory_bytes(elements: ir.DenseElementsAttr, kind: PtxElement) -> bytes:
    """The elements as in global memory, where two elements of 4 bits share a byte, the first in its low half."""
    codes = element_codes(elements, kind)
    if kind.bits == 4:
        halves = np.append(codes, np.zeros(len(codes) % 2, np.uint8))
        codes = halves[0::2] | halves[1::2] << 4
    return codes.tobytes()


def _stored_codes(stored: np.ndarray, kind: PtxElement) -> np.ndarray:
    if kind.is_predicate:
        return np.unpackbits(stored, bitorder="little")
    if kind.name == "tf32":
        low, middle, high = stored.reshape(-1, _TF32_BYTES).astype(np.uint32).T
        return (low | middle << 8 | high << 16) << _TF32_SHIFT
    return stored.view(f"u{kind.bytes}")
