"""Kernels that copy between a packed tensor and one element per byte, tile by tile, and packing by explicit bits."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import numpy as np


def unpacked(row: bytes, bits: int) -> list[int]:
    """The elements of a row of bytes, bit by bit."""
    stream = [byte >> k & 1 for byte in row for k in range(8)]
    return [sum(stream[e * bits + k] << k for k in range(bits)) for e in range(len(stream) // bits)]


def packed(elements: list[int], bits: int, size: int) -> bytes:
    """A row of `size` bytes with these elements, bit by bit; the other bits are zero."""
    row = [0] * size
    for e, element in enumerate(elements):
        for k in range(bits):
            bit = e * bits + k
            row[bit // 8] |= (element >> k & 1) << bit % 8
    return bytes(row)


@dataclass(frozen=True)
class Case:
    """A packed view: dimension k of the tensor has `extents[k]` bytes, `strides[k]` bytes apart."""

    bits: int
    tile: tuple[int, ...]
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    # Which extents and outer strides are parameters of the kernel, and the types of the parameters and of the indices.
    dynamic_extents: tuple[bool, ...]
    dynamic_strides: tuple[bool, ...]
    extent_type: str = "i32"
    index_type: str = "i32"

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents in elements."""
        return *self.extents[:-1], self.extents[-1] * 8 // self.bits

    @property
    def counts(self) -> tuple[int, ...]:
        """The tiles along each dimension."""
        return tuple(-(-extent // step) for extent, step in zip(self.shape, self.tile, strict=True))

    @property
    def allocated(self) -> int:
        """The bytes from the first to the last one of the tensor."""
        return 1 + sum((extent - 1) * stride for extent, stride in zip(self.extents, self.strides, strict=True))

    @property
    def parameters(self) -> list[int]:
        """The dynamic extents and strides."""
        values, flags = (*self.extents, *self.strides), (*self.dynamic_extents, *self.dynamic_strides)
        return [value for value, dynamic in zip(values, flags, strict=True) if dynamic]

    @property
    def view(self) -> str:
        return f"tilex.packed_view<tile=({times(self.tile)}), bits={self.bits}, {self._tensor}>"

    @property
    def _tensor(self) -> str:
        extents, strides = (
            ["?" if dynamic else str(value) for value, dynamic in zip(values, flags, strict=True)]
            for values, flags in ((self.extents, self.dynamic_extents), (self.strides, self.dynamic_strides))
        )
        return f"tensor_view<{'x'.join(extents)}xi8, strides=[{','.join(strides)}]>"

    @property
    def grid(self) -> tuple[int, int, int]:
        return math.prod(self.counts), 1, 1

    @property
    def padded(self) -> tuple[int, ...]:
        """The extents of all tiles together."""
        return tuple(count * step for count, step in zip(self.counts, self.tile, strict=True))

    def bytes_of(self, memory: np.ndarray) -> np.ndarray:
        """The tensor of bytes in its memory."""
        return np.lib.stride_tricks.as_strided(memory, self.extents, self.strides)

    def elements(self, memory: np.ndarray) -> np.ndarray:
        """The elements in all tiles, zero outside of the tensor, from a walk over the bits."""
        found, rows = np.zeros(self.padded, np.uint8), self.bytes_of(memory)
        for outer in np.ndindex(*self.extents[:-1]):
            found[outer][: self.shape[-1]] = unpacked(rows[outer].tobytes(), self.bits)
        return found

    def stored(self, memory: np.ndarray, elements: np.ndarray) -> np.ndarray:
        """The memory after a store of all tiles."""
        made = memory.copy()
        for outer in np.ndindex(*self.extents[:-1]):
            row = packed(list(map(int, elements[outer][: self.shape[-1]])), self.bits, self.extents[-1])
            self.bytes_of(made)[outer] = np.frombuffer(row, np.uint8)
        return made

    def loads(self) -> str:
        """Each block loads the tile with its number through the view and stores it in a tensor of one per byte."""
        return self._kernel(
            f"%f, %ft = tilex.load_packed_tko weak %v[{self._indices}] : {self.view}, tile<{self.index_type}>"
            f" -> tile<{times(self.tile)}xi8>, token",
            f"%k = store_view_tko weak %f, %w[{self._indices}]"
            f" : tile<{times(self.tile)}xi8>, {self._matrix[1]}, tile<{self.index_type}> -> token",
        )

    def stores(self) -> str:
        """Each block stores the tile with its number through the view."""
        return self._kernel(
            f"%f, %ft = load_view_tko weak %w[{self._indices}] : {self._matrix[1]}, tile<{self.index_type}>"
            f" -> tile<{times(self.tile)}xi8>, token",
            f"%k = tilex.store_packed_tko weak %f, %v[{self._indices}]"
            f" : tile<{times(self.tile)}xi8>, {self.view}, tile<{self.index_type}> -> token",
        )

    def shapes(self) -> str:
        """Writes the numbers of tiles along the dimensions."""
        rank = len(self.tile)
        names = [f"%n{k}" for k in range(rank)]
        stores = "\n".join(
            f"%o{k} = constant <i32: {k}> : tile<i32> %a{k}p = offset %q, %o{k} : tile<ptr<i64>>, tile<i32>"
            f" -> tile<ptr<i64>> %s{k} = store_ptr_tko weak %a{k}p, {name} : tile<ptr<i64>>, tile<i64> -> token"
            for k, name in enumerate(names)
        )
        return f"""{self._head("i64")} {self._made_view()}
          {", ".join(names)} = tilex.get_packed_index_space_shape %v : {self.view} -> tile<i64>
          {stores} return }} }}"""

    @property
    def _indices(self) -> str:
        return ", ".join(f"%i{k}" for k in range(len(self.tile)))

    @property
    def _matrix(self) -> tuple[str, str]:
        strides = [math.prod(self.padded[k + 1 :]) for k in range(len(self.tile))]
        tensor = f"tensor_view<{times(self.padded)}xi8, strides=[{','.join(map(str, strides))}]>"
        return tensor, f"partition_view<tile=({times(self.tile)}), {tensor}>"

    def _head(self, element: str) -> str:
        scalars = "".join(f", %a{k}: tile<{self.extent_type}>" for k in range(len(self.parameters)))
        return f"cuda_tile.module @m {{ entry @k(%p: tile<ptr<i8>>{scalars}, %q: tile<ptr<{element}>>) {{"

    def _made_view(self) -> str:
        names = iter(f"%a{k}" for k in range(len(self.parameters)))
        shape, strides = (
            ", ".join(next(names) if dynamic else str(value) for value, dynamic in zip(values, flags, strict=True))
            for values, flags in ((self.extents, self.dynamic_extents), (self.strides, self.dynamic_strides))
        )
        types = f"tile<{self.extent_type}> -> " if self.parameters else ""
        return f"""%t = make_tensor_view %p, shape = [{shape}], strides = [{strides}] : {types}{self._tensor}
          %v = tilex.make_packed_view %t : {self.view}"""

    def _kernel(self, first: str, second: str) -> str:
        tensor, view = self._matrix
        strides = [math.prod(self.padded[k + 1 :]) for k in range(len(self.tile))]
        lines, rest = [], "%x"
        for k, count in reversed(list(enumerate(self.counts))):
            lines.append(f"%c{k} = constant <i32: {count}> : tile<i32>")
            lines.append(f"%r{k} = remi {rest}, %c{k} unsigned : tile<i32>")
            lines.append(f"%d{k} = divi {rest}, %c{k} unsigned : tile<i32>")
            lines.append(self._index(k))
            rest = f"%d{k}"
        return f"""{self._head("i8")} {self._made_view()}
          %o = make_tensor_view %q, shape = [{", ".join(map(str, self.padded))}],
            strides = [{", ".join(map(str, strides))}] : {tensor}
          %w = make_partition_view %o : {view}
          %x, %y, %z = get_tile_block_id : tile<i32>
          {" ".join(lines)}
          {first}
          {second} return }} }}"""

    def _index(self, k: int) -> str:
        if self.index_type == "i32":
            return f"%z{k} = constant <i32: 0> : tile<i32> %i{k} = addi %r{k}, %z{k} : tile<i32>"
        return f"%i{k} = exti %r{k} unsigned : tile<i32> -> tile<{self.index_type}>"


def times(extents: tuple[int, ...]) -> str:
    return "x".join(map(str, extents))


def random_case(seed: int) -> Case:
    """A view of rank 1 to 3 of at most 32 elements along a dimension of a tile."""
    chosen = random.Random(seed)
    bits, rank = chosen.choice((2, 4, 6)), chosen.randint(1, 3)
    tile = [1 << chosen.randint(0, 3) for _ in range(rank - 1)] + [1 << chosen.randint(2, 5)]
    extents = [chosen.randint(1, 11) for _ in range(rank - 1)] + [chosen.randint(1, 30)]
    strides = [1]
    for extent in reversed(extents[1:]):
        strides.insert(0, strides[0] * extent + chosen.randint(0, 3))
    return Case(
        bits,
        tuple(tile),
        tuple(extents),
        tuple(strides),
        tuple(chosen.random() < 0.5 for _ in extents),
        (*(chosen.random() < 0.5 for _ in extents[1:]), False),
        chosen.choice(("i32", "i64")),
        chosen.choice(("i32", "i64")),
    )
