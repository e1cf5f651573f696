"""Loads and stores of one vector of elements in global or shared memory, optionally guarded by a predicate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.literals import braced
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.packed_registers import pack, packed_type, unpack


@dataclass(frozen=True)
class Access:
    """One access to address + offset bytes, if the guard is true; None means always.

    `space` is the state space with its qualifiers: `global`, `shared`, `relaxed.gpu.global`.
    """

    space: str
    address: ir.Value
    offset: int = 0
    guard: ir.Value | None = None


def load(
    lowering: Lowering, one: Access, element: PtxElement, count: int, otherwise: Sequence[ir.Value] = ()
) -> list[ir.Value]:
    """Loads `count` successive elements, or returns `otherwise` if the guard is false."""
    return load_by(lowering, f"ld.{one.space}{_vector_and_width(element, count)}", one, element, count, otherwise)


def load_by(
    lowering: Lowering,
    head: str,
    one: Access,
    element: PtxElement,
    count: int,
    otherwise: Sequence[ir.Value] = (),
    values: Sequence[Sequence[ir.Value]] = (),
) -> list[ir.Value]:
    """As load(), by an instruction that is spelled `head` up to its operands; these end with vectors of `values`."""
    register, per_register = packed_type(element, count)
    packed_count = count // per_register
    results, given = [lowering.type(register)] * packed_count, [one.address]
    text = f"{head} {braced(0, packed_count)}, [${packed_count}{signed(one.offset)}]"
    for vector in values:
        text += f", {braced(packed_count + len(given), packed_count)}"
        given += pack(lowering, element, list(vector))
    if one.guard is None:
        loaded = lowering.b.execute(f"{text};", results, *given)
    else:
        before, tied = pack(lowering, element, list(otherwise)), range(1 + len(given), 1 + len(given) + packed_count)
        text = f"@${packed_count + len(given)} {text};"
        loaded = lowering.b.execute(text, results, *given, one.guard, *before, tied=tied)
    return unpack(lowering, element, list(loaded), count)


def store(lowering: Lowering, one: Access, element: PtxElement, values: Sequence[ir.Value]) -> None:
    """Stores successive elements if the guard is true."""
    store_by(lowering, f"st.{one.space}{_vector_and_width(element, len(values))}", one, element, values)


def store_by(lowering: Lowering, head: str, one: Access, element: PtxElement, values: Sequence[ir.Value]) -> None:
    """As store(), by an instruction that is spelled `head` up to its operands."""
    packed = pack(lowering, element, list(values))
    text = f"{head} [$0{signed(one.offset)}], {braced(1, len(packed))};"
    if one.guard is None:
        lowering.b.execute(text, (), one.address, *packed)
    else:
        lowering.b.execute(f"@${1 + len(packed)} {text}", (), one.address, *packed, one.guard)


def widest(element: PtxElement) -> int:
    """The number of elements in an access of 16 bytes, the widest of both targets."""
    return 16 // element.bytes


def vector_suffix(registers: int) -> str:
    """The suffix of an access, by its number of registers."""
    return f".v{registers}" if registers > 1 else ""


def _vector_and_width(element: PtxElement, count: int) -> str:
    """The suffixes of an access to `count` elements; the type is f32, f64, or untyped bits of the size in memory."""
    register, per_register = packed_type(element, count)
    width = register if register in ("f32", "f64") else f"b{max(8, 8 * element.bytes * per_register)}"
    return f"{vector_suffix(count // per_register)}.{width}"


def signed(offset: int) -> str:
    """The text of an immediate offset after an address; empty for zero."""
    return f"{offset:+d}" if offset else ""
