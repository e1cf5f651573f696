"""Loads and stores of register tiles in shared memory, and their exchange between threads through scratch memory.

The offset of an element is a linear map of its bits.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.memory.access import Access, load, store, widest
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.guards import first_holder
from tilec.lowering.gpu_to_ptx.registers.linear_index import image_bits, linear_index, split_constant
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.shared_address import SharedAddress
from tilec.lowering.layout.bit_matrix import BitMatrix
from tilec.lowering.layout.linear_layout import LinearLayout, flatten, unflatten
from tilec.lowering.layout.vectors import MAXIMUM_VECTOR_BYTES, register_vector, vector_groups


class SharedAccess:
    """Byte offsets from `base`: registers(r) ^ threads(thread). Accesses are at most as wide as the base is aligned.

    With `moved`, a map and an index known at run time, offsets are registers(r) ^ threads(thread) ^ map(index).
    """

    def __init__(
        self,
        lowering: Lowering,
        element: PtxElement,
        base: SharedAddress,
        registers: BitMatrix,
        threads: BitMatrix,
        space: str = "shared",
        moved: tuple[BitMatrix, ir.Value] | None = None,
    ) -> None:
        self.lowering = lowering
        self.element = element
        self.space = space
        self.base = base.register
        self.alignment = base.alignment
        self.registers = registers
        self.thread_bits = image_bits(threads)
        limit = min(widest(element), self.alignment // element.bytes)
        others = threads.columns
        self._thread = linear_index(lowering, threads, lowering.thread)
        if moved is not None and (part := linear_index(lowering, *moved)) is not None:
            others += moved[0].columns
            self.thread_bits |= image_bits(moved[0])
            whole = self._thread
            self._thread = part if whole is None else lowering.compute("xor.b32 $0, $1, $2;", "i32", whole, part)
        self.vector = register_vector(registers.columns, others, element.bytes, limit)
        self._addresses: dict[int, ir.Value] = {}

    def groups(self, count: int) -> list[list[int]]:
        """The registers of each access, in memory order."""
        return vector_groups(count, self.vector)

    def address(self, register: int) -> tuple[ir.Value, int]:
        """The address and the immediate offset of a register's element."""
        swizzled, added = split_constant(self.registers(register), self.thread_bits)
        return self._address(swizzled), added

    def _address(self, swizzled: int) -> ir.Value:
        """XOR below the alignment of the base does not change the base, so the sum with it is computed once."""
        if self._thread is None:
            return self.base
        if 0 < swizzled < self.alignment:
            return self.lowering.compute(f"xor.b32 $0, $1, {swizzled};", "i32", self._of_thread(0))
        return self._of_thread(swizzled)

    def _of_thread(self, swizzled: int) -> ir.Value:
        """base + (the thread's part ^ swizzled)."""
        if swizzled not in self._addresses:
            offset = self._thread
            if swizzled:
                offset = self.lowering.compute(f"xor.b32 $0, $1, {swizzled};", "i32", offset)
            self._addresses[swizzled] = self.lowering.compute("add.s32 $0, $1, $2;", "i32", self.base, offset)
        return self._addresses[swizzled]

    def store(self, values: list[ir.Value], wanted: Container[int], guard: ir.Value | None = None) -> None:
        """Stores the vectors whose first register is wanted."""
        for group in self.groups(len(values)):
            if group[0] in wanted:
                one = Access(self.space, *self.address(group[0]), guard)
                store(self.lowering, one, self.element, [values[r] for r in group])

    def load(self, count: int, wanted: Container[int]) -> dict[int, ir.Value]:
        """Loads values by register; registers at equal offsets share one load."""
        values: dict[int, ir.Value] = {}
        done: dict[int, list[ir.Value]] = {}
        for group in self.groups(count):
            if group[0] in wanted:
                position = self.registers(group[0])
                if position not in done:
                    one = Access(self.space, *self.address(group[0]))
                    done[position] = load(self.lowering, one, self.element, len(group))
                values.update(zip(group, done[position], strict=True))
        return values


def tile_access(
    lowering: Lowering,
    kind: PtxElement,
    base: SharedAddress,
    layout: LinearLayout,
    offsets: BitMatrix,
    space: str = "shared",
) -> SharedAccess:
    """The access to a tile whose element i (row-major) is at byte offsets(i) from `base`, an address in `space`."""
    registers, threads = offsets @ layout.register_matrix, offsets @ layout.thread_matrix
    return SharedAccess(lowering, kind, base, registers, threads, space)


def write(
    lowering: Lowering,
    kind: PtxElement,
    base: SharedAddress,
    layout: LinearLayout,
    registers: list[ir.Value],
    offsets: BitMatrix,
    wanted: Container[int] | None = None,
    space: str = "shared",
) -> None:
    """Stores each element of a tile_access(), by the first thread that holds it.

    `wanted` restricts the registers of each thread that are stored.
    """
    access = tile_access(lowering, kind, base, layout, offsets, space)
    holder = first_holder(lowering, layout.free_thread_mask)
    access.store(registers, layout.distinct_registers if wanted is None else wanted, holder)


def read(
    lowering: Lowering, kind: PtxElement, base: SharedAddress, layout: LinearLayout, offsets: BitMatrix
) -> list[ir.Value]:
    """Loads the registers of a tile_access()."""
    count = layout.register_count
    found = tile_access(lowering, kind, base, layout, offsets).load(count, range(count))
    return [found[register] for register in range(count)]


def row_major(elements: int, kind: PtxElement) -> BitMatrix:
    """The offsets of a row-major tile."""
    bits = elements.bit_length() - 1
    shift = kind.bytes.bit_length() - 1
    return BitMatrix(tuple(1 << bit + shift for bit in range(bits)), bits + shift)


@dataclass(frozen=True)
class ScratchTile:
    """A tile in the scratch memory of the role, whose element i (row-major) is at byte offsets(i) from `base`."""

    lowering: Lowering
    kind: PtxElement
    shape: tuple[int, ...]
    base: SharedAddress
    offsets: BitMatrix

    @classmethod
    def reserve(cls, lowering: Lowering, kind: PtxElement, shape: tuple[int, ...]) -> ScratchTile:
        """A row-major tile in memory that no thread reads."""
        size = math.prod(shape)
        return cls(
            lowering, kind, shape, SharedAddress(lowering.writable_scratch(size * kind.bytes)), row_major(size, kind)
        )

    def write(self, layout: LinearLayout, registers: list[ir.Value]) -> None:
        """Stores the tile, each element by the first thread that holds it."""
        write(self.lowering, self.kind, self.base, layout, registers, self.offsets)

    def read(self, layout: LinearLayout) -> list[ir.Value]:
        """Loads the registers of the tile in a layout."""
        return read(self.lowering, self.kind, self.base, layout, self.offsets)

    def part(self, start: SharedAddress, shape: Sequence[int]) -> ScratchTile:
        """The part of this shape whose first element is at `start`."""
        columns = tuple(
            flatten(unflatten(1 << bit, shape), self.shape) for bit in range(math.prod(shape).bit_length() - 1)
        )
        embedded = BitMatrix(columns, math.prod(self.shape).bit_length() - 1)
        return replace(self, shape=tuple(shape), base=start, offsets=self.offsets @ embedded)


def scratch_tiles(lowering: Lowering, kinds: Sequence[PtxElement], shape: Sequence[int]) -> list[ScratchTile]:
    """A row-major tile of each kind in memory that no thread reads, each aligned for the widest access."""
    offsets = [row_major(math.prod(shape), kind) for kind in kinds]
    sizes = [max(1 << matrix.rows, MAXIMUM_VECTOR_BYTES) for matrix in offsets]
    bases = [SharedAddress(lowering.writable_scratch(sum(sizes)))]
    for size in sizes[:-1]:
        bases.append(bases[-1].plus(lowering, size))
    rows = zip(kinds, bases, offsets, strict=True)
    return [ScratchTile(lowering, kind, tuple(shape), base, matrix) for kind, base, matrix in rows]
