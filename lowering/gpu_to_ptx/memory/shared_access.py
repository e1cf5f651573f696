"""Loads and stores of register tiles in shared memory through a linear map of bits to offsets."""

from __future__ import annotations

from collections.abc import Container

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.memory.access import load, store, widest
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.linear_index import image_bits, linear_index, split_constant
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.shared_address import SharedAddress
from tilec.lowering.layout.bit_matrix import BitMatrix
from tilec.lowering.layout.vector_width import register_vector, vector_groups


class SharedAccess:
    """Byte offsets from `base`: registers(r) ^ threads(thread). Accesses are at most as wide as the base is aligned."""

    def __init__(
        self,
        lowering: Lowering,
        element: PtxElement,
        base: SharedAddress,
        registers: BitMatrix,
        threads: BitMatrix,
        space: str = "shared",
    ) -> None:
        self.lowering = lowering
        self.element = element
        self.space = space
        self.base = base.register
        self.alignment = base.alignment
        self.registers = registers
        self.thread_bits = image_bits(threads)
        limit = min(widest(element), self.alignment // element.bytes)
        self.vector = register_vector(registers.columns, threads.columns, element.bytes, limit)
        self._thread = linear_index(lowering, threads, lowering.thread)
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
                address, offset = self.address(group[0])
                store(self.lowering, self.space, self.element, [values[r] for r in group], address, offset, guard)

    def load(self, count: int, wanted: Container[int]) -> dict[int, ir.Value]:
        """Loads values by register; registers at equal offsets share one load."""
        values: dict[int, ir.Value] = {}
        done: dict[int, list[ir.Value]] = {}
        for group in self.groups(count):
            if group[0] in wanted:
                position = self.registers(group[0])
                if position not in done:
                    address, offset = self.address(group[0])
                    done[position] = load(self.lowering, self.space, self.element, len(group), address, offset)
                values.update(zip(group, done[position], strict=True))
        return values
