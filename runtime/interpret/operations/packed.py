"""Rows of packed elements of 2, 4 or 6 bits as tiles of i8: element e of a row is its bits e * bits and after."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.memory import access
from tilec.runtime.interpret.numbers.integer import scalar
from tilec.runtime.interpret.operations.view import TensorView, check_number, extent_results
from tilec.runtime.interpret.registry import interprets
from tilec.runtime.interpret.step import PackedViewType, Step, TileType

Tile = np.ndarray


@dataclass(frozen=True)
class PackedView:
    """A tensor of bytes, whose rows hold packed elements."""

    tensor: TensorView
    type: PackedViewType

    def shape(self) -> list[int]:
        """The extents in elements; bits at the end of a row that are fewer than an element are none."""
        return [*self.tensor.shape[:-1], self.tensor.shape[-1] * 8 // self.type.bits]

    def index_space(self) -> list[int]:
        """The number of tiles along each dimension."""
        return [-(-extent // step) for extent, step in zip(self.shape(), self.type.tile.shape, strict=True)]


@interprets("tilex.make_packed_view")
def _make_packed_view(op: Step, _machine: Machine, tensor: TensorView) -> PackedView:
    return PackedView(tensor, op.result_types[0])


@interprets("tilex.get_packed_index_space_shape")
def _get_index_space_shape(op: Step, machine: Machine, src: PackedView) -> tuple[Tile, ...]:
    return extent_results(op, machine, src.index_space())


def _numbers(machine: Machine, view: PackedView, index: tuple[Tile, ...], kind: TileType) -> list[int]:
    """The index as integers; faults for one outside of the index space."""
    for axis, (count, number) in enumerate(zip(view.index_space(), index, strict=True)):
        if machine.check:
            check_number(machine, f"index {axis}", number, kind.element, count)
    return [scalar(number, kind.element, "unsigned") for number in index]


def _inside(extents: list[int], starts: list[int], shape: tuple[int, ...]) -> Tile:
    """Which elements of a box of a shape are inside of extents."""
    inside = np.ones(shape, np.bool_)
    for axis, (extent, start) in enumerate(zip(extents, starts, strict=True)):
        along = [1] * len(shape)
        along[axis] = shape[axis]
        inside &= (np.arange(shape[axis]) < extent - start).reshape(along)
    return inside


def _bytes(view: PackedView, numbers: list[int]) -> tuple[Tile, Tile]:
    """The address of each byte of a tile, and a mask of those inside the tensor."""
    tensor, shape = view.tensor, view.type.tile.shape
    box = (*shape[:-1], shape[-1] * view.type.bits // 8)
    starts = [number * step for number, step in zip(numbers, box, strict=True)]
    inside = _inside(list(tensor.shape), starts, box)
    offsets = np.zeros(box, np.int64)
    for axis, (start, stride) in enumerate(zip(starts, tensor.strides, strict=True)):
        along = [1] * len(box)
        along[axis] = box[axis]
        if inside.any():
            offsets = offsets + ((start + np.arange(box[axis], dtype=np.int64)) * stride).reshape(along)
    return np.where(inside, offsets, 0).astype(np.uint64) + np.uint64(tensor.base), inside


def _elements_inside(view: PackedView, numbers: list[int]) -> Tile:
    """Which elements of a tile are inside of the tensor with all of their bits."""
    shape = view.type.tile.shape
    return _inside(view.shape(), [number * step for number, step in zip(numbers, shape, strict=True)], shape)


def pack_bits(codes: np.ndarray, bits: int) -> np.ndarray:
    """The bytes of rows of codes, of which the low `bits` bits follow those of the code before, lowest bit first."""
    each = codes.astype(np.uint8, copy=False)[..., None] >> np.arange(bits, dtype=np.uint8) & 1
    return np.packbits(each.reshape(*codes.shape[:-1], codes.shape[-1] * bits), axis=-1, bitorder="little")


def unpack_bits(packed: np.ndarray, bits: int) -> np.ndarray:
    """The codes (uint8) of rows of bytes (uint8), the inverse of `pack_bits`; bits that fill no code are ignored."""
    count = packed.shape[-1] * 8 // bits
    each = np.unpackbits(packed, axis=-1, count=count * bits, bitorder="little")
    return each.reshape(*packed.shape[:-1], count, bits) @ (1 << np.arange(bits, dtype=np.uint8))


@interprets("tilex.load_packed_tko")
def _load(op: Step, machine: Machine, view: PackedView, index: tuple[Tile, ...], _token: None) -> tuple[Tile, None]:
    numbers = _numbers(machine, view, index, op.types[1][0])
    found = access.load(machine.memory, *_bytes(view, numbers), op.element, np.zeros((), np.int8))
    values = unpack_bits(found.view(np.uint8), view.type.bits)
    return np.where(_elements_inside(view, numbers), values, 0).astype(np.int8), None


@interprets("tilex.store_packed_tko")
def _store(
    op: Step, machine: Machine, tile: Tile, view: PackedView, index: tuple[Tile, ...], _token: None
) -> tuple[None]:
    numbers = _numbers(machine, view, index, op.types[2][0])
    values = np.where(_elements_inside(view, numbers), tile, 0)
    addresses, inside = _bytes(view, numbers)
    packed = pack_bits(values, view.type.bits)
    access.store(machine.memory, addresses, inside, view.tensor.element, packed.view(np.int8))
    return (None,)
