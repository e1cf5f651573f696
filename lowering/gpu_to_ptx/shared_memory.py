"""Loads and stores of register tiles in shared-memory buffers."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.exchange import read, write
from tilec.lowering.gpu_to_ptx.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registry import lowers
from tilec.lowering.gpu_to_ptx.shared_address import SharedAddress
from tilec.lowering.gpu_to_ptx.value_types import element, layout_of
from tilec.lowering.layout.layout_text import parse_shared_layout


@lowers("tile_gpu.load_shared")
def load_shared(lowering: Lowering, operation: ir.Operation) -> None:
    result, buffer = operation.results[0], operation.operands[0]
    kind = element(result)
    offsets = parse_shared_layout(buffer.type.layout, buffer.type.shape, kind.bytes).matrix
    lowering.set(result, read(lowering, kind, SharedAddress(lowering.scalar(buffer)), layout_of(result.type), offsets))


@lowers("tile_gpu.store_shared")
def store_shared(lowering: Lowering, operation: ir.Operation) -> None:
    value, buffer = operation.operands
    kind = element(value)
    offsets = parse_shared_layout(buffer.type.layout, buffer.type.shape, kind.bytes).matrix
    write(lowering, kind, SharedAddress(lowering.scalar(buffer)), layout_of(value.type), lowering.get(value), offsets)
