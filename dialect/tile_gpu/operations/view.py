"""Register tiles to and from global memory."""

from collections.abc import Sequence

from tilec.dialect.attributes import Booleans, Enumeration, Flag, Int32, Text
from tilec.dialect.fields import Operand, Result
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.interface import Category, Interface, Memory, Scratch
from tilec.dialect.tile_gpu.layouts import operands_and_results_agree
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.sets import Index, Integer64, RegisterTile
from tilec.element_types import ELEMENT_TYPES

# As in cuda_tile. An access without order and scope is weak.
SCOPES = ("tl_blk", "device", "sys")
LOAD_ORDERS = ("relaxed", "acquire")
STORE_ORDERS = ("relaxed", "release")
Scope = Enumeration(*SCOPES)
LoadOrder = Enumeration(*LOAD_ORDERS)
StoreOrder = Enumeration(*STORE_ORDERS)


def _scope_of_order(op: ir.OpView) -> str | None:
    if (op.order is None) != (op.scope is None):
        return f"order and scope come together, but got order {op.order} and scope {op.scope}"
    if op.order is not None and op.vector != 1:
        return f"an access with order {op.order} takes one element at a time, but got vector {op.vector}"
    return None


def vector_has_a_dimension(op: ir.OpView) -> str | None:
    """Two dimensions can have a stride of one, so a vector names the dimension that it runs along."""
    if (op.vector > 1) != (op.vector_dimension is not None):
        return f"a vector and its dimension come together, but got vector {op.vector}, dimension {op.vector_dimension}"
    if op.vector_dimension is not None and not 0 <= op.vector_dimension < len(op.strides):
        return f"expected a vector dimension below {len(op.strides)}, but got {op.vector_dimension}"
    return None


def _whole_bytes(op: ir.OpView) -> str | None:
    element = (op.results[0] if len(op.results) else op.operands[0]).type.element_type
    row = ELEMENT_TYPES.get(spell(element))
    if row is None or row.per_byte == 1:
        return None
    return f"elements of {element} share bytes: expected a tile of i8 with tile_gpu.pack or tile_gpu.unpack"


def one_each(op: ir.OpView) -> str | None:
    tile = op.results[0] if len(op.results) else op.operands[0]
    rank = len(tile.type.shape)
    counts = [len(group) for group in (op.offsets, op.extents, op.strides)]
    return None if counts == [rank] * 3 else f"expected {rank} offsets, extents and strides each, but got {counts}"


def _indices_of_a_dimension(op: ir.OpView) -> str | None:
    """Sparse indices are a tile of one dimension, with one index for each element along `sparse_dimension`."""
    if (op.indices is None) != (op.sparse_dimension is None):
        return f"indices and their dimension come together, but got dimension {op.sparse_dimension}"
    if op.indices is None:
        return None
    tile = op.results[0] if len(op.results) else op.operands[0]
    dimension, shape, indices = op.sparse_dimension, list(tile.type.shape), op.indices.type
    if not 0 <= dimension < len(shape):
        return f"expected a sparse dimension below {len(shape)}, but got {dimension}"
    if list(indices.shape) != [shape[dimension]]:
        return f"expected {shape[dimension]} indices along dimension {dimension}, but got {list(indices.shape)}"
    if indices.element_type != op.extents[dimension].type:
        return f"expected indices of {op.extents[dimension].type}, as the extents, but got {indices.element_type}"
    if op.vector_dimension == dimension:
        return f"elements along sparse dimension {dimension} are not consecutive, but got vector {op.vector} along it"
    return None


def _repeatable_is_weak(op: ir.OpView) -> str | None:
    if op.repeatable and op.order is not None:
        return f"a repeatable load is weak, but got order {op.order}"
    return None


class LoadViewOp(Operation, name="load_view"):
    """result[c] = element at base + sum_d (offset_d + c_d) * stride_d; elements outside [0, extent) give `padding`.

    Strides count elements. Values of 32 bits are signed; a number that may exceed them needs 64 bits. `vector`
    consecutive elements along `vector_dimension`, whose stride is one, are proven aligned to their own size and never
    straddle an extent. `inbounds[d]` promises that no element lies outside in d. `padding` is a name of Tile IR, or the
    bits of an integer: `0x88`. Elements that share bytes are loaded as bytes, with `unpack`.

    With `indices`, element c along `sparse_dimension` is at offset + indices[c], read as an unsigned number; the
    indices have the type of the extents, and the layout of the tile without its other dimensions.

    An `early` load always runs, and no token orders it after a store or an acquire, or before a store.

    A `repeatable` load is weak, and no token orders it after a store, an atomic update or an acquire, or before a store
    or an atomic update: each role that computes may execute a copy of it, and any role one of a load of one element.
    """

    interface = Interface(Category.LOAD, Memory.GLOBAL, scratch=Scratch.NONE)
    result: Result[RegisterTile]
    base: Operand[Integer64]
    offsets: Sequence[Operand[Index]]
    extents: Sequence[Operand[Index]]
    strides: Sequence[Operand[Index]]
    indices: Operand[RegisterTile] | None
    sparse_dimension: Int32 | None
    vector: Int32
    vector_dimension: Int32 | None
    padding: Text = "zero"
    inbounds: Booleans | None
    order: LoadOrder | None
    scope: Scope | None
    early: Flag
    repeatable: Flag
    assembly = (
        "$base[$offsets] extents [$extents] strides [$strides]{ indices $indices along $sparse_dimension}"
        " vector $vector{ along $vector_dimension}{ padding $padding}{ inbounds [$inbounds]}"
        "{ order $order}{ scope $scope}{ $early}{ $repeatable} attr-dict : type($result)"
    )
    rules = [
        _whole_bytes, one_each, vector_has_a_dimension, _scope_of_order, _indices_of_a_dimension,
        _repeatable_is_weak,
    ]  # fmt: skip


class StoreViewOp(Operation, name="store_view"):
    """Writes a tile where `load_view` would read it; elements outside are dropped."""

    interface = Interface(Category.STORE, Memory.GLOBAL)
    value: Operand[RegisterTile]
    base: Operand[Integer64]
    offsets: Sequence[Operand[Index]]
    extents: Sequence[Operand[Index]]
    strides: Sequence[Operand[Index]]
    indices: Operand[RegisterTile] | None
    sparse_dimension: Int32 | None
    vector: Int32
    vector_dimension: Int32 | None
    inbounds: Booleans | None
    order: StoreOrder | None
    scope: Scope | None
    assembly = (
        "$value -> $base[$offsets] extents [$extents] strides [$strides]{ indices $indices along $sparse_dimension}"
        " vector $vector{ along $vector_dimension}{ inbounds [$inbounds]}{ order $order}{ scope $scope}"
        " attr-dict : type($value)"
    )
    rules = [_whole_bytes, one_each, vector_has_a_dimension, _scope_of_order, _indices_of_a_dimension]


class LoadGlobalOp(Operation, name="load_global"):
    """result[i] = the element at address pointers[i] where mask[i], else other[i] (zero without `other`).

    `early` and `repeatable` as in `load_view`. Nothing changes `constant` memory while the kernel runs: all CTAs
    read the same.
    """

    interface = Interface(Category.LOAD, Memory.GLOBAL)
    result: Result[RegisterTile]
    pointers: Operand[RegisterTile]
    mask: Operand[RegisterTile] | None
    other: Operand[RegisterTile] | None
    vector: Int32
    order: LoadOrder | None
    scope: Scope | None
    early: Flag
    repeatable: Flag
    constant: Flag
    assembly = (
        "$pointers{, mask $mask}{, other $other} vector $vector{ order $order}{ scope $scope}{ $early}{ $repeatable}"
        "{ $constant} attr-dict : type($pointers) -> type($result)"
    )
    rules = [_scope_of_order, operands_and_results_agree, _repeatable_is_weak]


class StoreGlobalOp(Operation, name="store_global"):
    """Stores value[i] at address pointers[i] where mask[i]."""

    interface = Interface(Category.STORE, Memory.GLOBAL)
    pointers: Operand[RegisterTile]
    value: Operand[RegisterTile]
    mask: Operand[RegisterTile] | None
    vector: Int32
    order: StoreOrder | None
    scope: Scope | None
    assembly = (
        "$value -> $pointers{, mask $mask} vector $vector{ order $order}{ scope $scope} attr-dict :"
        " type($value) -> type($pointers)"
    )
    rules = [_scope_of_order, operands_and_results_agree]
