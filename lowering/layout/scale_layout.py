"""The layouts of scale factors and of metadata in shared and tensor memory (PTX ISA 9.7.16.10.7 and 9.7.16.10.8)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from tilec.errors import VerificationError
from tilec.lowering.layout.bit_matrix import BitMatrix, Index
from tilec.lowering.layout.shared_layout import offset_matrix

# tcgen05.cp.32x128b copies 32 rows of 16 bytes: four factors along K of each of 128 rows (or columns) of a matrix.
ATOM_ROWS, ATOM_FACTORS, ATOM_BYTES, ATOM_COLUMNS = 128, 4, 512, 4
_LANES, _LANE_BYTES = 32, 16
_TEXT = re.compile(r"scale_factors depth=([01])|sparse_metadata")
_METADATA_ATOM_BYTES, _WORD_BYTES = 2048, 4


@dataclass(frozen=True)
class ScaleLayout:
    """One-byte factors of a matrix in atoms of 128 rows by four factors along K, its dimension `depth`.

    Byte (row % 32) * 16 + (row % 128 / 32) * 4 + k % 4 of an atom is factor k of a row. Atoms along K are adjacent in
    shared memory. In tensor memory an atom has four columns and atoms along the rows are adjacent: one instruction
    reads the factors of up to 256 rows at one k from consecutive columns. Raises ValueError for another rank.
    """

    shape: tuple[int, ...]
    depth: int
    atom_bytes: ClassVar[int] = ATOM_BYTES
    # In messages.
    subject: ClassVar[str] = "scale factors"
    blocks: ClassVar[str] = "blocks of 128 rows by 4 factors"

    def __post_init__(self) -> None:
        if len(self.shape) != 2:
            raise ValueError(f"scale factors are a matrix, got shape {self.shape}")

    def __str__(self) -> str:
        return f"scale_factors depth={self.depth}"

    @property
    def row_groups(self) -> int:
        """The number of atoms along the rows; the last may be partly used."""
        return -(-self.shape[1 - self.depth] // ATOM_ROWS)

    @property
    def records(self) -> int:
        """The number of atoms along K; the last may be partly used."""
        return -(-self.shape[self.depth] // ATOM_FACTORS)

    @property
    def size_bytes(self) -> int:
        """Bytes in shared memory."""
        return self.row_groups * self.records * self.atom_bytes

    @property
    def loaded_bytes(self) -> int:
        """The bytes of global memory that TMA copies into the buffer."""
        return self.size_bytes

    @property
    def columns(self) -> int:
        """Columns of tensor memory."""
        return self.row_groups * self.records * ATOM_COLUMNS

    def atom_offset(self, group: Index, record: Index) -> Index:
        """Bytes to an atom in shared memory."""
        return (group * self.records + record) * self.atom_bytes

    def atom_column(self, group: int, record: int) -> int:
        """Columns to an atom in tensor memory."""
        return (record * self.row_groups + group) * ATOM_COLUMNS

    def offset(self, *coordinates: Index) -> Index:
        """Byte offset of a factor in shared memory; coordinates are integers or integer arrays."""
        row, k = coordinates[1 - self.depth], coordinates[self.depth]
        atom = (row // ATOM_ROWS * self.records + k // ATOM_FACTORS) * ATOM_BYTES
        return atom + row % _LANES * _LANE_BYTES + row % ATOM_ROWS // _LANES * ATOM_FACTORS + k % ATOM_FACTORS

    @property
    def copies(self) -> tuple[int, ...]:
        """Byte offsets of the copies of all factors: unused rows and columns of atoms repeat those that are used.

        The copy to tensor memory reads whole atoms, of which no byte is undefined then.
        """
        row_step, k_step = self.shape[1 - self.depth], self.shape[self.depth]
        rows, ks = range(0, ATOM_ROWS, min(row_step, ATOM_ROWS)), range(0, ATOM_FACTORS, min(k_step, ATOM_FACTORS))
        return tuple(self.offset(*((row, k) if self.depth else (k, row))) for row in rows for k in ks)

    @cached_property
    def matrix(self) -> BitMatrix:
        """Row-major index of a factor -> byte offset in shared memory."""
        return offset_matrix(self.shape, self.offset, self.size_bytes)


@dataclass(frozen=True)
class MetadataLayout(ScaleLayout):
    """32-bit words of the metadata of a sparse lhs, in atoms of 128 rows by four words.

    Word c % 4 of a row is at byte (row % 128) * 16 + c % 4 * 4 of an atom, in tensor memory in lane row % 128. Atoms
    along the rows are adjacent in both: TMA loads four words of all rows at once.
    """

    depth: int = 1
    atom_bytes: ClassVar[int] = _METADATA_ATOM_BYTES
    subject: ClassVar[str] = "words of metadata"
    blocks: ClassVar[str] = "blocks of 128 rows by 4 words"

    def __str__(self) -> str:
        return "sparse_metadata"

    def offset(self, *coordinates: Index) -> Index:
        """Byte offset of a word in shared memory."""
        row, word = coordinates
        return (
            self.atom_offset(row // ATOM_ROWS, word // ATOM_FACTORS)
            + row % ATOM_ROWS * _LANE_BYTES
            + word % ATOM_FACTORS * _WORD_BYTES
        )

    def atom_offset(self, group: Index, record: Index) -> Index:
        """Bytes to an atom in shared memory."""
        return (record * self.row_groups + group) * self.atom_bytes

    def column(self, group: int, word: int) -> int:
        """The column of tensor memory with a word of 128 rows."""
        return self.atom_column(group, word // ATOM_FACTORS) + word % ATOM_FACTORS


def is_scale_layout(text: str) -> bool:
    """Whether a text is the `str()` of a ScaleLayout or a MetadataLayout."""
    return _TEXT.fullmatch(text) is not None


def parse_scale_layout(text: str, shape: tuple[int, ...]) -> ScaleLayout:
    """The layout whose `str()` is the text; raises VerificationError for other texts."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise VerificationError(f"expected a layout like 'scale_factors depth=1', got '{text}'")
    try:
        return MetadataLayout(shape) if match[1] is None else ScaleLayout(shape, int(match[1]))
    except ValueError as error:
        raise VerificationError(f"bad layout '{text}': {error}") from error
