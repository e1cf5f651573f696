"""Structured sparsity: which elements of a group a metadata nibble keeps, and the words of metadata of a tile.

A row of metadata has a nibble per group, of 4 elements of which 2 are kept, for tf32 of 2 of which 1 is kept (PTX ISA
9.7.16.10.8.1 and 9.7.15.5). A word of 32 bits has 8 nibbles, the lowest bits first.
"""

from __future__ import annotations

from collections.abc import Sequence

# The nibbles of ascending pairs: the first index in the low bits.
PAIR_NIBBLES = tuple(first | second << 2 for second in range(4) for first in range(second))
# tf32: the first or the second of two elements, as the pair of its halves of 16 bits.
SINGLE_NIBBLES = (0b0100, 0b1110)
NIBBLES_PER_WORD = 8
# 32-bit words of elements of 16 and 32 bits hold 16 bits of each of two rows (`is_interleaved`).
INTERLEAVED_ROWS = 16

# The elements of a group, by the spelling of the element type.
GROUPS = {"f16": 4, "bf16": 4, "tf32": 2, "f8E4M3FN": 4, "f8E5M2": 4, "i8": 4}


def nibbles(element: str) -> tuple[int, ...]:
    """The legal nibbles of an element type, ascending."""
    return SINGLE_NIBBLES if GROUPS[element] == 2 else tuple(sorted(PAIR_NIBBLES))


def word_elements(element: str) -> int:
    """The elements along K, kept or not, of a word of metadata."""
    return NIBBLES_PER_WORD * GROUPS[element]


def is_interleaved(element: str) -> bool:
    """Whether words hold 16 bits of each of two rows, in blocks of 16 rows, as tensor cores read them.

    Word (16 R + 8 q + r, c) then has the nibbles 8 c + 4 q to 8 c + 4 q + 3 of row 16 R + r in its low half, and
    those of row 16 R + 8 + r in its high half. Else word (m, c) has the nibbles 8 c to 8 c + 7 of row m.
    """
    return element not in ("f8E4M3FN", "f8E5M2", "i8")


# The two halves of a block and the two halves of a word along K change places; it is its own inverse.
INTERLEAVING = (0, 4, 2, 3, 1, 5)


def interleaved_blocks(rows: int, words: int) -> tuple[int, ...]:
    """The shape of interleaved nibbles: block, half of its rows, row, word, half of the word along K, nibble."""
    return rows // INTERLEAVED_ROWS, 2, INTERLEAVED_ROWS // 2, words, 2, NIBBLES_PER_WORD // 2


def sparse_shape_problem(element: str, kept: Sequence[int], metadata: Sequence[int], rhs: Sequence[int]) -> str | None:
    """The problem with the shapes of the kept elements, their metadata and rhs, all of rank 2, or None."""
    rows, depth = kept[0], 2 * kept[1]
    if rhs[0] != depth:
        return f"expected {depth} rows of rhs, two for each of the {kept[1]} columns of kept elements, but got {rhs[0]}"
    step = word_elements(element)
    if depth % step:
        return f"a word of metadata covers {step} elements of {element} along K, but K is {depth}"
    if is_interleaved(element) and rows % INTERLEAVED_ROWS:
        return f"the metadata of {element} has blocks of {INTERLEAVED_ROWS} rows, but got {rows} rows"
    expected = (rows, depth // step)
    if tuple(metadata) != expected:
        return f"expected metadata of {expected[0]}x{expected[1]} words, but got {'x'.join(map(str, metadata))}"
    return None
