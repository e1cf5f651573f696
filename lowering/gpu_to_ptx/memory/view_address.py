"""Addresses and bounds predicates of the elements of a tile in a strided view of global memory."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement, layout_of
from tilec.lowering.gpu_to_ptx.registers.guards import conjunction
from tilec.lowering.gpu_to_ptx.registers.linear_index import image_bits, linear_index, split_constant
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.layout.bit_matrix import BitMatrix
from tilec.lowering.layout.linear_layout import LinearLayout

# The largest offset in an address (PTX ISA 6.4.1: 32 bits, signed).
MAXIMUM_IMMEDIATE = 2**31 - 1


class ViewAddress:
    """Element (c0, ..) of a view is at base + sum((offset_d + c_d) * stride_d) elements; indices are i32 or i64.

    Along the sparse dimension of an operation with indices, the element of register r is at offset + indices[r]. Starts
    along each dimension are computed once per thread, registers add a row offset or an immediate. Raises ValueError for
    indices in another layout.
    """

    def __init__(self, lowering: Lowering, element: PtxElement, layout: LinearLayout, op: ir.OpView) -> None:
        self.lowering = lowering
        self.element = element
        self.layout = layout
        self.base = lowering.scalar(op.base)
        self.offsets, self.extents, self.strides = (
            [lowering.scalar(value) for value in group] for group in (op.offsets, op.extents, op.strides)
        )
        self.inbounds = op.inbounds or [False] * len(self.offsets)
        self._indices: ir.Value | None = getattr(op, "indices", None)
        self._sparse: int | None = None
        if self._indices is not None:
            self._sparse = op.sparse_dimension
            # Each thread holds the indices of its elements.
            expected, found = layout.keep(op.sparse_dimension), layout_of(self._indices.type)
            if found != expected:
                raise ValueError(f"expected indices in layout '{expected}', but got '{found}'")
        self._threads = [_dimension(layout, layout.lane + layout.warp, d) for d in range(len(layout.shape))]
        self._parts = [linear_index(lowering, matrix, lowering.thread) for matrix in self._threads]
        # Dimensions whose coordinates need 64 bits.
        self._wide = [_is_wide(o) or _is_wide(e) for o, e in zip(self.offsets, self.extents, strict=True)]
        self._starts: dict[tuple[int, int], ir.Value] = {}
        self._rows: dict[tuple[tuple[int, int], ...], ir.Value] = {}
        self._guards: dict[tuple[int, int, int], ir.Value] = {}

    def address(self, register: int) -> tuple[ir.Value, int]:
        """The 64-bit address and the immediate byte offset of a register's element."""
        immediate, key = 0, []
        for dimension, (swizzled, added) in enumerate(self._split(register)):
            if self._is_immediate(dimension):
                immediate += added * self._stride_bytes(dimension)
                added = 0
            key.append((swizzled, added))
        return self._row(tuple(key)), immediate

    def _stride_bytes(self, dimension: int) -> int:
        """The bytes between elements along a dimension of constant stride."""
        return (self.lowering.number(self.strides[dimension]) or 0) * self.element.bytes

    def _is_immediate(self, dimension: int) -> bool:
        """Whether the offsets of all registers along a dimension fit an immediate that all dimensions share."""
        if self.lowering.number(self.strides[dimension]) is None:
            return False
        reach = self.layout.shape[dimension] * abs(self._stride_bytes(dimension))
        return reach <= MAXIMUM_IMMEDIATE // len(self.layout.shape)

    def guard(self, register: int) -> ir.Value | None:
        """Whether the register's element is inside the view; None if it always is."""
        guard = None
        for dimension, (swizzled, added) in enumerate(self._split(register)):
            if not self.inbounds[dimension]:
                guard = conjunction(self.lowering, guard, self._inside(dimension, swizzled, added))
        return guard

    def _split(self, register: int) -> list[tuple[int, int]]:
        """For each dimension a part to XOR with the thread's and one to add; a sparse one has a register instead."""
        coordinates = self.layout.apply(register, 0, 0)
        split = [split_constant(c, image_bits(m)) for c, m in zip(coordinates, self._threads, strict=True)]
        if self._indices is not None and self._sparse is not None:
            split[self._sparse] = (layout_of(self._indices.type).representatives[register], 0)
        return split

    def _inside(self, dimension: int, swizzled: int, added: int) -> ir.Value:
        """0 <= index < extent in one unsigned comparison: a negative index is a large one."""
        key = (dimension, swizzled, added)
        if key not in self._guards:
            index, extent = self._start(dimension, swizzled), self.extents[dimension]
            bits = 64 if self._wide[dimension] else 32
            if added:
                index = self.lowering.compute(f"add.s{bits} $0, $1, {added};", f"i{bits}", index)
            if self._wide[dimension]:
                extent = widened_index(self.lowering, extent)
            self._guards[key] = self.lowering.compute(f"setp.lt.u{bits} $0, $1, $2;", "i1", index, extent)
        return self._guards[key]

    def _start(self, dimension: int, swizzled: int) -> ir.Value:
        """offset + (thread's part ^ swizzled); along a sparse dimension offset + the index in register `swizzled`."""
        key = (dimension, swizzled)
        if key not in self._starts:
            offset, part = self.offsets[dimension], self._part(dimension, swizzled)
            if self._wide[dimension]:
                offset = widened_index(self.lowering, offset)
                part = None if part is None else widened_index(self.lowering, part)
            self._starts[key] = offset if part is None else _sum(self.lowering, offset, part)
        return self._starts[key]

    def _part(self, dimension: int, swizzled: int) -> ir.Value | None:
        part = self._parts[dimension]
        if self._indices is not None and dimension == self._sparse:
            return self.lowering.get(self._indices)[swizzled]
        if part is not None and swizzled:
            return self.lowering.compute(f"xor.b32 $0, $1, {swizzled};", "i32", part)
        return part

    def _row(self, key: tuple[tuple[int, int], ...]) -> ir.Value:
        """The address of coordinates of the form (swizzled, added), with additions along dynamic strides only."""
        if key not in self._rows:
            last = next((d for d in reversed(range(len(key))) if key[d][1]), None)
            self._rows[key] = self._first_row(key) if last is None else self._next_row(key, last)
        return self._rows[key]

    def _next_row(self, key: tuple[tuple[int, int], ...], dimension: int) -> ir.Value:
        """One 64-bit addition to the row without the highest bit of its addition."""
        swizzled, added = key[dimension]
        top = added.bit_length() - 1
        before = self._row((*key[:dimension], (swizzled, added ^ 1 << top), *key[dimension + 1 :]))
        stride = self.strides[dimension]
        multiply = "mul.lo.s64" if _is_wide(stride) else "mul.wide.s32"
        step = self.lowering.compute(f"{multiply} $0, $1, {self.element.bytes << top};", "i64", stride)
        return self.lowering.compute("add.s64 $0, $1, $2;", "i64", before, step)

    def _first_row(self, key: tuple[tuple[int, int], ...]) -> ir.Value:
        """base + sum(start_d * stride_d) * size, products in 64 bits."""
        lowering, total = self.lowering, None
        for dimension, (swizzled, _) in enumerate(key):
            start, stride = self._start(dimension, swizzled), self.strides[dimension]
            if lowering.number(start) == 0:
                continue
            total = _plus_product(lowering, total, start, stride)
        if total is None:
            return self.base
        shift = self.element.bytes.bit_length() - 1
        if shift:
            total = lowering.compute(f"shl.b64 $0, $1, {shift};", "i64", total)
        return lowering.compute("add.s64 $0, $1, $2;", "i64", self.base, total)


def _dimension(layout: LinearLayout, bases: tuple[tuple[int, ...], ...], dimension: int) -> BitMatrix:
    """The map from bits to the coordinate along one dimension."""
    return BitMatrix(tuple(basis[dimension] for basis in bases), max(1, layout.shape[dimension].bit_length()))


def _sum(lowering: Lowering, offset: ir.Value, part: ir.Value) -> ir.Value:
    """The sum of two indices of equal width."""
    if lowering.number(offset) == 0:
        return part
    bits = 64 if _is_wide(offset) else 32
    return lowering.compute(f"add.s{bits} $0, $1, $2;", f"i{bits}", part, offset)


def _is_wide(register: ir.Value) -> bool:
    return str(register.type) == "i64"


def widened_index(lowering: Lowering, register: ir.Value) -> ir.Value:
    """Sign-extends a 32-bit offset, extent, stride or coordinate to 64 bits."""
    if _is_wide(register):
        return register
    return lowering.compute("cvt.s64.s32 $0, $1;", "i64", register)


def _plus_product(lowering: Lowering, total: ir.Value | None, start: ir.Value, stride: ir.Value) -> ir.Value:
    """total + start * stride in 64 bits."""
    if lowering.number(stride) == 1:
        start = widened_index(lowering, start)
        return start if total is None else lowering.compute("add.s64 $0, $1, $2;", "i64", total, start)
    form = "wide.s32"
    if _is_wide(start) or _is_wide(stride):
        form, start, stride = "lo.s64", widened_index(lowering, start), widened_index(lowering, stride)
    if total is None:
        return lowering.compute(f"mul.{form} $0, $1, $2;", "i64", start, stride)
    return lowering.compute(f"mad.{form} $0, $1, $2, $3;", "i64", start, stride, total)
