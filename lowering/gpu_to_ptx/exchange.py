"""Tiles that meet in the role's shared scratch: written in some layouts, read back in another."""

from __future__ import annotations

from collections.abc import Container

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.elements import PtxElement
from tilec.lowering.gpu_to_ptx.guards import first_holder
from tilec.lowering.gpu_to_ptx.lowering import Lowering
from tilec.lowering.gpu_to_ptx.shared_access import SharedAccess
from tilec.lowering.gpu_to_ptx.shared_address import SharedAddress
from tilec.lowering.layout.bit_matrix import BitMatrix
from tilec.lowering.layout.linear_layout import LinearLayout


def write(
    lowering: Lowering,
    kind: PtxElement,
    base: SharedAddress,
    layout: LinearLayout,
    registers: list[ir.Value],
    places: BitMatrix,
    wanted: Container[int] | None = None,
) -> None:
    """Element i (row-major) to byte places(i) of the buffer at `base`, by one holder each.

    `wanted` limits it to some registers of each thread.
    """
    place = _place(lowering, kind, base, layout, places)
    distinct = [r for r in range(len(registers)) if not r & layout.free_register_mask]
    holder = first_holder(lowering, layout.free_thread_mask)
    place.store(registers, distinct if wanted is None else wanted, holder)


def read(
    lowering: Lowering,
    kind: PtxElement,
    base: SharedAddress,
    layout: LinearLayout,
    places: BitMatrix,
) -> list[ir.Value]:
    """The registers of a tile whose element i lies at byte places(i)."""
    count = layout.register_count
    found = _place(lowering, kind, base, layout, places).load(count, range(count))
    return [found[register] for register in range(count)]


def read_some(
    lowering: Lowering,
    kind: PtxElement,
    base: SharedAddress,
    layout: LinearLayout,
    places: BitMatrix,
    wanted: Container[int],
) -> dict[int, ir.Value]:
    """As read(), the wanted registers only."""
    place = _place(lowering, kind, base, layout, places)
    return place.load(layout.register_count, wanted)


def row_major(elements: int, kind: PtxElement) -> BitMatrix:
    """Element i at byte i * size."""
    bits = elements.bit_length() - 1
    shift = kind.bytes.bit_length() - 1
    return BitMatrix(tuple(1 << bit + shift for bit in range(bits)), bits + shift)


def _place(
    lowering: Lowering, kind: PtxElement, base: SharedAddress, layout: LinearLayout, places: BitMatrix
) -> SharedAccess:
    registers, threads = places @ layout.register_matrix, places @ layout.thread_matrix
    return SharedAccess(lowering, kind, base, registers, threads)
