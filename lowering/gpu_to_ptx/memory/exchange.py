"""Exchange of tiles through the role's scratch memory: written in one layout, read in another."""

from __future__ import annotations

import math
from collections.abc import Container

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.memory.shared_access import SharedAccess
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.guards import first_holder
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.shared_address import SharedAddress
from tilec.lowering.layout.bit_matrix import BitMatrix
from tilec.lowering.layout.linear_layout import LinearLayout, flatten, unflatten


def write(
    lowering: Lowering,
    kind: PtxElement,
    base: SharedAddress,
    layout: LinearLayout,
    registers: list[ir.Value],
    offsets: BitMatrix,
    wanted: Container[int] | None = None,
    space: str = "shared",
) -> None:
    """Stores element i (row-major) at byte offsets(i) from `base`, by the first thread that holds it.

    `wanted` restricts the registers of each thread that are stored; `base` is an address in the state space `space`.
    """
    access = _access(lowering, kind, base, layout, offsets, space)
    distinct = [r for r in range(len(registers)) if not r & layout.free_register_mask]
    holder = first_holder(lowering, layout.free_thread_mask)
    access.store(registers, distinct if wanted is None else wanted, holder)


def read(
    lowering: Lowering,
    kind: PtxElement,
    base: SharedAddress,
    layout: LinearLayout,
    offsets: BitMatrix,
) -> list[ir.Value]:
    """Loads the registers of a tile whose element i is at byte offsets(i) from `base`."""
    count = layout.register_count
    found = _access(lowering, kind, base, layout, offsets).load(count, range(count))
    return [found[register] for register in range(count)]


def read_some(
    lowering: Lowering,
    kind: PtxElement,
    base: SharedAddress,
    layout: LinearLayout,
    offsets: BitMatrix,
    wanted: Container[int],
) -> dict[int, ir.Value]:
    """Loads only the wanted registers; otherwise as read()."""
    access = _access(lowering, kind, base, layout, offsets)
    return access.load(layout.register_count, wanted)


def row_major(elements: int, kind: PtxElement) -> BitMatrix:
    """The offsets of a row-major tile."""
    bits = elements.bit_length() - 1
    shift = kind.bytes.bit_length() - 1
    return BitMatrix(tuple(1 << bit + shift for bit in range(bits)), bits + shift)


def embedded(part: tuple[int, ...], whole: tuple[int, ...]) -> BitMatrix:
    """Row-major index in the part -> row-major index in the whole."""
    bits = math.prod(part).bit_length() - 1
    columns = tuple(flatten(unflatten(1 << bit, part), whole) for bit in range(bits))
    return BitMatrix(columns, math.prod(whole).bit_length() - 1)


def _access(
    lowering: Lowering,
    kind: PtxElement,
    base: SharedAddress,
    layout: LinearLayout,
    offsets: BitMatrix,
    space: str = "shared",
) -> SharedAccess:
    registers, threads = offsets @ layout.register_matrix, offsets @ layout.thread_matrix
    return SharedAccess(lowering, kind, base, registers, threads, space)
