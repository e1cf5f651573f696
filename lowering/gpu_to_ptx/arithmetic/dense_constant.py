"""Constant tiles of different elements: immediates if all threads hold the same ones, else loads of an array."""

from __future__ import annotations

import numpy as np

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.memory.access import Access, load, widest
from tilec.lowering.gpu_to_ptx.memory.shared_access import row_major
from tilec.lowering.gpu_to_ptx.registers.declarations import constant_address
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.linear_index import image_bits, linear_index, split_constant
from tilec.lowering.gpu_to_ptx.registers.literals import element_codes
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.vectors import register_vector, vector_groups


def dense_constant(
    lowering: Lowering, elements: ir.DenseElementsAttr, kind: PtxElement, layout: LinearLayout
) -> list[ir.Value]:
    """The registers of a constant tile whose elements are not all equal."""
    codes = element_codes(elements, kind)
    held = _held_by_all(codes, layout)
    if held is not None:
        return [lowering.constant_of_bits(kind, code) for code in held]
    return _loaded(lowering, codes.tobytes(), kind, layout)


def _held_by_all(codes: np.ndarray, layout: LinearLayout) -> list[int] | None:
    """The bits in each register if they are the same in every thread, else None."""
    thread = layout.thread_matrix(np.arange(1 << len(layout.lane + layout.warp)))
    held = []
    for image in layout.register_images:
        found = codes[thread ^ image]
        if (found != found[0]).any():
            return None
        held.append(int(found[0]))
    return held


def _loaded(lowering: Lowering, content: bytes, kind: PtxElement, layout: LinearLayout) -> list[ir.Value]:
    """Loads successive elements together; registers that hold the same element share a load."""
    offsets = row_major(layout.size, kind)
    registers, threads = offsets @ layout.register_matrix, offsets @ layout.thread_matrix
    limit = widest(kind)
    bits = register_vector(registers.columns, threads.columns, kind.bytes, limit)
    base = constant_address(lowering, "constant", content, min(16, kind.bytes * limit))
    of_thread = linear_index(lowering, threads, lowering.thread)
    found: dict[int, ir.Value] = {}
    for group in vector_groups(layout.register_count, bits):
        if layout.representatives[group[0]] == group[0]:
            changed, added = split_constant(registers(group[0]), image_bits(threads))
            one = Access("global.nc", _address(lowering, base, of_thread, changed), added)
            loaded = load(lowering, one, kind, len(group))
            found.update(zip(group, loaded, strict=True))
    return [found[register] for register in layout.representatives]


def _address(lowering: Lowering, base: ir.Value, of_thread: ir.Value | None, changed: int) -> ir.Value:
    """base + (the thread's part ^ changed)."""
    if of_thread is None:
        return base
    offset = lowering.compute(f"xor.b32 $0, $1, {changed};", "i32", of_thread) if changed else of_thread
    offset = lowering.compute("cvt.u64.u32 $0, $1;", "i64", offset)
    return lowering.compute("add.s64 $0, $1, $2;", "i64", base, offset)
