"""Operand fragments of mma.sync, from shared memory: by ldmatrix where its rows of 16 bytes fit, else by elements."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.memory.access import signed
from tilec.lowering.gpu_to_ptx.memory.shared_access import SharedAccess
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.literals import operands
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.packed_registers import pack
from tilec.lowering.gpu_to_ptx.registers.shared_address import SharedAddress
from tilec.lowering.layout.bit_matrix import BitMatrix
from tilec.lowering.layout.linear_layout import LANE_BITS
from tilec.lowering.layout.mma_sync import OperandLayout

# PTX ISA 9.7.14.5.15: each matrix of ldmatrix is eight rows of 16 bytes; the lower lanes hold the address of a row.
_ROW_BYTES, _ROW_BITS = 16, 3
# An instruction loads up to four matrices.
_MAXIMUM_MATRIX_BITS = 2


class OperandFragments:
    """The fragments of one operand; a register is loaded when it is first read.

    `offsets` maps a row-major index in the fragments' shape to the byte offset from `base`.
    """

    def __init__(
        self, lowering: Lowering, kind: PtxElement, base: SharedAddress, fragments: OperandLayout, offsets: BitMatrix
    ) -> None:
        self.blocks = 1 << len(fragments.blocks)
        self._bits = len(fragments.instruction)
        self._step_shift = self._bits + len(fragments.blocks)
        self._loads = _loads(lowering, kind, base, fragments, offsets)
        self._registers: dict[int, ir.Value] = {}

    def fragment(self, block: int, step: int) -> list[ir.Value]:
        """The registers of an instruction: number `block` along the rows, number `step` along K."""
        first = block << self._bits | step << self._step_shift
        return [self._register(first + number) for number in range(1 << self._bits)]

    def _register(self, number: int) -> ir.Value:
        if number not in self._registers:
            self._registers.update(self._loads.load(number))
        return self._registers[number]


def _loads(
    lowering: Lowering, kind: PtxElement, base: SharedAddress, fragments: OperandLayout, offsets: BitMatrix
) -> _MatrixLoads | _PairedByteLoads | _ElementLoads:
    """The loads of the register of a number, perhaps with others."""
    layout, packed = fragments.layout, len(fragments.packed)
    registers, threads = offsets @ layout.register_matrix, offsets @ layout.thread_matrix
    inner = registers.columns[:packed] + threads.columns[:2]
    outer, warps = threads.columns[2:LANE_BITS], threads.columns[LANE_BITS:]
    if inner == _row_of(kind.bytes):
        return _MatrixLoads(lowering, kind, base, outer, registers.columns[packed:], warps, "")
    if kind.bytes == 2 and outer == _row_of(kind.bytes):
        return _MatrixLoads(lowering, kind, base, inner, registers.columns[packed:], warps, ".trans")
    if kind.bytes == 1 and outer == _row_of(2) and 1 in registers.columns[packed:]:
        return _PairedByteLoads(lowering, kind, base, inner, registers.columns[packed:], warps)
    return _ElementLoads(lowering, kind, base, registers, threads, packed)


def _row_of(element_bytes: int) -> tuple[int, ...]:
    """The offsets of the bits of an element's number in a row of a matrix."""
    return tuple(step for step in (1, 2, 4, 8) if step >= element_bytes)


class _MatrixLoads:
    """ldmatrix: the lower three lane bits select a row of a matrix, the others one of the first matrices."""

    def __init__(
        self,
        lowering: Lowering,
        kind: PtxElement,
        base: SharedAddress,
        rows: Sequence[int],
        matrices: Sequence[int],
        warps: Sequence[int],
        transpose: str,
    ) -> None:
        self._lowering = lowering
        self._count = 1 << min(len(matrices), _MAXIMUM_MATRIX_BITS)
        self._text = f"ldmatrix.sync.aligned.m8n8.x{self._count}{transpose}.shared.b16"
        selected = [*matrices[:_MAXIMUM_MATRIX_BITS], 0, 0][: LANE_BITS - _ROW_BITS]
        threads = (*rows, *selected, *warps)
        bits = max((*threads, *matrices)).bit_length()
        self._access = SharedAccess(
            lowering, kind, base, BitMatrix(tuple(matrices), bits), BitMatrix(tuple(threads), bits)
        )

    def load(self, number: int) -> dict[int, ir.Value]:
        first = number & -self._count
        address, offset = self._access.address(first)
        text = f"{self._text} {{{operands(self._count)}}}, [${self._count}{signed(offset)}];"
        loaded = self._lowering.b.execute(text, [self._lowering.b.i32] * self._count, address)
        return {first + matrix: register for matrix, register in enumerate(loaded)}


class _PairedByteLoads:
    """ldmatrix.trans of pairs of bytes of successive rows (M or N), which are in two registers of a lane.

    A matrix has elements 4i and 4i + 1 along K, another 4i + 2 and 4i + 3, for the lanes of 4i. Its eight rows differ
    in the number modulo 8, which selects the banks: in the upper two lanes of four the matrices are exchanged.
    """

    _EXCHANGED = 2

    def __init__(
        self,
        lowering: Lowering,
        kind: PtxElement,
        base: SharedAddress,
        along_k: Sequence[int],
        registers: Sequence[int],
        warps: Sequence[int],
    ) -> None:
        first, second, third, fourth = along_k
        self._lowering, self._bit = lowering, registers.index(1)
        matrices = [second if bit == self._bit else column for bit, column in enumerate(registers)]
        rows = (first, third, fourth ^ second)
        self._matrices = _MatrixLoads(lowering, kind, base, rows, matrices, warps, ".trans")

    def load(self, number: int) -> dict[int, ir.Value]:
        loaded = self._matrices.load(number)
        if (other := number ^ 1 << self._bit) not in loaded:
            loaded |= self._matrices.load(other)
        registers: dict[int, ir.Value] = {}
        for low in (each for each in loaded if not each >> self._bit & 1):
            high = low | 1 << self._bit
            # Bytes 0 and 2, or 1 and 3, of each matrix.
            for row, selected in ((low, (0x6420, 0x2064)), (high, (0x7531, 0x3175))):
                text = "prmt.b32 $0, $1, $2, $3;"
                operands = loaded[low], loaded[high], self._selector(*selected)
                registers[row] = self._lowering.compute(text, "i32", *operands)
        return registers

    def _selector(self, in_order: int, exchanged: int) -> ir.Value:
        """The bytes that prmt selects, first those of the lower elements along K."""
        lowering = self._lowering
        bit = lowering.compute(f"and.b32 $0, $1, {self._EXCHANGED};", "i32", lowering.lane)
        is_exchanged = lowering.compute("setp.ne.s32 $0, $1, 0;", "i1", bit)
        return lowering.compute(f"selp.b32 $0, {exchanged}, {in_order}, $1;", "i32", is_exchanged)


class _ElementLoads:
    """Loads of elements, as wide as consecutive ones allow, packed into registers."""

    def __init__(
        self,
        lowering: Lowering,
        kind: PtxElement,
        base: SharedAddress,
        registers: BitMatrix,
        threads: BitMatrix,
        packed: int,
    ) -> None:
        self._lowering, self._kind, self._packed = lowering, kind, packed
        self._access = SharedAccess(lowering, kind, base, registers, threads)
        self._count = 1 << len(registers.columns)

    def load(self, number: int) -> dict[int, ir.Value]:
        vector = sum(1 << bit for bit in self._access.vector)
        wanted = {element & ~vector for element in self._elements(number)}
        found = self._access.load(self._count, wanted)
        numbers = {element >> self._packed for element in found}
        whole = [other for other in numbers if all(element in found for element in self._elements(other))]
        return {other: self._register([found[element] for element in self._elements(other)]) for other in sorted(whole)}

    def _elements(self, number: int) -> range:
        return range(number << self._packed, number + 1 << self._packed)

    def _register(self, elements: list[ir.Value]) -> ir.Value:
        (register,) = pack(self._lowering, self._kind, elements)
        if self._kind.register != "f32":
            return register
        # PTX ISA 9.7.14.5: registers of operands of 32 bits are untyped.
        return self._lowering.compute("mov.b32 $0, $1;", "i32", register)
