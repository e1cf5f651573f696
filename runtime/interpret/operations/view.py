"""Tensors in global memory and their tiles: element i of tile dim k at index I is tensor element I * step[k] + i."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilec.dialect import undefined_behaviour
from tilec.runtime.interpret.fault import Fault
from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.memory import access
from tilec.runtime.interpret.memory.masked_pointers import POISON
from tilec.runtime.interpret.numbers.element import TileElement
from tilec.runtime.interpret.numbers.integer import limits, scalar, unsigned, wrap
from tilec.runtime.interpret.operations.assume import check_assumption
from tilec.runtime.interpret.operations.memory import unwritten
from tilec.runtime.interpret.registry import interprets
from tilec.runtime.interpret.step import Step, TileType, TileViewType

Tile = np.ndarray

# A position outside every tensor: extents count elements of at least 4 bits.
_OUTSIDE = 2**62
# The largest defined offset into a tensor, in elements (Tile IR 5.6.1).
_MAX_OFFSET = 2**63 - 1

_PADDING = {"neg_zero": -0.0, "nan": np.nan, "pos_inf": np.inf, "neg_inf": -np.inf}


@dataclass(frozen=True)
class TensorView:
    """A tensor at an address; strides count elements. Along dimension `packed`, if any, elements share bytes."""

    base: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element: TileElement
    packed: int | None


@dataclass(frozen=True)
class TileView:
    """A tensor partitioned into tiles."""

    tensor: TensorView
    type: TileViewType

    def index_space(self) -> list[int]:
        """The number of tiles along each tile dimension."""
        extents = [self.tensor.shape[dim] for dim in self.type.dim_map]
        return [-(-extent // step) for extent, step in zip(extents, self.type.steps, strict=True)]


@interprets("make_tensor_view")
def _make_tensor_view(
    op: Step, machine: Machine, base: Tile, shape: tuple[Tile, ...], strides: tuple[Tile, ...]
) -> TensorView:
    kind = op.result_types[0]
    extents = _filled(kind.shape, shape, op.types[1])
    dynamic = [extent for extent, stride in zip(extents, kind.strides, strict=True) if stride is None]
    for extent, value, type, predicates in zip(dynamic, strides, op.types[2], op["stride_assumptions"], strict=True):
        for predicate in predicates if extent != 1 else ():
            check_assumption(machine, predicate, value, type)
    packed = kind.strides.index(1) if kind.element.bits < 8 and 1 in kind.strides else None
    return TensorView(int(base), extents, _filled(kind.strides, strides, op.types[2]), kind.element, packed)


def _filled(known: tuple[int | None, ...], given: tuple[Tile, ...], types: tuple[TileType, ...]) -> tuple[int, ...]:
    rest = iter([scalar(value, kind.element, "unsigned") for value, kind in zip(given, types, strict=True)])
    return tuple(next(rest) if extent is None else extent for extent in known)


@interprets("make_partition_view", "make_strided_view", "make_gather_scatter_view")
def _make_tile_view(op: Step, _machine: Machine, tensor: TensorView) -> TileView:
    return TileView(tensor, op.result_types[0])


@interprets("get_tensor_shape")
def _get_tensor_shape(op: Step, machine: Machine, src: TensorView) -> tuple[Tile, ...]:
    return extent_results(op, machine, list(src.shape))


@interprets("get_index_space_shape")
def _get_index_space_shape(op: Step, machine: Machine, src: TileView) -> tuple[Tile, ...]:
    return extent_results(op, machine, src.index_space())


def extent_results(op: Step, machine: Machine, values: list[int]) -> tuple[Tile, ...]:
    """Extents as unsigned results; faults for one that does not fit its type."""
    for value in values:
        if value > limits(op.element, "unsigned")[1]:
            machine.undefined(undefined_behaviour.extent(str(op.element), value))
    return tuple(wrap(np.asarray(value, np.uint64), op.element) for value in values)


def _positions(view: TileView, axis: int, index: Tile, element: TileElement) -> Tile:
    """The positions of the elements of a tile along the tensor dimension of tile dimension `axis`."""
    if view.type.sparse_dim == axis:
        return np.minimum(unsigned(index, element).astype(np.uint64), np.uint64(_OUTSIDE)).astype(np.int64)
    start = min(scalar(index, element, "unsigned") * view.type.steps[axis], _OUTSIDE)
    return start + np.arange(view.type.tile.shape[axis], dtype=np.int64)


def _check_index(machine: Machine, view: TileView, index: tuple[Tile, ...], types: tuple[TileType, ...]) -> None:
    """Faults for an index outside the index space; the tile itself may exceed the tensor (Tile IR 5.6.1 to 5.6.3)."""
    for axis, count in enumerate(view.index_space()):
        if axis == view.type.sparse_dim:
            continue
        check_number(machine, f"index {axis}", index[axis], types[axis].element, count)


def check_number(machine: Machine, operand: str, number: Tile, element: TileElement, count: int) -> None:
    """Faults for an operand of an access, such as "index 0", that is not one of `count` numbers from 0."""
    if scalar(number, element, "unsigned") >= count:
        shown = scalar(number, element)
        note = f"; {POISON}" if access.may_be_poison(number, element).any() else ""
        machine.undefined(f"{undefined_behaviour.view_operand(operand, count)}, got {shown}{note}")


def locate(
    op: Step, machine: Machine, view: TileView, index: tuple[Tile, ...], types: tuple[TileType, ...]
) -> tuple[Tile, Tile]:
    """The address of each element of the tile at `index` (of `types`), and a mask of those inside the tensor."""
    tensor, shape = view.tensor, view.type.tile.shape
    if machine.check:
        _check_index(machine, view, index, types)
    offsets, inside, offset = np.zeros(shape, np.uint64), np.ones(shape, np.bool_), 0
    assumed = op["inbounds"] or [False] * len(shape)
    for axis, dim in enumerate(view.type.dim_map):
        positions = _positions(view, axis, index[axis], types[axis].element)
        within = positions < tensor.shape[dim]
        if assumed[axis] and not within.all():
            text = undefined_behaviour.inbounds(axis, tensor.shape[dim])
            machine.undefined(f"{text}, got {positions.max()}")
        along = [1] * len(shape)
        along[axis] = shape[axis]
        positions = np.where(within, positions, 0)
        offsets = offsets + (positions.astype(np.uint64) * np.uint64(tensor.strides[dim])).reshape(along)
        inside = inside & within.reshape(along)
        offset += int(positions.max()) * tensor.strides[dim]
    if offset > _MAX_OFFSET:
        machine.undefined(f"the offset of {offset} elements from the start of the tensor exceeds 2**63 - 1")
    addresses = offsets * np.uint64(tensor.element.steps) + np.uint64(tensor.base)
    if machine.check:
        _check_whole_bytes(machine, view, addresses, inside)
    return addresses, inside


def _check_whole_bytes(machine: Machine, view: TileView, addresses: Tile, inside: Tile) -> None:
    """Faults for an access of a part of a byte (Tile IR 5.2.1)."""
    tensor = view.tensor
    if tensor.packed is None:
        return
    if tensor.shape[tensor.packed] % 2:
        text = undefined_behaviour.packed_extent(tensor.packed)
        machine.undefined(f"{text}, got {tensor.shape[tensor.packed]}")
    axis = view.type.dim_map.index(tensor.packed)
    firsts = tuple(slice(None, None, 2) if k == axis else slice(None) for k in range(addresses.ndim))
    if np.any(addresses[firsts][inside[firsts]] & np.uint64(1)):
        machine.undefined(f"elements of {tensor.element} are accessed in pairs, but a pair lies in two bytes")


def padding(op: Step, machine: Machine, view: TileView) -> np.ndarray:
    """The value of elements outside the tensor."""
    kind, element = view.type.padding, view.tensor.element
    if kind is None:
        return unwritten(op, machine)
    if kind == "zero":
        # All bits zero, also in f8E8M0FNU, which has no zero.
        return np.zeros((), element.dtype)
    if not element.format.represents(_PADDING[kind]):
        raise Fault(f"{element} cannot represent the padding value {kind} of this view")
    return element.format.encode(np.asarray(_PADDING[kind]))


@interprets("load_view_tko")
def load_tile(op: Step, machine: Machine, view: TileView, index: tuple[Tile, ...], _token: None) -> tuple[Tile, None]:
    """The tile of a view at an index, with the padding of the view outside the tensor."""
    addresses, inside = locate(op, machine, view, index, op.types[1])
    return access.load(machine.memory, addresses, inside, op.element, padding(op, machine, view)), None


def store_tile(op: Step, machine: Machine, view: TileView, tile: Tile, index: tuple[Tile, ...]) -> tuple[None]:
    """Writes the tile of a view at an index, the third operand; elements outside the tensor are dropped."""
    addresses, inside = locate(op, machine, view, index, op.types[2])
    access.store(machine.memory, addresses, inside, view.tensor.element, tile)
    return (None,)


@interprets("store_view_tko")
def _store(
    op: Step, machine: Machine, tile: Tile, view: TileView, index: tuple[Tile, ...], _token: None
) -> tuple[None]:
    return store_tile(op, machine, view, tile, index)
