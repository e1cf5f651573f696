"""Register tiles to and from global memory."""

from collections.abc import Sequence

from tilec.dialect.attributes import Booleans, Integer, Text
from tilec.dialect.fields import Operand, Result
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.sets import Integer32, Integer64, RegisterTile


def _one_each(op: Operation) -> str | None:
    tile = op.results[0] if len(op.results) else op.operands[0]
    rank = len(tile.type.shape)
    counts = [len(group) for group in (op.offsets, op.extents, op.strides)]
    return None if counts == [rank] * 3 else f"expected {rank} offsets, extents and strides each, but got {counts}"


class LoadViewOp(Operation, name="load_view"):
    """result[c] = element at base + sum_d (offset_d + c_d) * stride_d; elements outside [0, extent) give `padding`.

    Strides in elements. `vector` consecutive elements along the dimension of stride one are proven aligned to their
    own size and never straddle an extent. `inbounds[d]` promises that no element lies outside in d.
    """

    result: Result[RegisterTile]
    base: Operand[Integer64]
    offsets: Sequence[Operand[Integer32]]
    extents: Sequence[Operand[Integer32]]
    strides: Sequence[Operand[Integer32]]
    vector: Integer(32)
    padding: Text = "zero"
    inbounds: Booleans | None
    rules = [_one_each]


class StoreViewOp(Operation, name="store_view"):
    """Writes a tile where `load_view` would read it; elements outside are dropped."""

    value: Operand[RegisterTile]
    base: Operand[Integer64]
    offsets: Sequence[Operand[Integer32]]
    extents: Sequence[Operand[Integer32]]
    strides: Sequence[Operand[Integer32]]
    vector: Integer(32)
    inbounds: Booleans | None
    rules = [_one_each]


class LoadGlobalOp(Operation, name="load_global"):
    """result[i] = the element at address pointers[i] where mask[i], else other[i] (zero without `other`)."""

    result: Result[RegisterTile]
    pointers: Operand[RegisterTile]
    mask: Operand[RegisterTile] | None
    other: Operand[RegisterTile] | None
    vector: Integer(32)
    order: Text = "weak"


class StoreGlobalOp(Operation, name="store_global"):
    """Stores value[i] at address pointers[i] where mask[i]."""

    pointers: Operand[RegisterTile]
    value: Operand[RegisterTile]
    mask: Operand[RegisterTile] | None
    vector: Integer(32)
    order: Text = "weak"
