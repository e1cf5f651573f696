"""Divides the rows of all multiplies of an entry, or its long rows, among the CTAs that run its tile block.

    %a, %t = load_view_tko %v[%i, %k] : tile<256x64xf16>;  mmaf %a, %b, %c : tile<256x128xf32>
    ->  load_view_tko %w[%i * 2 + %cta, %k] : tile<128x64xf16>;  mmaf %a, %b, %c : tile<128x128xf32>

    %x, %t = load_view_tko %v[%i, %j] : tile<1x32768xf32>;  %m = reduce %x dim = 1 : tile<1xf32>
    ->  load_view_tko %w[%i, %j * 2 + %cta] : tile<1x16384xf32>;  %m = reduce %x dim = 1 {tilec.ctas = 2} : tile<1xf32>

The entry gets one more argument, the number of the CTA. Tiles that have no divided rows are computed in all CTAs. A
reduction with `tilec.ctas` combines the results of all CTAs, so that each of them has the whole result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tilec.dialect.build import attributes_without_segments, build
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.tilex.im2col_type import Im2colViewType
from tilec.dialect.walk import operations_below
from tilec.lowering.tile.analysis.bounds import greatest
from tilec.lowering.tile.analysis.constants import constant, integer_splat, splat_attribute, splat_elements
from tilec.lowering.tile.analysis.index_arithmetic import IndexArithmetic, broadcast
from tilec.lowering.tile.analysis.index_space import divides_rows, known_tiles_of_row
from tilec.lowering.tile.analysis.part_access import view_of_parts
from tilec.lowering.tile.analysis.replacing import replace
from tilec.lowering.tile.divide.depth_parts import add_depth_parts, check_depth
from tilec.lowering.tile.divide.divided_dimensions import (
    IMAGE_LOAD,
    IMAGE_STORE,
    PACKED_LOAD,
    ROWS,
    STORES,
    Divided,
    divided_columns,
    divided_rows,
    divided_tile,
)

# The attribute of a reduction whose results are combined: the number of CTAs.
COMBINED = "tilec.ctas"
# The least number of elements of a row in a CTA: the exchange takes as long as the load of about as many.
LEAST_ELEMENTS = 512
# The results of a reduction for which scratch memory has room, of 8 bytes in each of 8 CTAs.
MOST_RESULTS = 256


def divide_rows(
    entry: ir.OpView,
    ctas: int,
    least_rows: int,
    check: Callable[[ir.OpView, Divided], None] = lambda entry, tiles: None,
    along: int = ROWS,
) -> None:
    """Changes an entry in place; with `along` COLUMNS it divides columns, likewise.

    Raises NotDivisibleError, and leaves the entry as it was but for copies of constants, if a CTA would need rows of
    another one, or fewer than `least_rows` of a multiply, or if `check` raises it for the tiles to divide.
    """
    _divide(entry, ctas, check_divisible(entry, ctas, least_rows, check, along))


def check_divisible(
    entry: ir.OpView, ctas: int, least: int, check: Callable[[ir.OpView, Divided], None], along: int
) -> Divided:
    """The tiles that `divide_rows` divides; raises NotDivisibleError as it does, and divides nothing."""
    _copy_constants(entry)
    divided = divided_rows(entry, ctas, least, along)
    check(entry, divided)
    check_depth(entry, divided)
    return divided


def remove_argument(entry: ir.OpView, number: int) -> None:
    """Removes an argument of an entry that nothing uses."""
    inputs = list(entry.function_type.inputs)
    del inputs[number]
    entry.operation.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, []))
    if entry.arg_attrs is not None:
        attributes = [each for position, each in enumerate(entry.arg_attrs) if position != number]
        entry.operation.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)
    entry.body.blocks[0].erase_argument(number)


def divide_columns(
    entry: ir.OpView, ctas: int, check: Callable[[ir.OpView, Divided], None] = lambda entry, tiles: None
) -> None:
    """The same for the elements of long rows that reductions combine; LEAST_ELEMENTS of each are those of a CTA."""
    _copy_constants(entry)
    divided = divided_columns(entry, ctas, LEAST_ELEMENTS, MOST_RESULTS)
    check(entry, divided)
    _divide(entry, ctas, divided)


def _divide(entry: ir.OpView, ctas: int, divided: Divided) -> None:
    split = _Split(ctas, _number_of_cta(entry))
    parts = add_depth_parts(entry, ctas, split.cta, divided)
    for value, dimension in divided.items():
        value.set_type(TileType.get(_part_shape(value.type.shape, dimension, ctas), value.type.element))
    # Loads are replaced, so the divided tiles of all operations are found first.
    tiles = [
        (op, divided_tile(op.operation, divided)) for op in operations_below(entry) if op.operation.name in _REWRITES
    ]
    for op, tile in tiles:
        with ir.InsertionPoint(op.operation), op.location:
            if tile is not None:
                number = next((parts[result] for result in op.operation.results if result in parts), None)
                _REWRITES[op.operation.name](op, divided[tile], split if number is None else _Split(ctas, number))
            elif op.operation.name in STORES:
                _store_once(op, split.cta)


def _part_shape(shape: Sequence[int], dimension: int, ctas: int) -> list[int]:
    return [extent // ctas if d == dimension else extent for d, extent in enumerate(shape)]


@dataclass(frozen=True)
class _Split:
    """The number of CTAs, and the number of the CTA whose part an operation computes (a scalar of i32).

    Attributes:
        views: the views of parts of images, by the view of whole tiles and the shape of a part.
        indices: the indices of these parts, by the index of a tile, the block of the access and the tiles of a row.
    """

    ctas: int
    cta: ir.Value
    views: dict[tuple[ir.Value, tuple[int, ...]], ir.Value] = field(default_factory=dict)
    indices: dict[tuple[ir.Value, ir.Block, tuple[int, int] | None], ir.Value] = field(default_factory=dict)


def _copy_constants(entry: ir.OpView) -> None:
    """One constant for each use, because some uses may be of divided tiles."""
    for op in list(operations_below(entry)):
        if op.operation.name != "cuda_tile.constant" or not op.result.type.rank:
            continue
        for use in list(op.result.uses)[1:]:
            with ir.InsertionPoint(op.operation), op.location:
                use.owner.operation.operands[use.operand_number] = constant(op.result.type, op.value)


def _number_of_cta(entry: ir.OpView) -> ir.Value:
    """A new last argument of the entry."""
    block = entry.body.blocks[0]
    type = TileType.get((), ir.IntegerType.get_signless(32))
    argument = block.add_argument(type, entry.location)
    inputs = [*entry.function_type.inputs, type]
    entry.operation.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, []))
    if entry.arg_attrs is not None:
        entry.operation.attributes["arg_attrs"] = ir.ArrayAttr.get([*entry.arg_attrs, ir.DictAttr.get({})])
    return argument


# ---- operations that know the position or the values of their tile


def _divide_access(op: ir.OpView, dimension: int, split: _Split) -> None:
    """Accesses the part of the CTA, through a view whose tiles are the parts."""
    view = view_of_parts(op.view, _part_shape(op.view.type.tile_shape, dimension, split.ctas))
    indices = _common_width(list(op.index))
    indices[dimension] = _part_index(indices[dimension], split)
    _replace_access(op, view, indices, [])


def _divide_image_access(op: ir.OpView, dimension: int, split: _Split) -> None:
    """Accesses the part of the CTA; accesses at several taps have one view and one index, so that they share a run."""
    shape = tuple(_part_shape(op.view.type.tile_shape, dimension, split.ctas))
    if (op.view, shape) not in split.views:
        with ir.InsertionPoint.after(op.view.owner):
            split.views[op.view, shape] = view_of_parts(op.view, shape)
    indices = list(op.index)
    whole, part = op.view.type, split.views[op.view, shape].type
    counts = _tiles_of_row(whole, part, split) if dimension == ROWS else None
    key = indices[dimension], op.operation.block, counts
    if key not in split.indices:
        index = _common_width(indices)[dimension]
        split.indices[key] = _part_index(index, split) if counts is None else _part_in_row(index, split, *counts)
    indices[dimension] = split.indices[key]
    # Indices and taps have one type.
    _replace_access(op, split.views[op.view, shape], _common_width(indices), [_common_width(list(op.offset))])


def _replace_access(op: ir.OpView, view: ir.Value, indices: list[ir.Value], taps: list[list[ir.Value]]) -> None:
    operation = op.operation
    tile = [op.tile] if operation.name in STORES else []
    results = [result.type for result in operation.results]
    made = build(operation.name, [*tile, view, indices, *taps, op.token], results, attributes_without_segments(op))
    replace(op, made.results)


def _common_width(indices: list[ir.Value]) -> list[ir.Value]:
    """The indices, which are unsigned, in at least 32 bits."""
    type = TileType.get((), ir.IntegerType.get_signless(32))
    return [_cast(index, type) if index.type.element.width < 32 else index for index in indices]


def _part_index(index: ir.Value, split: _Split) -> ir.Value:
    """index * ctas + cta."""
    type, index, cta = index.type, _limited(index, split), _cast(split.cta, index.type)
    product = build("muli", [index, integer_splat(type, split.ctas)], [type]).result
    return build("addi", [product, cta], [type]).result


def _limited(index: ir.Value, split: _Split) -> ir.Value:
    """The index; one whose product with the CTAs does not fit is limited to one that is outside of every tensor."""
    type = index.type
    limit = (1 << type.element.width - 1) // split.ctas
    if 0 <= greatest(index) < limit:
        return index
    return build("mini", [index, integer_splat(type, limit)], [type], {"signedness": "unsigned"}).result


def _tiles_of_row(whole: Im2colViewType, part: Im2colViewType, split: _Split) -> tuple[int, int] | None:
    """The tiles and the parts that a row of the images has; None if the parts of all tiles are numbered in order."""
    if not divides_rows(whole):
        return None
    tiles, parts = known_tiles_of_row(whole), known_tiles_of_row(part)
    assert tiles is not None and parts is not None, "divided_rows requires them"
    return None if parts == split.ctas * tiles else (tiles, parts)


def _part_in_row(index: ir.Value, split: _Split, tiles: int, parts: int) -> ir.Value:
    """The number of a part, if a row has fewer parts than its tiles times the CTAs; the other CTAs have no pixels."""
    numbers = IndexArithmetic(index.type.element.width)
    row, tile = numbers.divided(_limited(index, split), tiles)
    part = numbers.made(numbers.sum([numbers.product([tile, split.ctas]), _cast(split.cta, index.type)]))
    number = numbers.sum([numbers.product([row, parts]), part])
    # The extents of a tensor are below this.
    outside = (1 << numbers.width - 1) - 1
    return numbers.made(numbers.select(numbers.is_less(part, parts), number, outside))


def _divide_constant(op: ir.OpView, _dimension: int, _split: _Split) -> None:
    result = op.operation.results[0]
    op.operation.attributes["value"] = splat_elements(result.type, splat_attribute(result))


def _divide_iota(op: ir.OpView, _dimension: int, split: _Split) -> None:
    """The numbers from cta * extent on."""
    result = op.operation.results[0]
    type = result.type
    users = list(result.uses)
    with ir.InsertionPoint.after(op.operation):
        scalar = TileType.get((), type.element)
        first = build("muli", [_cast(split.cta, scalar), integer_splat(scalar, type.shape[0])], [scalar]).result
        moved = build("addi", [result, broadcast(first, type.shape)], [type]).result
    for use in users:
        use.owner.operation.operands[use.operand_number] = moved


def _store_once(op: ir.OpView, cta: ir.Value) -> None:
    """The CTA of rank 0 stores a tile that all CTAs have."""
    store, token = op.operation, op.token
    attributes = {"comparison_predicate": "equal", "signedness": "signed"}
    condition = TileType.get((), ir.IntegerType.get_signless(1))
    first = build("cmpi", [cta, integer_splat(cta.type, 0)], [condition], attributes).result
    branch = build("if", [first], [store.results[0].type])
    store.results[0].replace_all_uses_with(branch.results[0])
    then, otherwise = (region.blocks.append() for region in branch.regions)
    with ir.InsertionPoint(then):
        store.move_before(build("yield", [store.results[0]]))
    with ir.InsertionPoint(otherwise):
        before = build("make_token", [], [store.results[0].type]).result if token is None else token
        build("yield", [before])


def _combine(op: ir.OpView, dimension: int, split: _Split) -> None:
    if dimension == op.dim:
        op.operation.attributes[COMBINED] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), split.ctas)


def _cast(value: ir.Value, type: TileType) -> ir.Value:
    if value.type == type:
        return value
    name = "exti" if type.element.width > value.type.element.width else "trunci"
    attributes = {"signedness": "unsigned"} if name == "exti" else {}
    return build(name, [value], [type], attributes).result


_REWRITES: dict[str, Callable[[ir.OpView, int, _Split], None]] = {
    "cuda_tile.load_view_tko": _divide_access,
    "cuda_tile.store_view_tko": _divide_access,
    PACKED_LOAD: _divide_access,
    **dict.fromkeys((IMAGE_LOAD, IMAGE_STORE), _divide_image_access),
    # The pointers are divided, and determine the addresses of the elements.
    "cuda_tile.store_ptr_tko": lambda op, dimension, split: None,
    "cuda_tile.constant": _divide_constant,
    "cuda_tile.iota": _divide_iota,
    "cuda_tile.reduce": _combine,
}
