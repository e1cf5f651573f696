"""Divides tiles of which only parts are used: loads, operations on one tile, and values that a `for` carries.

    %x = load_view_tko %v[%i] : tile<4x64x64xf16>;  extract %x[1, 0, 0] : tile<1x64x64xf16>
    ->  load_view_tko %w[%i * 4 + 1] : tile<1x64x64xf16>, where the tiles of view %w are the parts

By default only parts whose elements are consecutive are considered, so that accesses to memory stay contiguous.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tilec.dialect.build import attributes_without_segments, build
from tilec.dialect.cuda_tile.reduction_rules import effect_free
from tilec.dialect.cuda_tile.type_rules import tile_problem
from tilec.dialect.cuda_tile.types import PartitionViewType, TileType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.walk import operations_named
from tilec.element_types import element_type
from tilec.lowering.tile.bounds import bounds
from tilec.lowering.tile.carried import split_carried
from tilec.lowering.tile.constants import integer_splat, splat
from tilec.lowering.tile.elementwise import is_elementwise
from tilec.lowering.tile.remove_dead import remove_dead
from tilec.lowering.tile.replacing import replace_results
from tilec.lowering.tile.tile_parts import Part, part_of, reshaped

# Whether a part may be computed on its own.
Accepts = Callable[[Part], bool]
# L2 cache and memory are read in sectors of 32 bytes (CUDA programming guide, device memory accesses).
_SECTOR_BITS = 256


def split_tiles(module: ir.Module, accepts: Accepts = lambda part: part.is_run) -> None:
    """Changes a module in place, up to a fixed point; removes unused operations too.

    `accepts` selects the parts that are considered. Loads are divided into consecutive elements or whole sectors.
    """
    changed = True
    while changed:
        replace_results(module, {"extract": partial(_moved_up, accepts)})
        # A whole tile that nothing uses any more must not count as a use of its operands.
        remove_dead(module)
        loads = operations_named(module, ("cuda_tile.load_view_tko",))
        changed = sum(_split_load(accepts, op) for op in loads) > 0
        loops = operations_named(module, ("cuda_tile.for",), innermost_first=True)
        changed |= sum(_split_loop(accepts, op) for op in loops) > 0


def _accepted_part(accepts: Accepts, op: ir.OpView) -> Part | None:
    """The part that an extract selects, if it is considered."""
    part = part_of(op)
    return part if part is not None and accepts(part) else None


def _used_parts(accepts: Accepts, value: ir.Value) -> dict[ir.OpView, Part] | None:
    """The parts of a tile by extract; None unless all uses are parts of one shape that are considered."""
    found: dict[ir.OpView, Part] = {}
    for use in value.uses:
        op = use.owner
        part = _accepted_part(accepts, op) if op.operation.name == "cuda_tile.extract" else None
        if part is None:
            return None
        found[op] = part
    return found if len({part.shape for part in found.values()}) == 1 else None


# ---- extract of an operation -> the operation on a part


def _moved_up(accepts: Accepts, op: ir.OpView) -> ir.Value | None:
    part = _accepted_part(accepts, op)
    if part is None or isinstance(op.source.owner, ir.Block):
        return None
    maker = op.source.owner
    rule = _UPWARD.get(maker.operation.name.removeprefix("cuda_tile."))
    if rule is not None:
        return rule(accepts, maker, part)
    return _of_elements(maker, part) if _is_divisible(accepts, maker) else None


def _of_cat(accepts: Accepts, op: ir.OpView, part: Part) -> ir.Value | None:
    """A part that lies in one of the operands."""
    start = part.position[op.dim] * part.shape[op.dim]
    split = op.lhs.type.shape[op.dim]
    side, begin = (op.lhs, start) if start < split else (op.rhs, start - split)
    if begin % part.shape[op.dim] or begin + part.shape[op.dim] > side.type.shape[op.dim]:
        return None
    index = begin // part.shape[op.dim]
    position = tuple(index if d == op.dim else i for d, i in enumerate(part.position))
    return Part(side, position, part.shape).extracted()


def _of_broadcast(accepts: Accepts, op: ir.OpView, part: Part) -> ir.Value | None:
    repeated = [extent == 1 for extent in op.source.type.shape]
    position = tuple(0 if once else index for once, index in zip(repeated, part.position, strict=True))
    shape = tuple(1 if once else extent for once, extent in zip(repeated, part.shape, strict=True))
    if tile_problem(shape, op.source.type.element) is not None:
        return None
    source = Part(op.source, position, shape).extracted()
    type = TileType.get(part.shape, op.result.type.element)
    return source if source.type == type else build("broadcast", [source], [type]).result


def _of_permute(accepts: Accepts, op: ir.OpView, part: Part) -> ir.Value | None:
    """A permutation of a part, if that part is considered as well."""
    inverse = [list(op.permutation).index(d) for d in range(len(part.shape))]
    before = Part(op.source, tuple(part.position[d] for d in inverse), tuple(part.shape[d] for d in inverse))
    if not accepts(before):
        return None
    type = TileType.get(part.shape, op.result.type.element)
    return build("permute", [before.extracted()], [type], {"permutation": list(op.permutation)}).result


def _of_reshape(accepts: Accepts, op: ir.OpView, part: Part) -> ir.Value | None:
    """Consecutive elements are consecutive in every shape: the leading dimensions of the source divide them."""
    if not part.is_run:
        return None
    number, count = 0, 1
    for index, parts in zip(part.position, part.counts, strict=True):
        number, count = number * parts + index, count * parts
    position, shape = [], []
    for extent in op.source.type.shape:
        divided = min(extent, count)
        count //= divided
        position.append(number // count)
        number %= count
        shape.append(extent // divided)
    return reshaped(Part(op.source, tuple(position), tuple(shape)).extracted(), part.shape)


_UPWARD: dict[str, Callable[[Accepts, ir.OpView, Part], ir.Value | None]] = {
    "cat": _of_cat,
    "broadcast": _of_broadcast,
    "permute": _of_permute,
    "reshape": _of_reshape,
}


def _is_divisible(accepts: Accepts, op: ir.OpView) -> bool:
    """Whether an operation computes the elements of one tile, besides constants, and only parts are used."""
    if len(op.operation.results) != 1 or not is_elementwise(op) or not effect_free(op):
        return False
    varying = {operand for operand in op.operation.operands if splat(operand) is None}
    return len(varying) <= 1 and _used_parts(accepts, op.operation.results[0]) is not None


def _of_elements(op: ir.OpView, part: Part) -> ir.Value:
    operands = [Part(value, part.position, part.shape).extracted() for value in op.operation.operands]
    type = TileType.get(part.shape, op.operation.results[0].type.element)
    return build(op.operation.name, operands, [type], attributes_without_segments(op)).result


# ---- loads


def _split_load(accepts: Accepts, op: ir.OpView) -> bool:
    """Loads the parts of a tile through a view whose tiles are the parts."""
    tile, token = op.operation.results
    parts = _used_parts(accepts, tile)
    if parts is None or op.memory_ordering_semantics != "weak" or not isinstance(op.view.type, PartitionViewType):
        return False
    first = next(iter(parts.values()))
    if isinstance(op.view.owner, ir.Block) or tuple(tile.type.shape) == first.shape:
        return False
    if _divides_bytes(op.view.type, first.shape) or not (first.is_run or _has_whole_sectors(op.view.type, first)):
        return False
    with ir.InsertionPoint(op.operation), op.location:
        type = op.view.type
        of_parts = PartitionViewType.get(first.shape, type.tensor_view, type.dim_map, type.padding)
        view = build("make_partition_view", [op.view.owner.operands[0]], [of_parts]).result
        distinct = {part.position: part for part in parts.values()}
        made = {position: _load(op, view, distinct[position]) for position in sorted(distinct)}
        if list(token.uses):
            tokens = [each.results[1] for each in made.values()]
            token.replace_all_uses_with(_join(tokens))
    for extract, part in parts.items():
        extract.result.replace_all_uses_with(made[part.position].results[0])
        extract.operation.erase()
    op.operation.erase()
    return True


def _divides_bytes(view: PartitionViewType, part: Sequence[int]) -> bool:
    """Whether a part has only some of the elements of a byte of the view."""
    per_byte = element_type(spell(view.element)).per_byte
    adjacent = [part[k] for k, d in enumerate(view.dim_map) if view.tensor_view.strides[d] == 1]
    return any(extent % per_byte for extent in adjacent)


def _has_whole_sectors(view: PartitionViewType, part: Part) -> bool:
    """Whether a part is as long as the whole, or one sector at least, along each dimension contiguous in memory."""
    bits = element_type(spell(view.element)).storage_bits
    contiguous = [k for k, d in enumerate(view.dim_map) if view.tensor_view.strides[d] == 1]
    return all(part.counts[k] == 1 or part.shape[k] * bits >= _SECTOR_BITS for k in contiguous)


def _load(op: ir.OpView, view: ir.Value, part: Part) -> ir.Operation:
    indices, counts = list(op.index), part.counts
    if not all(map(_product_fits, indices, counts)):
        indices = [_widened(index, count) for index, count in zip(indices, counts, strict=True)]
    indices = [_part_index(*each) for each in zip(indices, counts, part.position, strict=True)]
    types = [TileType.get(part.shape, part.whole.type.element), op.operation.results[1].type]
    return build("load_view_tko", [view, indices, op.token], types, attributes_without_segments(op))


def _join(tokens: list[ir.Value]) -> ir.Value:
    return tokens[0] if len(tokens) == 1 else build("join_tokens", tokens, [tokens[0].type]).result


def _product_fits(index: ir.Value, count: int) -> bool:
    """Whether (index + 1) * count fits the type of an index, which is unsigned."""
    width, known = index.type.element.width, bounds(index)
    greatest = known.high if known.low >= 0 else (1 << width) - 1
    return count == 1 or (greatest + 1) * count <= 1 << width - 1


def _widened(index: ir.Value, count: int) -> ir.Value:
    """The index in 64 bits, limited so that its product with `count` fits; tiles that far are outside every tensor."""
    wide = TileType.get((), ir.IntegerType.get_signless(64))
    if index.type != wide:
        return build("exti", [index], [wide], {"signedness": "unsigned"}).result
    limit = integer_splat(wide, (1 << 63) // count - 1)
    return index if count == 1 else build("mini", [index, limit], [wide], {"signedness": "unsigned"}).result


def _part_index(index: ir.Value, count: int, number: int) -> ir.Value:
    """index * count + number."""
    if count == 1:
        return index
    product = build("muli", [index, integer_splat(index.type, count)], [index.type]).result
    return build("addi", [product, integer_splat(index.type, number)], [index.type]).result


# ---- loops


def _split_loop(accepts: Accepts, op: ir.OpView) -> bool:
    """Carries the parts of the first carried tile that is only used in parts; a loop is rebuilt for each."""
    for index, argument in enumerate(op.carried):
        parts = _used_parts(accepts, argument) if isinstance(argument.type, TileType) else None
        if parts is not None and next(iter(parts.values())).shape != tuple(argument.type.shape):
            split_carried(op, index, parts)
            return True
    return False
