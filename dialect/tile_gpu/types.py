"""Buffers, channels and tensor maps."""

import re
from collections.abc import Sequence

from tilec.dialect.cache import cached, integers_of
from tilec.dialect.constraints import DenseArray, Unconstrained, keyword
from tilec.dialect.mlir import ir
from tilec.dialect.parameterless import parameterless
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.namespace import TileGpu
from tilec.element_types import ELEMENT_TYPES

SHARED, TENSOR = "shared", "tensor"
MEMORIES = (SHARED, TENSOR)
_PACKED_BITS = re.compile(r" packed=(\d+)")
# The layout of 64 rows of an accumulator of a pair of CTAs (PTX ISA 9.7.16.10.5, layout B).
HALVES = "lanes=128 halves"
# The layout of an accumulator whose columns have lanes (PTX ISA 9.7.16.10.5, layouts D, E and G).
TRANSPOSED = "lanes=128 transposed"


class BufferType(TileGpu.Type, name="buffer"):
    """One slot of shared or tensor memory that holds a tile; the layout says where each element lies."""

    extents: Unconstrained
    element_type: Unconstrained
    space: Unconstrained
    arrangement: Unconstrained
    irdl = (DenseArray, Unconstrained, keyword(MEMORIES), ir.StringAttr)

    @classmethod
    def get(cls, shape: Sequence[int], element: ir.Type, memory: str, layout: str) -> "BufferType":
        return _buffer(tuple(shape), element, memory, layout)

    shape = property(lambda self: _buffer_facts(self)[0])
    element = property(lambda self: _buffer_facts(self)[1])
    memory = property(lambda self: _buffer_facts(self)[2])
    layout = property(lambda self: _buffer_facts(self)[3])

    @property
    def is_packed(self) -> bool:
        """Whether a cell of tensor memory holds as many elements as fit: the layout of operand A."""
        return self.memory == TENSOR and " packed" in self.layout

    @property
    def is_in_halves(self) -> bool:
        """Whether the second half of the columns is in other lanes: 64 rows of an accumulator of a pair."""
        return self.memory == TENSOR and self.layout == HALVES

    @property
    def is_transposed(self) -> bool:
        """Whether the columns of an accumulator have lanes: tcgen05.mma.ws multiplies, whose first operand is rhs."""
        return self.memory == TENSOR and self.layout == TRANSPOSED

    @property
    def packed_bits(self) -> int | None:
        """The bits of the elements of which 16 are in each 16 bytes of shared memory; None for other buffers."""
        found = _PACKED_BITS.search(self.layout)
        return None if found is None else int(found[1])

    @cached
    def problem(self) -> str | None:
        """The problem with the elements, or None."""
        name = spell(self.element)
        return None if name in ELEMENT_TYPES else f"elements must be of {', '.join(ELEMENT_TYPES)}, but got {name}"

    def spelled(self) -> str:
        extents = "x".join(map(str, self.shape))
        return f"buffer<{extents}x{self.element}, {self.memory}, {self.layout}>"


@cached
def _buffer(shape: tuple[int, ...], element: ir.Type, memory: str, layout: str) -> BufferType:
    if memory not in MEMORIES:
        raise ValueError(f"buffer memory must be one of: {', '.join(MEMORIES)}, but got: {memory}")
    made = element.context
    parameters = [
        ir.DenseI64ArrayAttr.get(shape, made),
        ir.TypeAttr.get(element, made),
        ir.StringAttr.get(memory, made),
        ir.StringAttr.get(layout, made),
    ]
    return BufferType(ir.DynamicType.get("tile_gpu.buffer", parameters, made))


@cached
def _buffer_facts(buffer: BufferType) -> tuple[tuple[int, ...], ir.Type, str, str]:
    extents, element, memory, layout = buffer.params
    texts = ir.StringAttr(memory).value, ir.StringAttr(layout).value
    return integers_of(ir.DenseI64ArrayAttr(extents)), ir.TypeAttr(element).value, *texts


@cached
def _channel_buffers(channel: ir.Type) -> tuple[BufferType, ...]:
    return tuple([ir.TypeAttr(entry).value for entry in ir.ArrayAttr(channel.params[0])])


class ChannelType(TileGpu.Type, name="channel"):
    """A ring of slots, each holding the listed buffers."""

    slot: Unconstrained
    irdl = (ir.ArrayAttr,)

    @classmethod
    def get(cls, buffers: Sequence[BufferType]) -> "ChannelType":
        made = buffers[0].context if buffers else None
        return super().get(ir.ArrayAttr.get([ir.TypeAttr.get(buffer) for buffer in buffers], made), context=made)

    buffers = property(lambda self: list(_channel_buffers(self)))

    def spelled(self) -> str:
        return f"channel<[{', '.join(buffer.spelled() for buffer in self.buffers)}]>"


class TensorMapType(TileGpu.Type, name="tensor_map"):
    """A TMA descriptor that the launcher encodes."""

    __annotations__ = {}

    @classmethod
    def get(cls, context: ir.Context | None = None) -> "TensorMapType":
        return parameterless(cls, "tile_gpu.tensor_map", context)

    def spelled(self) -> str:
        return "tensor_map"
