"""Tensors that a kernel slices out of arrays: the array, the offsets of the slice, and the extent it computes.

One tensor map serves all slices of an array along a dimension. Beside the dimensions of the tensor it has one for each
offset, and, if the kernel computes the extent of the slice, a constant extent along the sliced dimension and one more
dimension (`sliced_map.py` has the arithmetic). TMA's own check of the extents then ends at the end of the slice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import gcd

from tilec.dialect.mlir import ir
from tilec.lowering.tile.analysis.bounds import MAXIMUM_NARROW, bounds, greatest
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile.analysis.divisibility import divisor_of
from tilec.lowering.tile.analysis.index_arithmetic import Number
from tilec.lowering.tile.analysis.list_words import ListItem, list_word
from tilec.lowering.tile.analysis.tensor_extent import tensor_extents, tensor_strides
from tilec.lowering.tile.analysis.tile_operations import operand_behind, producer, without_assumptions
from tilec.lowering.tile.analysis.value_analysis import analyze
from tilec.lowering.tma.rules import MAX_RANK, STRIDE_LIMIT

# Strides of a tensor map are multiples of 16 bytes (CUDA driver API).
_GRANULE_BITS = 128
COMPUTED = "base or extents are computed in the kernel"
# The bits of an offset of a pointer.
_OFFSET_BITS = 64


@dataclass(frozen=True)
class Offset:
    """`index * factor / divisor` steps of `stride` elements, from 0 to 2**31 - 1 of them; the quotient is exact.

    `index` is a number, or a scalar of Tile IR that is not negative.
    """

    index: Number
    stride: Number
    factor: int = 1
    divisor: int = 1


@dataclass(frozen=True)
class Slice:
    """A tensor that starts at `base`, which the launcher knows, plus the offsets, whose strides differ.

    `dimension` is the dimension whose extent the kernel computes, None if the launcher knows all extents. The first
    offset is in steps of `granule` of its elements then: 1, or those of 16 bytes if they are adjacent.
    """

    base: ir.Value
    offsets: tuple[Offset, ...]
    dimension: int | None
    granule: int = 1

    @property
    def further_dimensions(self) -> int:
        """The dimensions of the map beside those of the tensor."""
        return len(self.offsets) + (self.dimension is not None)


def slice_of(tensor: ir.OpView, bits: int) -> Slice | str | None:
    """How a tensor lies in an array, None if the launcher knows its base and extents, or why TMA cannot copy it.

    Its elements have `bits` bits.
    """
    known_at_launch = partial(at_launch, item=list_item(tensor))
    if not all(map(known_at_launch, tensor.dynamicStrides)):
        return "strides are computed in the kernel"
    extents, strides = tensor_extents(tensor), tensor_strides(tensor)
    computed = [k for k, extent in enumerate(extents) if not isinstance(extent, int) and not known_at_launch(extent)]
    if not computed and known_at_launch(tensor.base):
        return None
    if len(computed) > 1:
        return f"extents {computed[0]} and {computed[1]} are computed in the kernel, and TMA has a map for one of them"
    if bits < 8:
        return COMPUTED
    if any(_known(stride) == 0 for stride in strides):
        return f"{COMPUTED}, for an array with a stride of 0"
    base, terms = _launch_pointer(tensor.base, known_at_launch)
    if base is None:
        return "the base address is computed in the kernel, but not as an offset from an argument"
    offsets: list[Offset] = []
    for term in terms:
        offset = _offset(term, strides, bits, known_at_launch)
        if offset is None:
            return "an offset of the base address is not known to be a multiple of a stride and of 16 bytes"
        if not _is_narrow(offset):
            return (
                "the start of a slice is not known to be from 0 to 2**31 - 1: "
                "add 'assume bounded<0, ?>' for it, or the hint slices_in_bounds"
            )
        if any(_is_same(offset.stride, other.stride) for other in offsets):
            return "the base address has two offsets along one dimension: add the starts of the slices"
        offsets.append(offset)
    if not computed:
        return Slice(base, tuple(offsets), None)
    dimension, granule = computed[0], 1
    stride = strides[dimension]
    if stride == 1:
        granule = stride = _GRANULE_BITS // bits
        if divisor_of(extents[dimension]) % granule:
            return (
                f"extent {dimension}, along which elements are adjacent, is computed in the kernel, and not known to "
                f"be a multiple of 16 bytes: state ct.assume_divisible_by(.., {granule}) for start and stop"
            )
    if greatest(stride) > MAXIMUM_NARROW:
        return f"stride {dimension} is not known to be less than 2**31"
    offsets.sort(key=lambda offset: not _is_same(offset.stride, stride))
    if not offsets or not _is_same(offsets[0].stride, stride):
        offsets.insert(0, Offset(0, stride))
    return Slice(base, tuple(offsets), dimension, granule)


def rank_reason(slice: Slice, type: ir.Type) -> str | None:
    """Why the map of a slice would have too many dimensions, or None."""
    rank = type.rank + slice.further_dimensions
    if rank <= MAX_RANK:
        return None
    return f"a tile of {type.rank} dimensions of this slice needs a tensor map of {rank}, and TMA has {MAX_RANK}"


def list_item(tensor: ir.OpView) -> ListItem | None:
    """The array of a list that a tensor is, or is a slice of; None for another tensor."""
    address = list_word(operand_behind(tensor.base, "assume", "offset"))
    return None if address is None else address.item


def at_launch(value: ir.Value, item: ListItem | None = None) -> bool:
    """Whether the launcher can compute a value for each array of the list of `item`, if there is one.

    It knows the arguments of the entry, seen through assumptions, constants, and the words of the array.
    """
    is_known = analyze(value, _at_launch)
    if is_known or item is None:
        return is_known
    word = list_word(without_assumptions(value))
    return word is not None and word.item == item


def _at_launch(value: ir.Value, of: Callable[[ir.Value], bool]) -> bool:
    owner = value.owner
    if type(owner) is ir.Block:
        return owner.owner.operation.name == "cuda_tile.entry"
    name = owner.operation.name
    return name == "cuda_tile.constant" or name == "cuda_tile.assume" and of(owner.operands[0])


def _launch_pointer(
    pointer: ir.Value, known_at_launch: Callable[[ir.Value], bool]
) -> tuple[ir.Value | None, list[ir.Value]]:
    """The pointer that the launcher knows, None if there is none, and the offsets in elements that are added to it."""
    terms: list[ir.Value] = []
    while not known_at_launch(pointer):
        moved = producer(pointer, "assume", "offset")
        if moved is None:
            return None, []
        if moved.operation.name == "cuda_tile.offset":
            terms += _summands(moved.offset)
        pointer = moved.operation.operands[0]
    return pointer, terms


def _summands(value: ir.Value) -> Iterator[ir.Value]:
    """The values whose sum is a number of elements."""
    sum = _arithmetic(value, "addi")
    if sum is None:
        yield value
        return
    yield from _summands(sum.lhs)
    yield from _summands(sum.rhs)


def _arithmetic(value: ir.Value, name: str) -> ir.OpView | None:
    """The operation of this name that computes an offset of 64 bits; one of fewer bits may wrap before it is added."""
    return producer(without_assumptions(value), name) if value.type.element.width == _OFFSET_BITS else None


def _offset(
    term: ir.Value, strides: Sequence[Number], bits: int, known_at_launch: Callable[[ir.Value], bool]
) -> Offset | None:
    """A number of elements as steps of a stride of the tensor, of a factor that the launcher knows, or of 16 bytes."""
    number = splat(term)
    if number is not None:
        return _constant_steps(1, number, strides, bits)
    product = _arithmetic(term, "muli")
    if product is None:
        return _constant_steps(_narrowest(term), 1, strides, bits)
    pairs = [(product.lhs, product.rhs), (product.rhs, product.lhs)]
    for index, factor in pairs:
        if any(_is_same(factor, stride) for stride in strides):
            return Offset(_narrowest(index), _known(factor)) if _is_granular(factor, bits) else None
    for index, factor in pairs:
        number = splat(factor)
        if number is not None:
            return _constant_steps(_narrowest(index), number, strides, bits)
    for index, factor in pairs:
        if known_at_launch(_narrowest(factor)) and _is_granular(factor, bits):
            return Offset(_narrowest(index), _known(factor))
    return None


def _constant_steps(index: Number, factor: int, strides: Sequence[Number], bits: int) -> Offset | None:
    """`index * factor` elements as steps of a constant stride that divides the factor, else of 16 bytes."""
    if factor < 0:
        return None
    known = [n for n in map(_known, strides) if isinstance(n, int) and _is_granular(n, bits) and factor % n == 0]
    if known:
        return Offset(index, max(known), factor // max(known))
    granule = _GRANULE_BITS // bits
    if divisor_of(index) * factor % granule:
        return None
    shared = gcd(factor, granule)
    return Offset(index, granule, factor // shared, granule // shared)


def _is_granular(stride: Number, bits: int) -> bool:
    """Whether a stride is known to be valid: a positive multiple of 16 bytes below 2**40 bytes."""
    stride = _known(stride)
    is_positive = stride > 0 if isinstance(stride, int) else bounds(stride).low >= 0
    return is_positive and divisor_of(stride) * bits % _GRANULE_BITS == 0 and greatest(stride) * bits < 8 * STRIDE_LIMIT


def _is_narrow(offset: Offset) -> bool:
    least = offset.index if isinstance(offset.index, int) else bounds(offset.index).low
    return least >= 0 and greatest(offset.index) * offset.factor // offset.divisor <= MAXIMUM_NARROW


def _narrowest(value: ir.Value) -> ir.Value:
    """A value before its extension to more bits, which it equals if it is not negative."""
    return operand_behind(value, "exti")


def _known(number: Number) -> Number:
    """The number of a constant, the value before its extension otherwise."""
    if isinstance(number, int):
        return number
    number = _narrowest(number)
    constant = splat(without_assumptions(number))
    return number if constant is None else constant


def _is_same(first: Number, second: Number) -> bool:
    """Whether two numbers are known to be equal, if neither is negative."""
    first, second = _known(first), _known(second)
    if isinstance(first, int) or isinstance(second, int):
        return first == second if isinstance(first, int) and isinstance(second, int) else False
    return without_assumptions(first) == without_assumptions(second)
