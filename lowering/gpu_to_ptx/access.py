"""One load or store of a vector of elements, in either memory, with or without a guard."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.elements import PtxElement
from tilec.lowering.gpu_to_ptx.lowering import Lowering
from tilec.lowering.gpu_to_ptx.packed_registers import pack, packed_type, unpack


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
    """`count` successive elements from address + offset bytes; `otherwise` where the guard fails.

    `space` is the head of the instruction up to the type, as in `global` or `shared`.
    """
    register, per_word = packed_type(element, count)
    words = count // per_word
    results = [lowering.type(register)] * words
    text = f"ld.{space}{_vector(words)}.{_width(element, register, per_word)} {_braced(0, words)}, "
    if guard is None:
        loaded = lowering.b.execute(f"{text}[${words}{_signed(offset)}];", results, address)
        return unpack(lowering, element, list(loaded), count)
    before = pack(lowering, element, list(otherwise or ()))
    text = f"@${words + 1} {text}[${words}{_signed(offset)}];"
    tied = range(2, 2 + words)
    loaded = lowering.b.execute(text, results, address, guard, *before, tied=tied)
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
    """Successive elements to address + offset bytes, where the guard holds."""
    register, per_word = packed_type(element, len(values))
    words = pack(lowering, element, list(values))
    head = f"st.{space}{_vector(len(words))}.{_width(element, register, per_word)}"
    text = f"{head} [$0{_signed(offset)}], {_braced(1, len(words))};"
    if guard is None:
        lowering.b.execute(text, (), address, *words)
    else:
        lowering.b.execute(f"@${1 + len(words)} {text}", (), address, *words, guard)


def widest(element: PtxElement) -> int:
    """Elements in an access of 16 bytes, the widest of both targets."""
    return 16 // element.bytes


def _vector(words: int) -> str:
    return f".v{words}" if words > 1 else ""


def _width(element: PtxElement, register: str, per_word: int) -> str:
    """The type suffix: f32 and f64 as they are, all else as bits of its size in memory."""
    if register in ("f32", "f64"):
        return register
    return f"b{max(8, 8 * element.bytes * per_word)}"


def _braced(first: int, count: int) -> str:
    listed = ", ".join(f"${index}" for index in range(first, first + count))
    return f"{{{listed}}}" if count > 1 else listed


def _signed(offset: int) -> str:
    return f"{offset:+d}" if offset else ""
