"""Remarks about stored tiles whose staging buffer takes shared memory from the rings of loads."""

from __future__ import annotations

from collections.abc import Iterator

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.placed import StoreTileOp
from tilec.dialect.tile_gpu.types import BufferType
from tilec.dialect.walk import operations_named
from tilec.element_types import element_type
from tilec.lowering.layout.shared_layout import parse_shared_layout
from tilec.lowering.plan.matrix.matrix_plan import MatrixPlan
from tilec.lowering.plan.matrix.narrow_pairs import is_in_narrow_pair
from tilec.lowering.tile.divide.divide_stores import SLICE_BYTES
from tilec.lowering.tile_to_gpu.access.alignment import element_bytes
from tilec.lowering.tile_to_gpu.access.row_stores import LINE_BYTES
from tilec.remarks import Remark

_STORE = StoreTileOp.OPERATION_NAME
# Advice against a large buffer.
_COLUMNS = "for a store in parts, compute each column elementwise from the same column of a multiply"
_WIDER_TILES = "pairs of blocks with 64 rows each store whole tiles, those with 128 rows each in parts"


def staging_remarks(kernel: ir.OpView, plan: MatrixPlan) -> Iterator[Remark]:
    """A remark for each store by TMA of a tile that `divide-stores` left whole, in a kernel with multiplies."""
    if not plan.multiplies:
        return
    in_narrow_pairs = any(is_in_narrow_pair(multiply.op) for multiply in plan.multiplies.values())
    advice = _WIDER_TILES if in_narrow_pairs else _COLUMNS
    for op in operations_named(kernel, (_STORE,)):
        (buffer,) = [value.type for value in op.operation.operands if isinstance(value.type, BufferType)]
        per_byte = element_type(spell(buffer.element)).per_byte
        layout = parse_shared_layout(buffer.layout, buffer.shape, element_bytes(buffer.element), per_byte)
        size = layout.size_bytes
        if size > SLICE_BYTES and buffer.shape[layout.contiguous] * layout.element_bytes > LINE_BYTES:
            message = f"the stored tile has a staging buffer of {size} bytes, which rings of loads cannot use: {advice}"
            yield Remark("staging", message, source_location(op.operation.location))
