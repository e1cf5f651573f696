"""The tensor map of a load that gathers rows, or the reason why TMA cannot (PTX ISA 5.5.3.2, tile::gather4)."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.tma import GATHERED_ROWS
from tilec.dialect.tilex.im2col_type import Im2colViewType
from tilec.lowering.layout.shared_layout import swizzle_span_bytes
from tilec.lowering.target import Target
from tilec.lowering.tile.analysis.divisibility import divisibility
from tilec.lowering.tile_to_gpu.access.alignment import element_bits
from tilec.lowering.tile_to_gpu.access.im2col_map import im2col_map_for
from tilec.lowering.tile_to_gpu.access.tensor_maps import ALIGNMENT_BYTES, TensorMap, map_of_tensor, tensor_map_for

# CUDA C++ Programming Guide: the alignment of the shared memory of a tensor copy.
SHARED_ALIGNMENT_BYTES = 128


def load_map_for(load: ir.OpView, target: Target, *, rounds_to_tf32: bool) -> TensorMap | str:
    """The map for a load of a tile or of gathered rows, or the reason why TMA cannot load it."""
    if isinstance(load.view.type, Im2colViewType):
        return im2col_map_for(load, target, rounds_to_tf32=rounds_to_tf32)
    if not hasattr(load.view.type, "sparse_dim"):
        return tensor_map_for(load.view, rounds_to_tf32=rounds_to_tf32)
    if not target.gathers_rows:
        return f"TMA of {target.name} does not gather rows"
    found = map_of_tensor(load.view, None, rounds_to_tf32)
    return found if isinstance(found, str) else _rows_reason(load, found) or found


def _rows_reason(load: ir.OpView, map: TensorMap) -> str | None:
    type, bits = load.view.type, element_bits(load.view.type.element)
    if bits < 8:
        return f"rows of elements of {bits} bits are gathered through registers"
    rows, columns = type.tile_shape if type.rank == 2 else (0, 0)
    if type.rank != 2 or type.sparse_dim != 0 or map.contiguous != 1:
        return f"TMA gathers rows of a matrix, not along dimension {type.sparse_dim} of rank {type.rank}"
    if rows % GATHERED_ROWS:
        return f"TMA gathers {GATHERED_ROWS} rows at once, the tile has {rows}"
    row_bytes = swizzle_span_bytes(map.swizzle) or columns * bits // 8
    if GATHERED_ROWS * row_bytes % SHARED_ALIGNMENT_BYTES:
        return f"{GATHERED_ROWS} gathered rows have {GATHERED_ROWS * row_bytes} bytes, TMA writes multiples of 128"
    if divisibility(list(load.index)[1]) * bits // 8 % ALIGNMENT_BYTES:
        return f"the first column of the rows is not known to be a multiple of {ALIGNMENT_BYTES} bytes"
    return None
