"""The scratch memory that the operations of a kernel need at least."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.dialect.walk import operations_below
from tilec.element_types import element_type
from tilec.lowering.layout.blocks import extracted_registers, inserted_registers
from tilec.lowering.layout.layout_text import parse_layout
from tilec.lowering.layout.linear_layout import LinearLayout

# Left for the scratch of reductions and layout conversions, which divide larger tiles.
SCRATCH_RESERVE_BYTES = 16384


def scratch_bytes(kernel: KernelOp) -> int:
    """The reserve, or the largest tile that goes through scratch memory as a whole."""
    return max([SCRATCH_RESERVE_BYTES, *(_whole_tile_bytes(op.operation) for op in operations_below(kernel))])


def _whole_tile_bytes(operation: ir.Operation) -> int:
    """The bytes of the tile of which an operation takes, replaces or joins parts, if elements move between threads."""
    if operation.name == "tile_gpu.extract":
        whole, part = operation.operands[0].type, operation.results[0].type
    elif operation.name in ("tile_gpu.insert", "tile_gpu.cat"):
        whole, part = operation.results[0].type, operation.operands[0].type
    else:
        return 0
    layout = _layout(whole)
    block = _layout(part) if isinstance(part, ir.RankedTensorType) else None
    if block is not None and _stays_in_threads(operation.name, layout, block):
        return 0
    return layout.size * max(8, element_type(spell(whole.element_type)).storage_bits) // 8


def _layout(tile: ir.Type) -> LinearLayout:
    return parse_layout(ir.StringAttr(ir.RankedTensorType(tile).encoding).value)


def _stays_in_threads(name: str, whole: LinearLayout, part: LinearLayout) -> bool:
    if name == "tile_gpu.extract":
        return extracted_registers(whole, part, (0,) * len(whole.shape)) is not None
    return inserted_registers(whole, part) is not None
