"""The dimension of each tile along which several CTAs divide the rows of all multiplies, or the long rows of a kernel.

Each CTA computes its rows of every accumulator, and of every tile that goes into them or derives from them. In a kernel
without multiplies it computes its elements of every long row that is reduced or stored.

In a chain of multiplies, as of attention, the columns of the last ones alone can be divided. All CTAs compute the
multiplies before them. A tile that is rhs of a last multiply and of an earlier one is divided along the depth of the
earlier one, which multiplies all parts of its depth (depth_parts.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod

from tilec.dialect.cuda_tile.types import PartitionViewType, TokenType
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tilex.im2col_rules import TILE_PIXELS, pixels_text
from tilec.dialect.tilex.im2col_type import Im2colViewType
from tilec.dialect.tilex.packed_type import PackedViewType
from tilec.dialect.walk import operations_below, operations_named, reached
from tilec.errors import SourceLocation
from tilec.lowering.tile.analysis.constants import splat_attribute
from tilec.lowering.tile.analysis.index_space import divides_rows, known_tiles_of_row
from tilec.lowering.tile.analysis.tile_operations import (
    DIVISIBLE_MULTIPLIES,
    LOADS,
    PLAIN_MULTIPLIES,
    STRUCTURES,
    carried_groups,
    is_elementwise,
    is_product,
    is_tile,
    left_by,
)
from tilec.lowering.tile.analysis.tile_parts import outer_dimension

# The divided dimension of each tile; the others are the same in all CTAs.
Divided = dict[ir.Value, int]
Related = Iterator[tuple[ir.Value, int]]
_REDUCE = "cuda_tile.reduce"
# Of a reduction whose results each part of the tiles may have of its own.
OF_PART = "tilec.of_part"
PACKED_LOAD = "tilex.load_packed_tko"
IMAGE_LOAD, IMAGE_STORE = "tilex.load_im2col_tko", "tilex.store_im2col_tko"
# The dimensions of a matrix product.
ROWS, COLUMNS = 0, 1
_WORDS = ("rows", "columns")
# Sums of other elements are rounded after each multiply.
_EXACT_ENOUGH = ("f32", "i32")
_JOINED = "it divides or joins what the blocks divide"


class NotDivisibleError(Exception):
    """The reason why the tile block cannot be divided, at a line of the user."""

    def __init__(self, reason: str, op: ir.OpView) -> None:
        super().__init__(reason)
        self.location: SourceLocation | None = source_location(op.operation.location)


def divided_rows(entry: ir.OpView, ctas: int, least_rows: int, along: int = ROWS) -> Divided:
    """The tiles of an entry that have the rows of a multiply; raises NotDivisibleError.

    Args:
        entry: a cuda_tile.entry, in which every constant of a divided tile has one use.
        ctas: the number of CTAs, a power of two.
        least_rows: the rows of a multiply that a CTA must have at least.
        along: ROWS, or COLUMNS for the columns of all multiplies, or of the last ones of chains, in place of the rows.
    """
    operations = list(operations_below(entry))
    multiplies = divided_multiplies(entry, along)
    if not multiplies:
        raise NotDivisibleError("it has no multiply whose rows can be divided", entry)
    are_chained = along == COLUMNS and any(map(is_chained, multiplies))
    divided: Divided = {}
    for op in multiplies:
        result = op.operation.results[0]
        extent = result.type.shape[along - 2]
        if result.type.rank != 2 or extent < ctas * least_rows:
            of_rank = "" if result.type.rank == 2 else " of rank 2"
            needed = f"{least_rows} {_WORDS[along]} of each multiply{of_rank}"
            raise NotDivisibleError(f"each of {ctas} blocks needs at least {needed}, which has {extent}", op)
        divided[result] = along
    for op in multiplies:
        near = _around(op.operation.results[0])
        _propagate(divided, [each for other in near for each in related(other, divided, combines=False)], op)
    _check_parts(divided, ctas, entry)
    for op in operations:
        _check_accesses(op, divided, stores_once=are_chained)
    return divided


def divided_multiplies(entry: ir.OpView, along: int) -> list[ir.OpView]:
    """The multiplies whose rows or columns are divided: of columns, those at the end of chains if there are some."""
    multiplies = operations_named(entry, DIVISIBLE_MULTIPLIES)
    chained = [op for op in multiplies if is_chained(op)] if along == COLUMNS else []
    return chained or multiplies


def is_chained(op: ir.OpView) -> bool:
    """Whether the left operand of a multiply derives from the product of another one."""
    return any(is_product(value) for value in reached(op.lhs, _operands_behind))


def _operands_behind(value: ir.Value) -> list[ir.Value]:
    owner = value.owner
    return [] if isinstance(owner, ir.Block) or owner.operation.regions or is_product(value) else list(owner.operands)


def divided_columns(entry: ir.OpView, ctas: int, least_elements: int, most_results: int) -> Divided:
    """The tiles of an entry that have the elements of a reduction along its dimension; raises NotDivisibleError.

    Args:
        entry: as for divided_rows.
        ctas: the number of CTAs, a power of two.
        least_elements: the elements along its dimension that a CTA must have of a divided reduction.
        most_results: the most elements of a result, which the CTAs exchange.
    """
    operations = list(operations_below(entry))
    divided: Divided = {}
    for op in operations:
        if op.operation.name == _REDUCE and op.operation.operands[0].type.shape[op.dim] >= ctas * least_elements:
            if prod(op.operation.results[0].type.shape) > most_results:
                raise NotDivisibleError(f"the blocks exchange at most {most_results} results of a reduction", op)
            _propagate(divided, [(op.operation.operands[0], op.dim)], op, combines=True)
    if not divided:
        reason = f"it has no multiply, and no reduction of {least_elements} elements per block, that can be divided"
        raise NotDivisibleError(reason, entry)
    for op in operations:
        if op.operation.name in STORES:
            _propagate(divided, _long_dimension(op, divided, ctas * least_elements), op, combines=True)
    _check_parts(divided, ctas, entry)
    for op in operations:
        _check_accesses(op, divided, stores_once=True)
    return divided


def _check_parts(divided: Divided, ctas: int, entry: ir.OpView) -> None:
    """A reshape may give a divided dimension fewer elements."""
    for value, dimension in divided.items():
        if value.type.shape[dimension] % ctas:
            raise NotDivisibleError(_JOINED, _maker(value) or entry)
    for op in operations_named(entry, (IMAGE_LOAD, IMAGE_STORE)):
        mode, pixels = op.view.type.mode, op.tile.type.shape[ROWS] // ctas
        if divided.get(op.tile) == ROWS and pixels not in TILE_PIXELS.get(mode, (pixels,)):
            expected = f"tiles of mode {mode} have {pixels_text(mode)} pixels"
            raise NotDivisibleError(f"{expected}, and a part of one would have {pixels}", op)


def _long_dimension(store: ir.OpView, divided: Divided, least: int) -> list[tuple[ir.Value, int]]:
    """The stored tile and its longest dimension, if that is long and no reduction relates it to a divided tile."""
    tile = store.value if store.operation.name == _POINTER_STORE else store.tile
    if tile in divided or not is_tile(tile) or max(tile.type.shape) < least:
        return []
    return [(tile, tile.type.shape.index(max(tile.type.shape)))]


def divided_tile(op: ir.Operation, divided: Divided) -> ir.Value | None:
    """The first operand or result of an operation that is divided."""
    return next((value for value in (*op.operands, *op.results) if value in divided), None)


def _propagate(divided: Divided, found: list[tuple[ir.Value, int]], origin: ir.OpView, combines: bool = False) -> None:
    while found:
        value, dimension = found.pop()
        if divided.get(value, dimension) != dimension:
            raise NotDivisibleError("a tile would be divided along two dimensions", _maker(value) or origin)
        if value in divided or not is_tile(value):
            continue
        divided[value] = dimension
        for op in _around(value):
            found += related(op, divided, combines)


def _maker(value: ir.Value) -> ir.OpView | None:
    return None if isinstance(value.owner, ir.Block) else value.owner.opview


def _around(value: ir.Value) -> list[ir.OpView]:
    """The operations that relate a value to others: its definition, its users, and the structures of terminators."""
    owner = value.owner
    found = [owner.owner.opview if isinstance(owner, ir.Block) else owner.opview]
    for use in value.uses:
        found.append(use.owner.operation.opview)
        if use.owner.operation.has_trait(ir.IsTerminatorTrait):
            found.append(left_by(use.owner))
    return found


# ---- the tiles that an operation relates to a divided one


def related(op: ir.OpView, divided: Mapping[ir.Value, int], combines: bool) -> list[tuple[ir.Value, int]]:
    """The tiles of an operation that are divided because others of it are; raises NotDivisibleError.

    The CTAs may combine the results of reductions along a divided dimension if `combines`.
    """
    if combines and op.operation.name == _REDUCE:
        return list(_of_reduce(op, divided))
    rule = _RULES.get(op.operation.name)
    if rule is not None:
        return list(rule(op, divided))
    if op.operation.has_trait(ir.IsTerminatorTrait):
        return []
    if op.operation.name in _WHOLE or not is_elementwise(op):
        word = op.operation.name.removeprefix("cuda_tile.")
        raise NotDivisibleError(f"'{word}' needs whole tiles", op)
    return list(_of_elements(op, divided))


# Elementwise operations that run once for the whole tile, or that state a property of the whole tile.
_WHOLE = ("cuda_tile.print_tko", "cuda_tile.assert", "cuda_tile.assume")


def _of_elements(op: ir.OpView, divided: Mapping[ir.Value, int]) -> Related:
    return _alike([value for value in (*op.operation.operands, *op.operation.results) if is_tile(value)], divided)


def _alike(values: list[ir.Value], divided: Mapping[ir.Value, int]) -> Related:
    """All of the values, with the dimension along which one of them is divided."""
    for dimension in {divided[value] for value in values if value in divided}:
        yield from ((value, dimension) for value in values)


def _of_multiply(op: ir.OpView, divided: Mapping[ir.Value, int]) -> Related:
    # With block scaling each operand has factors.
    lhs, rhs, accumulator, *factors = op.operation.operands
    sides = [[side, *factors[number : number + 1]] for number, side in enumerate((lhs, rhs))]
    result = op.operation.results[0]
    along = divided.get(result)
    if along is None:
        yield from _of_whole_multiply(op, divided)
        return
    for side, word, other in ((sides[ROWS], "left", COLUMNS), (sides[COLUMNS], "right", ROWS)):
        if along == other and any(operand in divided for operand in side):
            message = f"the {word} operand of a multiply derives from the {_WORDS[along]} of another"
            raise NotDivisibleError(message, op)
    yield from ((value, along) for value in (*sides[along], accumulator, result))


def _of_whole_multiply(op: ir.OpView, divided: Mapping[ir.Value, int]) -> Related:
    """A multiply before those whose columns are divided: it may have parts of its depth, which all CTAs multiply."""
    lhs, rhs, accumulator = list(op.operation.operands)[:3]
    if divided.get(lhs) == COLUMNS or divided.get(rhs) == ROWS:
        if op.operation.name not in PLAIN_MULTIPLIES or spell(op.acc.type.element) not in _EXACT_ENOUGH:
            raise NotDivisibleError("the sums of a multiply do not allow parts of its depth", op)
        yield from ((lhs, COLUMNS), (rhs, ROWS))
    sides = ((lhs, ROWS), (rhs, COLUMNS), (accumulator, ROWS), (accumulator, COLUMNS))
    yield from ((op.operation.results[0], along) for side, along in sides if divided.get(side) == along)


def _of_carried(op: ir.OpView, divided: Mapping[ir.Value, int]) -> Related:
    """The carried values of a loop or a branch, and its results."""
    for group in carried_groups(op):
        yield from _alike(group, divided)


def _of_broadcast(op: ir.OpView, divided: Mapping[ir.Value, int]) -> Related:
    source, result = op.operation.operands[0], op.operation.results[0]
    for value, other in ((source, result), (result, source)):
        dimension = divided.get(value)
        if dimension is not None and source.type.shape[dimension] > 1:
            yield other, dimension


def _of_whole_reduce(op: ir.OpView, divided: Mapping[ir.Value, int]) -> Related:
    is_whole = OF_PART not in op.operation.attributes
    if is_whole and any(divided.get(operand) == op.dim for operand in op.operation.operands):
        raise NotDivisibleError("a reduction along the rows of a multiply needs all of them", op)
    return _of_reduce(op, divided)


def _of_reduce(op: ir.OpView, divided: Mapping[ir.Value, int]) -> Related:
    along, operands, results = op.dim, list(op.operation.operands), list(op.operation.results)
    dimensions = {divided[value] for value in operands if value in divided}
    dimensions |= {divided[value] + (divided[value] >= along) for value in results if value in divided}
    for dimension in dimensions:
        yield from ((operand, dimension) for operand in operands)
        if dimension != along:
            yield from ((result, dimension - (dimension > along)) for result in results)


def _of_reshape(op: ir.OpView, divided: Mapping[ir.Value, int]) -> Related:
    source, result = op.operation.operands[0], op.operation.results[0]
    for value, other in ((source, result), (result, source)):
        if value in divided:
            found = outer_dimension(value.type.shape, other.type.shape, divided[value])
            if found is None:
                raise NotDivisibleError(_JOINED, op)
            yield other, found


def _of_permute(op: ir.OpView, divided: Mapping[ir.Value, int]) -> Related:
    source, result, order = op.operation.operands[0], op.operation.results[0], list(op.permutation)
    if source in divided:
        yield result, order.index(divided[source])
    if result in divided:
        yield source, order[divided[result]]


def _of_parts(op: ir.OpView, divided: Mapping[ir.Value, int]) -> Related:
    """Operations between tiles and parts of them, which keep the extent of a divided dimension."""
    tiles = [value for value in (*op.operation.operands, *op.operation.results) if is_tile(value)]
    for value, dimension in _of_elements(op, divided):
        if len({tile.type.shape[dimension] for tile in tiles}) > 1:
            raise NotDivisibleError(_JOINED, op)
        yield value, dimension


def _of_access(op: ir.OpView, divided: Mapping[ir.Value, int]) -> Related:
    view = op.view.type
    if isinstance(view, PackedViewType):
        # The last dimension has elements that share bytes.
        if divided.get(op.tile) == view.rank - 1:
            raise NotDivisibleError(_JOINED, op)
    elif isinstance(view, Im2colViewType):
        if view.interleave is not None:
            raise NotDivisibleError("the channels of images are in slices", op)
        if divided.get(op.tile) == ROWS and divides_rows(view) and known_tiles_of_row(view) is None:
            known = "the number and the width of which are not known: give them in the signature"
            raise NotDivisibleError(f"tiles of mode {view.mode} end with each row of the images, {known}", op)
    elif not isinstance(view, PartitionViewType):
        raise NotDivisibleError("it accesses a divided tile through a view without adjacent tiles", op)
    return iter(())


def _of_constant(op: ir.OpView, _divided: Mapping[ir.Value, int]) -> Related:
    if splat_attribute(op.operation.results[0]) is None:
        raise NotDivisibleError("a constant of different elements is divided", op)
    return iter(())


_RULES: dict[str, Callable[[ir.OpView, Mapping[ir.Value, int]], Related]] = {
    **dict.fromkeys(DIVISIBLE_MULTIPLIES, _of_multiply),
    **dict.fromkeys(STRUCTURES, _of_carried),
    "cuda_tile.broadcast": _of_broadcast,
    _REDUCE: _of_whole_reduce,
    "cuda_tile.reshape": _of_reshape,
    "cuda_tile.permute": _of_permute,
    # Elements and the bytes that hold them, both of rank 1.
    **{f"cuda_tile.{word}": _of_elements for word in ("pack", "unpack")},
    "cuda_tile.load_view_tko": _of_access,
    "cuda_tile.store_view_tko": _of_access,
    **dict.fromkeys((PACKED_LOAD, IMAGE_LOAD, IMAGE_STORE), _of_access),
    **{f"cuda_tile.{word}": _of_parts for word in ("extract", "insert", "cat")},
    "cuda_tile.constant": _of_constant,
    "cuda_tile.iota": lambda op, divided: iter(()),
}


# ---- accesses to memory


_POINTER_STORE = "cuda_tile.store_ptr_tko"
STORES = ("cuda_tile.store_view_tko", _POINTER_STORE, IMAGE_STORE)


def _check_accesses(op: ir.OpView, divided: Divided, stores_once: bool = False) -> None:
    """Every effect on memory happens in one CTA: those of divided tiles, and with `stores_once` all stores."""
    name = op.operation.name
    if name in (*LOADS, *STORES) and op.memory_ordering_semantics != "weak":
        raise NotDivisibleError("it synchronizes with other tile blocks", op)
    if name in LOADS or not any(isinstance(result.type, TokenType) for result in op.operation.results):
        return
    if name in ("cuda_tile.make_token", "cuda_tile.join_tokens") or op.operation.regions:
        return
    if name not in STORES or not (stores_once or any(value in divided for value in op.operation.operands)):
        raise NotDivisibleError("each block would repeat the access to memory", op)
