"""One atom or red instruction (PTX ISA 9.7.13.6 and 9.7.13.7): its spelling, operands and guard."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.memory.access import braced, signed, store_by, vector_suffix
from tilec.lowering.gpu_to_ptx.memory.element_accesses import Access
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.packed_registers import pack, packed_type, unpack

# The operation and the kind of type of each mode; sums of floats have the type of their elements.
OPERATIONS = {
    "and": ("and", "b"),
    "or": ("or", "b"),
    "xor": ("xor", "b"),
    "add": ("add", "u"),
    "addf": ("add", "f"),
    "max": ("max", "s"),
    "min": ("min", "s"),
    "umax": ("max", "u"),
    "umin": ("min", "u"),
    "xchg": ("exch", "b"),
    "compare_and_swap": ("cas", "b"),
}


def spelled(mode: str, element: PtxElement, count: int) -> str:
    """The operation, vector and type of an instruction on `count` elements: `add.noftz.v2.f16x2`, `max.s32`."""
    name, kind = OPERATIONS[mode]
    # Only sums of 16-bit floats have the qualifier, which they need: they keep subnormals.
    flush = ".noftz" if kind == "f" and element.bits == 16 else ""
    return f"{name}{flush}{vector_and_type(element, count, kind)}"


def vector_and_type(element: PtxElement, count: int, kind: str) -> str:
    """The vector and type of an instruction on `count` elements of a kind of type: `.v2.f16x2`, `.s32`."""
    _, per_register = packed_type(element, count)
    type = f"{kind}{element.bits}" if kind != "f" else f"{element.suffix}{'x2' if per_register == 2 else ''}"
    return f"{vector_suffix(count // per_register)}.{type}"


def update(
    lowering: Lowering, head: str, mode: str, element: PtxElement, values: Sequence[ir.Value], one: Access
) -> None:
    """Updates successive elements if the guard is true; `head` has the order, scope and state space."""
    instruction = f"red.{head}.{spelled(mode, element, len(values))}"
    store_by(lowering, instruction, element, values, one.address, one.offset, one.guard)


def fetch_and_update(
    lowering: Lowering,
    head: str,
    mode: str,
    element: PtxElement,
    operands: Sequence[Sequence[ir.Value]],
    one: Access,
    otherwise: Sequence[ir.Value],
) -> list[ir.Value]:
    """Updates successive elements and returns their old values, or `otherwise` if the guard is false.

    `operands` are the values, or for `compare_and_swap` the compared values and the new ones.
    """
    count = len(otherwise)
    register, _ = packed_type(element, count)
    packed = [pack(lowering, element, list(values)) for values in operands]
    registers = len(packed[0])
    types, values = [lowering.type(register)] * registers, [value for group in packed for value in group]
    listed = ", ".join(braced(registers + 1 + number * registers, registers) for number in range(len(packed)))
    spelling = f"atom.{head}.{spelled(mode, element, count)}"
    text = f"{spelling} {braced(0, registers)}, [${registers}{signed(one.offset)}], {listed};"
    if one.guard is None:
        return unpack(lowering, element, list(lowering.b.execute(text, types, one.address, *values)), count)
    before = pack(lowering, element, list(otherwise))
    first = 1 + len(values)
    text = f"@${registers + first} {text}"
    tied = range(first + 1, first + 1 + registers)
    fetched = lowering.b.execute(text, types, one.address, *values, one.guard, *before, tied=tied)
    return unpack(lowering, element, list(fetched), count)
