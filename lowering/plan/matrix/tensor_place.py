"""The buffer of an accumulator in tensor memory, and the register layout that loads and stores it."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.types import TENSOR, BufferType
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.tensor_layout import parse_tensor_layout
from tilec.lowering.tile_to_gpu.access.alignment import element_bytes


def buffer_of(target: ir.Value) -> BufferType:
    """The type in tensor memory of an accumulator."""
    type = target.type
    lanes = 64 if type.shape[0] == 64 else 128
    return BufferType.get(tuple(type.shape), type.element, TENSOR, f"lanes={lanes}")


def registers_of(buffer: BufferType, warps: int) -> LinearLayout:
    """The layout of the register tile that is loaded from the buffer or stored to it."""
    return parse_tensor_layout(buffer.layout, buffer.shape, element_bytes(buffer.element)).registers(warps)
