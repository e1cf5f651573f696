"""The extents of an im2col view as numbers or values: its output, its tiles, and the integers that they need."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from tilec.dialect.mlir import ir
from tilec.dialect.tilex.types import BY_ROW, Im2colViewType
from tilec.lowering.tile.bounds import greatest
from tilec.lowering.tile.divisibility import divisibility
from tilec.lowering.tile.index_arithmetic import IndexArithmetic, Number
from tilec.lowering.tile.producer import without_assumptions

# Extents and strides are computed in 64 bits, where nothing wraps.
WIDE = IndexArithmetic(64)
# The range of a signed i32.
_MAXIMUM_NARROW = 2**31 - 1


@dataclass(frozen=True)
class Im2colTensor:
    """The tensor under an im2col view: its base, extents and strides, as in its make_tensor_view."""

    type: Im2colViewType
    base: ir.Value
    extents: tuple[Number, ...]
    strides: tuple[Number, ...]

    @cached_property
    def by_row(self) -> bool:
        """Whether tiles do not cross rows, of which there are several."""
        return self.type.mode in BY_ROW and self.type.spatial_rank > 1

    @cached_property
    def unit(self) -> int:
        """The elements that divide the distances between pixels, along all dimensions but the channels."""
        walked = zip(self.type.tensor_view.shape[:-1], self.strides[:-1], strict=True)
        return math.gcd(*(divisor_of(stride) for extent, stride in walked if extent != 1)) or 1

    @property
    def fills_tiles(self) -> bool:
        """Whether every pixel of every tile exists, as far as extents are known."""
        type, (images, *extents) = self.type, self.extents[:-1]
        if not all(isinstance(extent, int) for extent in self.extents[:-1]):
            return False
        outputs = [_output_of(type, k, extent) for k, extent in enumerate(extents)]
        return images * math.prod(outputs[-1:] if self.by_row else outputs) % type.tile_shape[0] == 0

    @cached_property
    def is_narrow(self) -> bool:
        """Whether i32 holds every extent, the numbers of the pixels, and the offsets in units."""
        extents, strides = ([_greatest(each) for each in values] for values in (self.extents, self.strides))
        type = self.type
        padding = max(map(abs, (*type.lower, *type.upper)))
        outputs = [_output_of(type, k, extents[1 + k]) for k in range(type.spatial_rank)]
        rows = math.prod(outputs[:-1])
        pixels = extents[0] * math.prod(outputs) + max(1, rows) * type.tile_shape[0]
        units = sum(extent * (stride // self.unit) for extent, stride in zip(extents[:-1], strides[:-1], strict=True))
        return max(*extents, max(extents) + padding, pixels, units, strides[-1]) <= _MAXIMUM_NARROW

    def outputs(self) -> list[Number]:
        """The output extents, outermost first, with the operations that compute them."""
        return [self._output(k) for k in range(self.type.spatial_rank)]

    def _output(self, k: int) -> Number:
        step = self.type.stride[k]
        padded = WIDE.sum([WIDE.cast(self.extents[1 + k]), _reach(self.type, k) + step])
        return WIDE.quotient(WIDE.at_least(0, padded), step)

    def tiles_of_run(self, outputs: list[Number]) -> Number:
        """The tiles of the pixels that consecutive tiles cover: of all pixels, or of one row of every image."""
        run = [WIDE.cast(self.extents[0]), *(outputs[-1:] if self.by_row else outputs)]
        return WIDE.quotient_up(WIDE.product(run), self.type.tile_shape[0])

    def index_space(self, outputs: list[Number]) -> list[Number]:
        """The numbers of tiles along pixels and channels."""
        rows = outputs[:-1] if self.by_row else []
        tiles = WIDE.product([*rows, self.tiles_of_run(outputs)])
        return [tiles, WIDE.quotient_up(WIDE.cast(self.extents[-1]), self.type.tile_shape[1])]


def tensor_of(view: ir.Value) -> Im2colTensor:
    """The tensor under an im2col view."""
    # Views are neither carried nor arguments, so both are made in the kernel.
    tensor = without_assumptions(view.owner.tensor_view).owner
    type = tensor.result.type
    extents = _filled(type.shape, list(tensor.dynamicShape))
    return Im2colTensor(view.type, tensor.base, extents, _filled(type.strides, list(tensor.dynamicStrides)))


def _filled(known: tuple[int | None, ...], dynamic: list[ir.Value]) -> tuple[Number, ...]:
    return tuple(dynamic.pop(0) if value is None else value for value in known)


def divisor_of(number: Number) -> int:
    """A divisor: the number itself, or a power of two."""
    return number if isinstance(number, int) else divisibility(number)


def _greatest(number: Number) -> int:
    return number if isinstance(number, int) else greatest(number)


def _reach(type: Im2colViewType, k: int) -> int:
    """The last position of a window of the padded extent is the extent plus this."""
    return type.lower[k] + type.upper[k] - (type.window[k] - 1) * type.dilation[k] - 1


def _output_of(type: Im2colViewType, k: int, extent: int) -> int:
    """The output extent of a spatial dimension."""
    return max(0, extent + _reach(type, k) + type.stride[k]) // type.stride[k]
