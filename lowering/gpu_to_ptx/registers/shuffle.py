"""Elements from other lanes: shfl moves 32 bits, so narrower elements move in pairs and wider ones in halves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.packed_registers import halves_of, joined

_ALL_LANES = "0xffffffff"
Move = Callable[[ir.Value], ir.Value]


def from_lane_xor(lowering: Lowering, element: PtxElement, registers: Sequence[ir.Value], mask: int) -> list[ir.Value]:
    """The same registers of lane ^ mask."""
    text = f"shfl.sync.bfly.b32 $0, $1, {mask}, 31, {_ALL_LANES};"
    return _moved(lowering, element, registers, lambda bits: lowering.b.execute(text, bits.type, bits))


def from_lane(lowering: Lowering, element: PtxElement, registers: Sequence[ir.Value], lane: ir.Value) -> list[ir.Value]:
    """The same registers of the lane whose number this lane holds in `lane`."""
    text = f"shfl.sync.idx.b32 $0, $1, $2, 31, {_ALL_LANES};"
    return _moved(lowering, element, registers, lambda bits: lowering.b.execute(text, bits.type, bits, lane))


def _moved(lowering: Lowering, element: PtxElement, registers: Sequence[ir.Value], move: Move) -> list[ir.Value]:
    distinct = list(dict.fromkeys(registers))
    if element.register == "i16":
        # An odd last register is paired with itself.
        pairs = zip(distinct[0::2], distinct[1::2] + distinct[-1:], strict=False)
        moved = [half for low, high in pairs for half in halves_of(lowering, move(joined(lowering, low, high)))]
    else:
        moved = [_moved_alone(lowering, register, move) for register in distinct]
    found = dict(zip(distinct, moved, strict=False))
    return [found[register] for register in registers]


def _moved_alone(lowering: Lowering, register: ir.Value, move: Move) -> ir.Value:
    b, type = lowering.b, register.type
    if type == b.i1:
        bits = move(lowering.compute("selp.b32 $0, 1, 0, $1;", "i32", register))
        return lowering.compute("setp.ne.s32 $0, $1, 0;", "i1", bits)
    if type in (b.i32, b.f32):
        return move(register)
    halves = b.compute("mov.b64 {$0, $1}, $2;", [b.i32, b.i32], register)
    return b.compute("mov.b64 $0, {$1, $2};", type, *map(move, halves))
