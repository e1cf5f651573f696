"""Loads and stores of one vector of elements in global or shared memory, optionally guarded by a predicate."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.packed_registers import pack, packed_type, unpack


def load(
    lowering: Lowering,
    space: str,
    element: PtxElement,
    count: int,
    address: ir.Value,
    offset: int,
    guard: ir.Value | None = None,
    otherwise: Sequence[ir.Value] | None = None,
) -> list[ir.Value]:
    """Loads `count` successive elements from address + offset bytes, or returns `otherwise` if the guard is false.

    `space` is the state space with its qualifiers: `global`, `shared`, `relaxed.gpu.global`.
    """
    register, per_register = packed_type(element, count)
    head = f"ld.{space}{vector_suffix(count // per_register)}.{_width(element, register, per_register)}"
    return load_by(lowering, head, element, count, address, offset, guard, otherwise)


def load_by(
    lowering: Lowering,
    head: str,
    element: PtxElement,
    count: int,
    address: ir.Value,
    offset: int,
    guard: ir.Value | None = None,
    otherwise: Sequence[ir.Value] | None = None,
) -> list[ir.Value]:
    """As load(), by an instruction that is spelled `head` up to its operands."""
    register, per_register = packed_type(element, count)
    packed_count = count // per_register
    results = [lowering.type(register)] * packed_count
    text = f"{head} {braced(0, packed_count)}, [${packed_count}{signed(offset)}];"
    if guard is None:
        return unpack(lowering, element, list(lowering.b.execute(text, results, address)), count)
    before, tied = pack(lowering, element, list(otherwise or ())), range(2, 2 + packed_count)
    loaded = lowering.b.execute(f"@${packed_count + 1} {text}", results, address, guard, *before, tied=tied)
    return unpack(lowering, element, list(loaded), count)


def store(
    lowering: Lowering,
    space: str,
    element: PtxElement,
    values: Sequence[ir.Value],
    address: ir.Value,
    offset: int,
    guard: ir.Value | None = None,
) -> None:
    """Stores successive elements to address + offset bytes if the guard is true."""
    register, per_register = packed_type(element, len(values))
    head = f"st.{space}{vector_suffix(len(values) // per_register)}.{_width(element, register, per_register)}"
    store_by(lowering, head, element, values, address, offset, guard)


def store_by(
    lowering: Lowering,
    head: str,
    element: PtxElement,
    values: Sequence[ir.Value],
    address: ir.Value,
    offset: int,
    guard: ir.Value | None = None,
) -> None:
    """As store(), by an instruction that is spelled `head` up to its operands."""
    packed = pack(lowering, element, list(values))
    text = f"{head} [$0{signed(offset)}], {braced(1, len(packed))};"
    if guard is None:
        lowering.b.execute(text, (), address, *packed)
    else:
        lowering.b.execute(f"@${1 + len(packed)} {text}", (), address, *packed, guard)


def widest(element: PtxElement) -> int:
    """The number of elements in an access of 16 bytes, the widest of both targets."""
    return 16 // element.bytes


def vector_suffix(registers: int) -> str:
    """The suffix of an access, by its number of registers."""
    return f".v{registers}" if registers > 1 else ""


def _width(element: PtxElement, register: str, per_register: int) -> str:
    """The type suffix: f32, f64, or untyped bits of the size in memory."""
    if register in ("f32", "f64"):
        return register
    return f"b{max(8, 8 * element.bytes * per_register)}"


def braced(first: int, count: int) -> str:
    """The operands from number `first`: one alone, or several in braces."""
    listed = ", ".join(f"${index}" for index in range(first, first + count))
    return f"{{{listed}}}" if count > 1 else listed


def signed(offset: int) -> str:
    """The text of an immediate offset after an address; empty for zero."""
    return f"{offset:+d}" if offset else ""
