"""store of a large tile that is computed elementwise from a matrix product -> stores of its column slices.

%y = ftof %x : tile<128x256xf32> -> tile<128x256xf16>;  store_view_tko %y, %v[%i, %j]
->  %x0 = extract %x[0, 0];  %y0 = ftof %x0 : tile<128x64xf32> -> tile<128x64xf16>;  store_view_tko %y0, %w[%i, %j * 4]
    and likewise the other three: they need a quarter of the registers and of the staging buffer
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from tilec.dialect.cuda_tile.types import PartitionViewType, TileType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.walk import operations_inside, operations_named, reached
from tilec.element_types import element_type
from tilec.lowering.tile.analysis.part_access import (
    divides_bytes,
    is_divisible_access,
    join_tokens,
    store_part,
    view_of_parts,
)
from tilec.lowering.tile.analysis.tile_operations import carried_sources, is_product
from tilec.lowering.tile.divide.slices import (
    REPEATABLE,
    Divided,
    Slice,
    Slicer,
    divided_operands,
    is_loaded_by_parts,
    sliced_operands,
)

# A staging buffer of this size leaves room for rings of operands, and two of them keep the copies busy.
SLICE_BYTES = 16384
# The widest swizzle of shared memory (PTX ISA 5.5.7): narrower rows would need more copies for as many bytes.
_SWIZZLE_BITS = 1024
# tcgen05.ld reads 32 columns into registers at once without loss of throughput.
_LEAST_COLUMNS = 32
# Slices of smaller tiles cost little wherever their elements are.
_SMALL_ELEMENTS = 1024
_LOADS = ("cuda_tile.load_view_tko",)
_JOIN = "cuda_tile.join_tokens"


def divide_stores(module: ir.Module, slice_bytes: int = SLICE_BYTES) -> None:
    """Changes a module in place: slices have at most `slice_bytes` in shared memory, if their rows stay wide.

    The whole tiles that nothing uses any more are left to `remove-dead`.
    """
    for entry in operations_named(module, ("cuda_tile.entry",)):
        stores = operations_named(entry, ("cuda_tile.store_view_tko",))
        found = {op.operation: division for op in stores if (division := _division(op, slice_bytes)) is not None}
        if found:
            _divide(entry, found)


def _division(store: ir.OpView, slice_bytes: int) -> Slice | None:
    """The first slice of a store that is worth dividing; None for other stores."""
    if not is_divisible_access(store):
        return None
    for dimension in reversed(range(store.tile.type.rank)):
        first = Slice(dimension, 0, _slice_size(store, dimension, slice_bytes))
        if first.size < store.tile.type.shape[dimension] and _is_made_of_columns(store, first):
            return first
    return None


def _slice_size(store: ir.OpView, dimension: int, slice_bytes: int) -> int:
    """The extent of slices of `slice_bytes`, or of the smallest that are fast."""
    type, view = store.tile.type, store.view.type
    bits = element_type(spell(view.element)).storage_bits
    contiguous = view.tensor_view.strides[view.dim_map[dimension]] == 1
    least = max(_LEAST_COLUMNS, _SWIZZLE_BITS // bits if contiguous else 0)
    size, column_bits = type.shape[dimension], math.prod(Slice(dimension, 0, 1).part(store.tile).shape) * bits
    while size > least and column_bits * size > 8 * slice_bytes:
        size //= 2
    return type.shape[dimension] if divides_bytes(view, Slice(dimension, 0, size).part(store.tile).shape) else size


# ---- the values that a tile is computed from


def _is_made_of_columns(store: ir.OpView, first: Slice) -> bool:
    """Whether slices of a tile are computed from columns of matrix products, and from nothing else that is large."""
    products = 0
    for value, along in _reached(store, first):
        if _operands(store, first, (value, along)) is not None:
            continue
        if _is_product(value):
            if along != value.type.rank - 1:
                return False
            products += 1
        elif math.prod(value.type.shape) > _SMALL_ELEMENTS:
            return False
    return products > 0


def _reached(store: ir.OpView, first: Slice) -> Iterator[Divided]:
    """The values whose slices are needed for those of a stored tile, the tile included."""
    start = store.tile, first.dimension
    return reached(start, lambda each: _operands(store, first, each) or ())


def _operands(store: ir.OpView, first: Slice, divided: Divided) -> list[Divided] | None:
    """The same as sliced_operands, but a tile that a loop around the store does not load is not loaded in the loop."""
    (value, along), owner = divided, divided[0].owner
    wanted = replace(first, dimension=along)
    if isinstance(owner, ir.Block) or owner.operation.name in _LOADS and owner.operation.block != store.operation.block:
        return None
    if along == first.dimension and _is_overwritten(owner, store):
        return [] if is_loaded_by_parts(value, wanted) else None
    return sliced_operands(value, wanted)


def _is_overwritten(load: ir.OpView, store: ir.OpView) -> bool:
    """Whether a store overwrites the tile of a load, and no other access waits for the load.

    Two slices along one dimension have the same elements or none in common, so a slice may be loaded after others are
    stored.
    """
    if load.operation.name not in _LOADS or list(load.index) != list(store.index):
        return False
    types = [op.view.type for op in (load, store)]
    tiles = [isinstance(type, PartitionViewType) and (tuple(type.tile_shape), tuple(type.dim_map)) for type in types]
    if not tiles[0] or tiles[0] != tiles[1] or len({op.view.owner.operands[0] for op in (load, store)}) != 1:
        return False
    return all(_precedes_only(use.owner.operation, store) for use in load.operation.results[1].uses)


def _precedes_only(user: ir.Operation, store: ir.OpView) -> bool:
    """Whether the user of a token is a store, or joins tokens for it alone."""
    if user.name == _JOIN:
        return all(use.owner.operation == store.operation for use in user.results[0].uses)
    return user == store.operation


def _tokens_before(store: ir.OpView, loads: Mapping[ir.Value, ir.OpView]) -> list[ir.Value]:
    """The tokens that a store waits for; in place of the token of each of `loads`, the token before the load."""
    if store.token is None:
        return []
    owner = store.token.owner
    is_joined = not isinstance(owner, ir.Block) and owner.operation.name == _JOIN
    tokens = list(owner.operation.operands) if is_joined else [store.token]
    found = [loads[token].token if token in loads else token for token in tokens]
    return [token for token in found if token is not None]


def _is_product(value: ir.Value) -> bool:
    """Whether a value is a matrix product, or is computed elementwise from one that a loop carries."""
    return any(map(is_product, reached(value, _sources)))


def _sources(value: ir.Value) -> list[ir.Value]:
    """The values that a value is, except the initial value of a loop, or is computed from elementwise."""
    op = value.owner
    if (carried := carried_sources(value)) is not None:
        return [each for each in carried if isinstance(each.type, TileType)]
    if isinstance(op, ir.Block) or is_product(value) or value.type.rank < 2:
        return []
    return [operand for operand, _ in divided_operands(op, value.type.rank - 1) or ()]


# ---- the rewrite


def _divide(entry: ir.OpView, stores: Mapping[ir.Operation, Slice]) -> None:
    computed = _computed(entry, stores)
    for operation, first in stores.items():
        op = operation.opview
        with ir.InsertionPoint(operation), op.location:
            view, tokens = view_of_parts(op.view, first.part(op.tile).shape), []
            loads = {
                value.owner.operation.results[1]: value.owner
                for value, along in computed
                if along == first.dimension and _is_overwritten(value.owner, op)
            }
            before = _tokens_before(op, loads) if loads else []
            for number in range(op.tile.type.shape[first.dimension] // first.size):
                wanted, slicer = Slice(first.dimension, number, first.size), Slicer(computed)
                value = slicer.slice_of(op.tile, wanted)
                loaded = [slicer.slice_of(load.operation.results[0], wanted) for load in loads.values()]
                after = [*before, *(slice.owner.operation.results[1] for slice in loaded)]
                tokens.append(store_part(op, view, wanted.part(op.tile), value, after))
            if list(op.result.uses):
                op.result.replace_all_uses_with(join_tokens(tokens))
        operation.erase()


def _computed(entry: ir.OpView, stores: Mapping[ir.Operation, Slice]) -> Collection[Divided]:
    """The values to compute in slices: those that are cheap to repeat, and those that only such operations use."""
    found = set[Divided]()
    for operation, first in stores.items():
        for value, along in _reached(operation.opview, first):
            if _operands(operation.opview, first, (value, along)) is not None:
                found.add((value, along))
    divided = {*stores, *(value.owner.operation for value, _ in found)}
    # Users of a value come after it, so they are decided before it.
    for op in reversed(operations_inside(entry)):
        if op not in divided or op in stores or op.name in REPEATABLE:
            continue
        if any(use.owner.operation not in divided for use in op.results[0].uses):
            divided.discard(op)
    return {each for each in found if each[0].owner.operation in divided}
