"""Matrix multiply-accumulate by multiply-adds on operands in shared memory, k ascending.

A thread has rows and columns of the accumulator. For some k at a time it loads their elements by vectors, along K or
along its rows or columns, and then multiplies each row by each column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.matrix import DotOp
from tilec.element_types import INTEGER
from tilec.lowering.gpu.memory.shared_plan import shared_layout
from tilec.lowering.gpu_to_ptx.arithmetic.float_conversion import converted_float, converted_floats
from tilec.lowering.gpu_to_ptx.memory.access import Access, load
from tilec.lowering.gpu_to_ptx.memory.shared_access import SharedAccess
from tilec.lowering.gpu_to_ptx.registers.elements import ELEMENTS, PtxElement, element, layout_of
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.gpu_to_ptx.registers.packed_registers import widened
from tilec.lowering.gpu_to_ptx.registers.shared_address import SharedAddress
from tilec.lowering.layout.bit_matrix import BitMatrix
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.shared_layout import SharedLayout

# By the type of the register that holds a sum.
_MULTIPLY_ADD = {"f32": "fma.rn.f32", "f64": "fma.rn.f64", "i32": "mad.lo.s32"}
# Bytes that dp4a multiplies at once (PTX ISA 9.7.1.23).
_PACKED_BYTES = 4
# Steps along K between branches: one period of the swizzles, so that the addresses of all of them are constants apart.
_STEPS = 8
# The registers of the accumulator that one instruction adds to: one, or a pair of adjacent columns.
Registers = tuple[int, ...]


@lowers(DotOp)
def _dot(lowering: Lowering, operation: ir.Operation) -> None:
    op: DotOp = operation.opview
    layout, kind = layout_of(op.accumulator.type), element(op.accumulator)
    sums = ELEMENTS["f32"] if kind.name == "f16" else kind
    lhs, rhs = shared_layout(op.lhs.type), shared_layout(op.rhs.type)
    b = lowering.b
    packed = _is_packed(lhs, rhs, op)
    count = lhs.shape[1] // (_PACKED_BYTES if packed else 1)
    steps = min(_STEPS, count)
    groups = _groups(lowering, layout, sums)
    accumulators = _joined(lowering, groups, converted_floats(lowering, kind, sums, "rn", lowering.get(op.accumulator)))
    signs = ("u32" if is_unsigned else "s32" for is_unsigned in (op.lhs_unsigned, op.rhs_unsigned))
    form = ".".join(("dp4a", *signs)) if packed else _MULTIPLY_ADD[sums.register]

    def multiplied(step: ir.Value | None, accumulators: Sequence[ir.Value]) -> list[ir.Value]:
        left = _Operand(lowering, op.lhs, layout, 0, packed, op.lhs_unsigned, steps, step)
        right = _Operand(lowering, op.rhs, layout, 1, packed, op.rhs_unsigned, steps, step)
        return _products(lowering, form, groups, left, right, list(accumulators))

    if steps == count:
        summed = multiplied(None, accumulators)
    else:
        head = b.block([b.i32, *(value.type for value in accumulators)], label="dot_loop")
        after = b.block([value.type for value in accumulators], label="dot_done")
        b.branch(head, b.compute("mov.b32 $0, 0;", b.i32), *accumulators)
        lowering.at(head)
        step, *carried = head.arguments
        found = multiplied(step, carried)
        following = b.compute(f"add.s32 $0, $1, {steps};", b.i32, step)
        again = b.compute(f"setp.lt.s32 $0, $1, {count};", b.i1, following)
        b.cond_branch(again, head, [following, *found], after, found)
        lowering.at(after)
        summed = list(after.arguments)
    registers = _divided(lowering, groups, summed)
    lowering.set(operation.results[0], converted_floats(lowering, sums, kind, "rn", registers))


def _is_packed(lhs: SharedLayout, rhs: SharedLayout, op: DotOp) -> bool:
    """Whether groups of bytes along K are contiguous in both operands."""
    is_contiguous = lhs.contiguous == 1 and rhs.contiguous == 0
    return str(op.lhs.type.element) == "i8" and is_contiguous and lhs.shape[1] % _PACKED_BYTES == 0


# ---- accumulators


def _groups(lowering: Lowering, layout: LinearLayout, sums: PtxElement) -> list[Registers]:
    """The registers that each instruction adds to: pairs of columns of a row, where the target multiplies pairs."""
    count = range(layout.register_count)
    bit = next((1 << i for i, (row, column) in enumerate(layout.register) if column and not row), 0)
    if sums.register != "f32" or not lowering.target.packs_floats or not bit:
        return [(register,) for register in count]
    return [(register, register | bit) for register in count if not register & bit]


def _joined(lowering: Lowering, groups: Sequence[Registers], registers: list[ir.Value]) -> list[ir.Value]:
    return [_pair(lowering, *(registers[each] for each in group)) for group in groups]


def _pair(lowering: Lowering, low: ir.Value, high: ir.Value | None = None) -> ir.Value:
    """A register, or the pair of two."""
    if high is None:
        return low
    b = lowering.b
    return lowering.packed.get((low, high)) or b.compute("mov.b64 $0, {$1, $2};", b.i64, low, high)


def _divided(lowering: Lowering, groups: Sequence[Registers], summed: Sequence[ir.Value]) -> list[ir.Value]:
    found: dict[int, ir.Value] = {}
    for group, value in zip(groups, summed, strict=True):
        if len(group) == 1:
            found[group[0]] = value
            continue
        halves = lowering.compute_all("mov.b64 {$0, $1}, $2;", ["f32", "f32"], value)
        lowering.packed[halves[0], halves[1]] = value
        found.update(zip(group, halves, strict=True))
    return [found[register] for register in sorted(found)]


def _products(
    lowering: Lowering,
    form: str,
    groups: Sequence[Registers],
    left: _Operand,
    right: _Operand,
    accumulators: list[ir.Value],
) -> list[ir.Value]:
    """The accumulators after the products of all steps between two branches."""
    text = f"{form}{'x2' if len(groups[0]) == 2 else ''} $0, $1, $2, $3;"
    for step in range(left.steps):
        for number, group in enumerate(groups):
            row = left.joined(group, step)
            columns = right.joined(group, step)
            accumulator = accumulators[number]
            accumulators[number] = lowering.b.compute(text, accumulator.type, row, columns, accumulator)
    return accumulators


# ---- operands


class _Operand:
    """The elements of the rows (dimension 0) or columns (1) of a thread, each loaded where it is first needed."""

    def __init__(
        self,
        lowering: Lowering,
        buffer: ir.Value,
        layout: LinearLayout,
        dimension: int,
        packed: bool,
        is_unsigned: bool,
        steps: int,
        first: ir.Value | None,
    ) -> None:
        self._lowering = lowering
        self._kind = ELEMENTS[str(buffer.type.element)]
        self._is_unsigned = is_unsigned
        self._packed = packed
        self.steps = steps
        shared, unit = shared_layout(buffer.type), _PACKED_BYTES if packed else 1
        own = [basis[dimension] for basis in layout.register]
        self._own_bits = [bit for bit, coordinate in enumerate(own) if coordinate]
        step_bits = (steps - 1).bit_length()
        all_bits = (shared.shape[1 - dimension] // unit - 1).bit_length()
        offset = _offsets(shared, dimension)
        along = [offset(0, unit << bit) for bit in range(all_bits)]
        address_bits = (shared.size_bytes - 1).bit_length()
        registers = [*along[:step_bits], *(offset(own[bit], 0) for bit in self._own_bits)]
        threads = [offset(basis[dimension], 0) for basis in (*layout.lane, *layout.warp)]
        self._step_bits = step_bits
        moved = BitMatrix((*(0,) * step_bits, *along[step_bits:]), address_bits)
        self._access = SharedAccess(
            lowering,
            ELEMENTS["i32"] if packed else self._kind,
            SharedAddress(lowering.scalar(buffer)),
            BitMatrix(tuple(registers), address_bits),
            BitMatrix(tuple(threads), address_bits),
            moved=None if first is None else (moved, first),
        )
        self._group = {position: group for group in self._access.groups(1 << len(registers)) for position in group}
        self._loaded: dict[int, ir.Value] = {}
        self._pairs: dict[tuple[int, ...], ir.Value] = {}

    def _position(self, register: int, step: int) -> int:
        own = sum((register >> bit & 1) << i for i, bit in enumerate(self._own_bits))
        return step | own << self._step_bits

    def _element(self, position: int) -> ir.Value:
        if position not in self._loaded:
            group = self._group[position]
            one = Access(self._access.space, *self._access.address(group[0]))
            values = load(self._lowering, one, self._access.element, len(group))
            if not self._packed:
                values = [_wide(self._lowering, self._kind, self._is_unsigned, value) for value in values]
            self._loaded.update(zip(group, values, strict=True))
        return self._loaded[position]

    def joined(self, group: Registers, step: int) -> ir.Value:
        """The elements of the registers of a group."""
        positions = tuple(self._position(register, step) for register in group)
        if positions not in self._pairs:
            self._pairs[positions] = _pair(self._lowering, *map(self._element, positions))
        return self._pairs[positions]


def _offsets(shared: SharedLayout, dimension: int) -> Callable[[int, int], int]:
    """The offset in bytes by the coordinate along a dimension and that along the other one."""
    return shared.offset if dimension == 0 else lambda own, along: shared.offset(along, own)


def _wide(lowering: Lowering, element: PtxElement, is_unsigned: bool, value: ir.Value) -> ir.Value:
    """An element in the type of the arithmetic, which holds it exactly."""
    if element.kind == INTEGER:
        return widened(lowering, element, not is_unsigned, value, 32)
    if element.name == "tf32":
        # Tensor cores read the upper 19 bits only.
        bits = lowering.b.compute("mov.b32 $0, $1;", lowering.b.i32, value)
        kept = lowering.b.compute("and.b32 $0, $1, 0xffffe000;", lowering.b.i32, bits)
        return lowering.b.compute("mov.b32 $0, $1;", lowering.b.f32, kept)
    return value if element.bits >= 32 else converted_float(lowering, element, ELEMENTS["f32"], "rn", value)
