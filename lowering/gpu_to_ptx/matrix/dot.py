"""Matrix multiply-accumulate by multiply-adds on operands in shared memory, k ascending."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.matrix import DotOp
from tilec.element_types import INTEGER
from tilec.lowering.gpu.memory.shared_plan import shared_layout
from tilec.lowering.gpu_to_ptx.arithmetic.float_conversion import converted_float
from tilec.lowering.gpu_to_ptx.registers.elements import ELEMENTS, PtxElement
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.gpu_to_ptx.registers.packed_registers import widened
from tilec.lowering.layout.linear_layout import LinearLayout, parse_layout
from tilec.lowering.layout.shared_layout import SharedLayout

# By the type of the register that holds a sum.
_MULTIPLY_ADD = {"f32": "fma.rn.f32", "f64": "fma.rn.f64", "i32": "mad.lo.s32"}
# Bytes that dp4a multiplies at once (PTX ISA 9.7.1.23).
_PACKED_BYTES = 4


@lowers(DotOp)
def _dot(lowering: Lowering, operation: ir.Operation) -> None:
    op: DotOp = operation.opview
    tile = op.accumulator.type
    layout = parse_layout(tile.encoding.value)
    lhs, rhs = shared_layout(op.lhs.type), shared_layout(op.rhs.type)
    rows, columns = _axis(layout, 0), _axis(layout, 1)
    b = lowering.b
    # Both layouts are linear over bits, so an address is the XOR of a row (or column) part and a k part.
    row_parts = _thread_parts(lowering, op.lhs, layout, lhs, 0)
    column_parts = _thread_parts(lowering, op.rhs, layout, rhs, 1)
    accumulators = _widened(lowering, lowering.get(op.accumulator), str(tile.element_type))
    head = b.block([b.i32, *(value.type for value in accumulators)], label="dot_loop")
    after = b.block([value.type for value in accumulators], label="dot_done")
    b.branch(head, b.compute("mov.b32 $0, 0;", b.i32), *accumulators)
    lowering.at(head)
    k, *carried = head.arguments
    packed = _is_packed(lhs, rhs, op)
    left = _elements(lowering, op.lhs, lhs, row_parts, rows, k, 1, packed, op.lhs_unsigned)
    right = _elements(lowering, op.rhs, rhs, column_parts, columns, k, 0, packed, op.rhs_unsigned)
    instruction = _packed_multiply_add(op) if packed else _MULTIPLY_ADD[str(carried[0].type)]
    summed = _products(lowering, layout, instruction, carried, left, right)
    following = b.compute(f"add.s32 $0, $1, {_PACKED_BYTES if packed else 1};", b.i32, k)
    again = b.compute(f"setp.lt.s32 $0, $1, {lhs.shape[1]};", b.i1, following)
    b.cond_branch(again, head, [following, *summed], after, summed)
    lowering.at(after)
    lowering.set(operation.results[0], _narrowed(lowering, list(after.arguments), str(tile.element_type)))


def _is_packed(lhs: SharedLayout, rhs: SharedLayout, op: DotOp) -> bool:
    """Whether groups of bytes along K are contiguous in both operands."""
    is_contiguous = lhs.contiguous == 1 and rhs.contiguous == 0
    return str(op.lhs.type.element) == "i8" and is_contiguous and lhs.shape[1] % _PACKED_BYTES == 0


def _packed_multiply_add(op: DotOp) -> str:
    lhs, rhs = ("u32" if is_unsigned else "s32" for is_unsigned in (op.lhs_unsigned, op.rhs_unsigned))
    return f"dp4a.{lhs}.{rhs}"


def _axis(layout: LinearLayout, dimension: int) -> list[int]:
    """The distinct coordinates along a dimension in the registers of thread 0."""
    found = {layout.apply(register, 0, 0)[dimension] for register in range(layout.register_count)}
    return sorted(found)


def _offset(shared: SharedLayout, dimension: int, coordinate: int) -> int:
    position = [0, 0]
    position[dimension] = coordinate
    return shared.offset(*position)


def _xor_of_bits(lowering: Lowering, value: ir.Value, steps: list[int]) -> ir.Value:
    """The XOR of steps[i] over the set bits i of a value."""
    b = lowering.b
    total = b.compute("mov.b32 $0, 0;", b.i32)
    for bit, step in enumerate(steps):
        if not step:
            continue
        field = b.compute(f"bfe.s32 $0, $1, {bit}, 1;", b.i32, value)
        part = b.compute(f"and.b32 $0, $1, {step};", b.i32, field)
        total = b.compute("xor.b32 $0, $1, $2;", b.i32, total, part)
    return total


def _thread_parts(
    lowering: Lowering, buffer: ir.Value, layout: LinearLayout, shared: SharedLayout, dimension: int
) -> ir.Value:
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
    element = ELEMENTS[str(buffer.type.element)]
    found = {}
    for coordinate in own:
        offset = _offset(shared, 1 - depth, coordinate)
        moved = b.compute(f"xor.b32 $0, $1, {offset};", b.i32, common) if offset else common
        address = b.compute("add.s32 $0, $1, $2;", b.i32, base, moved)
        if packed:
            found[coordinate] = b.execute("ld.shared.b32 $0, [$1];", b.i32, address)
            continue
        loaded = b.execute(f"ld.shared.b{element.bits} $0, [$1];", lowering.type(element.register), address)
        found[coordinate] = _wide(lowering, element, is_unsigned, loaded)
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


def _products(
    lowering: Lowering,
    layout: LinearLayout,
    instruction: str,
    carried: list[ir.Value],
    left: dict[int, ir.Value],
    right: dict[int, ir.Value],
) -> list[ir.Value]:
    summed = []
    for register, accumulator in enumerate(carried):
        row, column = layout.apply(register, 0, 0)
        summed.append(
            lowering.b.compute(
                f"{instruction} $0, $1, $2, $3;", accumulator.type, left[row], right[column], accumulator
            )
        )
    return summed


def _widened(lowering: Lowering, registers: list[ir.Value], element: str) -> list[ir.Value]:
    if element != "f16":
        return registers
    return [lowering.b.compute("cvt.f32.f16 $0, $1;", lowering.b.f32, register) for register in registers]


def _narrowed(lowering: Lowering, registers: list[ir.Value], element: str) -> list[ir.Value]:
    if element != "f16":
        return registers
    return [lowering.b.compute("cvt.rn.f16.f32 $0, $1;", lowering.b.i16, register) for register in registers]
