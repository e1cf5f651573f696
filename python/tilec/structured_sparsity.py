"""Matrices of which at most two of each four elements are not zero, as kept elements and metadata."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from tilec.diagnostics.user_traceback import public
from tilec.dialect.tilex.sparse_rules import (
    GROUPS,
    INTERLEAVING,
    NIBBLES_PER_WORD,
    SINGLE_NIBBLES,
    interleaved_blocks,
    is_interleaved,
)
from tilec.errors import ArgumentTypeError, ArgumentValueError
from tilec.runtime.arrays import view

# By the numpy type; float32 elements are multiplied as tf32.
_ELEMENTS = {
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "tf32",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e5m2": "f8E5M2",
    "int8": "i8",
    "uint8": "i8",
}
# Tiles of at most this number of rows and words of metadata lie inside of the array; TMA loads rows of 16 bytes.
_ROWS, _WORDS = 256, 8
# The nibble of a group without elements.
_FIRST_PAIR = SINGLE_NIBBLES[0]


@public
def compress_2_4(array: Any) -> tuple[np.ndarray, np.ndarray]:
    """The kept elements of a matrix and their metadata, for `ct.mma_sparse`.

    Each group of four consecutive elements of a row may have two that are not zero; float32 (multiplied as tfloat32):
    each group of two may have one. A group with fewer keeps zeros.

    Args:
        array: a matrix of shape (M, K) of float16, bfloat16, float32, float8_e4m3fn, float8_e5m2, int8 or uint8 in host
            memory: a numpy array, or one that is exported by DLPack. K is a multiple of the size of a group.

    Returns:
        The kept elements, of shape (M, K / 2) and the type of `array`, and the metadata, of uint32: a word for each 32
        elements of a row, 16 for float32. Rows and words are filled up to multiples of 256 and 8 with metadata that is
        legal for zeros, so that tiles of at most 256 x 8 words may reach beyond the matrix.

    Raises:
        TypeError: `array` is not such a matrix.
        ValueError: K is not a multiple of the size of a group, or a group has more elements that are not zero; the
            message names the first.

    Example:
        >>> values, metadata = ct.compress_2_4(np.array([[0, 5, 0, 7, 0, 0, 6, 0]], np.int8))
        >>> values
        array([[5, 7, 0, 6]], dtype=int8)
        >>> metadata.shape, hex(metadata[0, 0])
        ((256, 8), '0x4444448d')
    """
    matrix = _host_matrix(array)
    element = _ELEMENTS[matrix.dtype.name]
    size = GROUPS[element]
    kept = size // 2
    rows, depth = matrix.shape
    if depth % size:
        raise ArgumentValueError(
            f"'ct.compress_2_4', argument 'array': expected a multiple of {size} columns, got {depth}: append zeros"
        )
    groups = matrix.reshape(rows, depth // size, size)
    wanted = groups.astype(np.float64) != 0
    _check(groups, wanted, kept)
    # Elements that are not zero come first, then zeros, each in ascending order.
    chosen = np.sort(np.argsort(~wanted, axis=-1, kind="stable")[..., :kept], axis=-1)
    values = np.take_along_axis(groups, chosen, axis=-1).reshape(rows, depth // 2)
    codes = np.array(SINGLE_NIBBLES)[chosen[..., 0]] if kept == 1 else chosen[..., 0] | chosen[..., 1] << 2
    return values, _words(codes, is_interleaved(element))


def _host_matrix(array: Any) -> np.ndarray:
    """The array as a row-major matrix of numpy; raises ArgumentTypeError for others."""
    memory = view(array, "array")
    if memory.on_device:
        raise ArgumentTypeError("'ct.compress_2_4', argument 'array': expected memory of the host: copy it first")
    if memory.dtype.name not in _ELEMENTS or not memory.dtype.isnative or len(memory.shape) != 2:
        known = ", ".join(_ELEMENTS)
        found = f"{memory.dtype} of shape {memory.shape}"
        raise ArgumentTypeError(f"'ct.compress_2_4', argument 'array': expected a matrix of {known}, got {found}")
    if isinstance(array, np.ndarray):
        return np.ascontiguousarray(array)
    # numpy imports no bfloat16 and no floats of 8 bits by DLPack, so elements are copied without their type.
    interface = {
        "data": (memory.address, True),
        "shape": memory.shape,
        "strides": tuple(stride * memory.dtype.itemsize for stride in memory.strides),
        "typestr": f"|V{memory.dtype.itemsize}",
        "version": 3,
    }
    return np.array(SimpleNamespace(__array_interface__=interface)).view(memory.dtype)


def _check(groups: np.ndarray, wanted: np.ndarray, kept: int) -> None:
    """Raises ArgumentValueError for the first group with too many elements that are not zero."""
    excess = np.argwhere(wanted.sum(axis=-1) > kept)
    if not len(excess):
        return
    row, group = map(int, excess[0])
    size = groups.shape[-1]
    elements = ", ".join(map(str, groups[row, group].tolist()))
    where = f"row {row}, columns {group * size} to {group * size + size - 1}: {elements}"
    raise ArgumentValueError(
        f"'ct.compress_2_4', argument 'array': expected at most {kept} of {size} consecutive elements of a row that "
        f"are not zero, got {int(wanted[row, group].sum())} in {where}: set the smallest ones to zero first"
    )


def _words(codes: np.ndarray, interleaved: bool) -> np.ndarray:
    """The words of the nibbles of each row, filled up."""
    rows, groups = codes.shape
    words = -(-groups // NIBBLES_PER_WORD)
    height, width = -(-rows // _ROWS) * _ROWS, -(-words // _WORDS) * _WORDS
    filled = np.full((height, width * NIBBLES_PER_WORD), _FIRST_PAIR, np.uint32)
    filled[:rows, :groups] = codes
    if interleaved:
        filled = filled.reshape(interleaved_blocks(height, width)).transpose(INTERLEAVING)
    nibbles = filled.reshape(height, width, NIBBLES_PER_WORD)
    return np.bitwise_or.reduce(nibbles << 4 * np.arange(NIBBLES_PER_WORD, dtype=np.uint32), axis=-1)
