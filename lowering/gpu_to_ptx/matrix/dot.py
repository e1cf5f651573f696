"""Matrix multiply-accumulate by multiply-adds on operands in shared memory, k ascending."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.matrix import DotOp
from tilec.element_types import INTEGER
from tilec.lowering.gpu.memory.shared_plan import shared_layout
from tilec.lowering.gpu_to_ptx.arithmetic.float_conversion import converted_float, converted_floats
from tilec.lowering.gpu_to_ptx.registers.elements import ELEMENTS, PtxElement, element, layout_of
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.gpu_to_ptx.registers.packed_registers import widened
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.shared_layout import SharedLayout

# By the type of the register that holds a sum.
_MULTIPLY_ADD = {"f32": "fma.rn.f32", "f64": "fma.rn.f64", "i32": "mad.lo.s32"}
# Bytes that dp4a multiplies at once (PTX ISA 9.7.1.23).
_PACKED_BYTES = 4


@lowers(DotOp)
def _dot(lowering: Lowering, operation: ir.Operation) -> None:
    op: DotOp = operation.opview
    layout, kind = layout_of(op.accumulator.type), element(op.accumulator)
    sums = ELEMENTS["f32"] if kind.name == "f16" else kind
    lhs, rhs = shared_layout(op.lhs.type), shared_layout(op.rhs.type)
    rows, columns = _axis(layout, 0), _axis(layout, 1)
    b = lowering.b
    # Both layouts are linear over bits, so an address is the XOR of a row (or column) part and a k part.
    row_parts = _thread_parts(lowering, layout, lhs, 0)
    column_parts = _thread_parts(lowering, layout, rhs, 1)
    accumulators = converted_floats(lowering, kind, sums, "rn", lowering.get(op.accumulator))
    head = b.block([b.i32, *(value.type for value in accumulators)], label="dot_loop")
    after = b.block([value.type for value in accumulators], label="dot_done")
    b.branch(head, b.compute("mov.b32 $0, 0;", b.i32), *accumulators)
    lowering.at(head)
    k, *carried = head.arguments
    packed = _is_packed(lhs, rhs, op)
    left = _elements(lowering, op.lhs, lhs, row_parts, rows, k, 1, packed, op.lhs_unsigned)
    right = _elements(lowering, op.rhs, rhs, column_parts, columns, k, 0, packed, op.rhs_unsigned)
    signs = ("u32" if is_unsigned else "s32" for is_unsigned in (op.lhs_unsigned, op.rhs_unsigned))
    text = f"{'.'.join(('dp4a', *signs)) if packed else _MULTIPLY_ADD[sums.register]} $0, $1, $2, $3;"
    summed = []
    for register, accumulator in enumerate(carried):
        row, column = layout.apply(register, 0, 0)
        summed.append(b.compute(text, accumulator.type, left[row], right[column], accumulator))
    following = b.compute(f"add.s32 $0, $1, {_PACKED_BYTES if packed else 1};", b.i32, k)
    again = b.compute(f"setp.lt.s32 $0, $1, {lhs.shape[1]};", b.i1, following)
    b.cond_branch(again, head, [following, *summed], after, summed)
    lowering.at(after)
    lowering.set(operation.results[0], converted_floats(lowering, sums, kind, "rn", list(after.arguments)))


def _is_packed(lhs: SharedLayout, rhs: SharedLayout, op: DotOp) -> bool:
    """Whether groups of bytes along K are contiguous in both operands."""
    is_contiguous = lhs.contiguous == 1 and rhs.contiguous == 0
    return str(op.lhs.type.element) == "i8" and is_contiguous and lhs.shape[1] % _PACKED_BYTES == 0


def _axis(layout: LinearLayout, dimension: int) -> list[int]:
    """The distinct coordinates along a dimension in the registers of thread 0."""
    return sorted({layout.apply(register, 0, 0)[dimension] for register in range(layout.register_count)})


def _offset(shared: SharedLayout, dimension: int, coordinate: int) -> int:
    position = [0, 0]
    position[dimension] = coordinate
    return shared.offset(*position)


def _xor_of_bits(lowering: Lowering, value: ir.Value, steps: list[int]) -> ir.Value:
    """The XOR of steps[i] over the set bits i of a value."""
    b = lowering.b
    total = b.compute("mov.b32 $0, 0;", b.i32)
    for bit, step in enumerate(steps):
        if step:
            field = b.compute(f"bfe.s32 $0, $1, {bit}, 1;", b.i32, value)
            part = b.compute(f"and.b32 $0, $1, {step};", b.i32, field)
            total = b.compute("xor.b32 $0, $1, $2;", b.i32, total, part)
    return total


def _thread_parts(lowering: Lowering, layout: LinearLayout, shared: SharedLayout, dimension: int) -> ir.Value:
    """The part of the address offset that depends on the thread number."""
    steps = [_offset(shared, dimension, basis[dimension]) for basis in (*layout.lane, *layout.warp)]
    return _xor_of_bits(lowering, lowering.thread, steps)


def _elements(
    lowering: Lowering,
    buffer: ir.Value,
    shared: SharedLayout,
    thread_part: ir.Value,
    own: list[int],
    k: ir.Value,
    depth: int,
    packed: bool,
    is_unsigned: bool,
) -> dict[int, ir.Value]:
    """Loads the elements at k, by row or column: bytes `packed` along K, or one widened to the type of the sums."""
    b = lowering.b
    extent = shared.shape[depth]
    along_k = _xor_of_bits(lowering, k, [_offset(shared, depth, 1 << bit) for bit in range((extent - 1).bit_length())])
    common = b.compute("xor.b32 $0, $1, $2;", b.i32, along_k, thread_part)
    base = lowering.scalar(buffer)
    kind = ELEMENTS[str(buffer.type.element)]
    found = {}
    for coordinate in own:
        offset = _offset(shared, 1 - depth, coordinate)
        moved = b.compute(f"xor.b32 $0, $1, {offset};", b.i32, common) if offset else common
        address = b.compute("add.s32 $0, $1, $2;", b.i32, base, moved)
        if packed:
            found[coordinate] = b.execute("ld.shared.b32 $0, [$1];", b.i32, address)
            continue
        loaded = b.execute(f"ld.shared.b{kind.bits} $0, [$1];", lowering.type(kind.register), address)
        found[coordinate] = _wide(lowering, kind, is_unsigned, loaded)
    return found


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
