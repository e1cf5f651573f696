"""Arithmetic on pairs of f32 by one instruction (PTX ISA 9.7.3, .f32x2), with the results of two separate ones."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering

Pair = tuple[ir.Value, ir.Value]

# The functions that have a packed form.
PACKED = ("add", "sub", "mul", "fma")
_ROUNDINGS = ("rn", "rz", "rm", "rp")
# Instructions through which ptxas sees their operands, as through sums with zero.
_TRANSPARENT = ("mov.", "neg.", "selp.")
_ZEROS = ("0f00000000", "0f80000000")
_MINUS_ONE = "0xbf800000bf800000"


def packs(lowering: Lowering, kind: PtxElement, name: str, modifiers: list[str]) -> bool:
    """Whether the target computes this function of two elements at once: `name` with a rounding, or with .ftz too."""
    rounding, *rest = modifiers or [""]
    known = name in PACKED and rounding in _ROUNDINGS and rest in ([], ["ftz"])
    return known and kind.name == "f32" and lowering.target.packs_floats


def elementwise_pairs(lowering: Lowering, operation: ir.Operation, name: str, modifiers: list[str]) -> None:
    """result register i = name(operand registers i), for two distinct columns of registers at a time."""
    columns = list(zip(*(lowering.get(operand) for operand in operation.operands), strict=True))
    distinct = list(dict.fromkeys(columns))
    done: dict[tuple[ir.Value, ...], ir.Value] = {}
    for low, high in zip(distinct[0::2], distinct[1::2], strict=False):
        done[low], done[high] = pair_of(lowering, name, modifiers, *zip(low, high, strict=True))
    if len(distinct) % 2:
        done[distinct[-1]] = scalar_of(lowering, name, modifiers, distinct[-1])
    lowering.set(operation.results[0], [done[column] for column in columns])


def pair_of(lowering: Lowering, name: str, modifiers: list[str], *operands: Pair) -> Pair:
    """The function of two elements; each operand is the pair of its values for both.

    ptxas 13.0 contracts mul.f32x2 and a following add.f32x2 or sub.f32x2 to one fma, although both have a rounding.
    It keeps a - b if that is an fma of -1, and sums of scalars, so products are not added as pairs.
    """
    if name == "add" and any(_may_be_product(lowering, half) for pair in operands for half in pair):
        low, high = (scalar_of(lowering, name, modifiers, column) for column in zip(*operands, strict=True))
        return low, high
    packed = [_packed(lowering, pair) for pair in operands]
    form = name
    if name == "sub":
        form, packed = "fma", [packed[1], _minus_ones(lowering), packed[0]]
    listed = ", ".join(f"${number}" for number in range(len(packed) + 1))
    result = lowering.compute(f"{'.'.join((form, *modifiers))}.f32x2 {listed};", "i64", *packed)
    low, high = lowering.compute_all("mov.b64 {$0, $1}, $2;", ["f32", "f32"], result)
    lowering.packed[low, high] = result
    if name != "mul" and not any(_is_zero(lowering, half) for pair in operands for half in pair):
        lowering.sums.update((low, high))
    return low, high


def scalar_of(lowering: Lowering, name: str, modifiers: list[str], operands: tuple[ir.Value, ...]) -> ir.Value:
    """The function of one element, by an instruction of its own."""
    listed = ", ".join(f"${number}" for number in range(len(operands) + 1))
    return lowering.compute(f"{'.'.join((name, *modifiers))}.f32 {listed};", "f32", *operands)


def _packed(lowering: Lowering, pair: Pair) -> ir.Value:
    return lowering.packed.get(pair) or lowering.b.compute("mov.b64 $0, {$1, $2};", lowering.b.i64, *pair)


def _minus_ones(lowering: Lowering) -> ir.Value:
    made = lowering.once("minus ones", lambda: lowering.compute(f"mov.b64 $0, {_MINUS_ONE};", "i64"))
    assert made is not None
    return made


def _may_be_product(lowering: Lowering, register: ir.Value) -> bool:
    """Whether ptxas may find half of a packed product in a register: one that is carried, copied, negated or chosen."""
    if register in lowering.sums or register in lowering.literals:
        return False
    owner = register.owner
    if isinstance(owner, ir.Block):
        return True
    text = owner.attributes["text"].value
    return text.startswith(_TRANSPARENT) or any(zero in text for zero in _ZEROS)


def _is_zero(lowering: Lowering, register: ir.Value) -> bool:
    return lowering.literals.get(register) in _ZEROS
