"""Elements from other lanes: shfl moves 32 bits, so narrower elements move in pairs and wider ones in halves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering

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
        moved = [half for pair in _pairs(distinct) for half in _moved_pair(lowering, pair, move)]
    else:
        move_one = _MOVES[element.register]
        moved = [move_one(lowering, register, move) for register in distinct]
    found = dict(zip(distinct, moved, strict=False))
    return [found[register] for register in registers]


def _pairs(registers: list[ir.Value]) -> list[tuple[ir.Value, ir.Value]]:
    """Pairs of registers; an odd last register is paired with itself."""
    return [(registers[i], registers[min(i + 1, len(registers) - 1)]) for i in range(0, len(registers), 2)]


def _moved_pair(lowering: Lowering, pair: tuple[ir.Value, ir.Value], move: Move) -> tuple[ir.Value, ...]:
    packed = lowering.packed.get(pair) or lowering.b.compute("mov.b32 $0, {$1, $2};", lowering.b.i32, *pair)
    moved = move(packed)
    halves = lowering.compute_all("mov.b32 {$0, $1}, $2;", ["i16", "i16"], moved)
    lowering.packed[halves] = moved
    return halves


def _moved_predicate(lowering: Lowering, register: ir.Value, move: Move) -> ir.Value:
    bits = move(lowering.compute("selp.b32 $0, 1, 0, $1;", "i32", register))
    return lowering.compute("setp.ne.s32 $0, $1, 0;", "i1", bits)


def _moved_single(lowering: Lowering, register: ir.Value, move: Move) -> ir.Value:
    return move(register)


def _moved_double(lowering: Lowering, register: ir.Value, move: Move) -> ir.Value:
    halves = lowering.b.compute("mov.b64 {$0, $1}, $2;", [lowering.b.i32] * 2, register)
    return lowering.b.compute("mov.b64 $0, {$1, $2};", register.type, *(move(half) for half in halves))


# By register type.
_MOVES: dict[str, Callable[[Lowering, ir.Value, Move], ir.Value]] = {
    "i1": _moved_predicate,
    "i32": _moved_single,
    "f32": _moved_single,
    "i64": _moved_double,
    "f64": _moved_double,
}
