"""Divides tiles of which only parts are used: loads, operations on one tile, and values that a `for` carries.

A carried tile that is only read in another shape of fewer dimensions is carried in that shape.

    %x = load_view_tko %v[%i] : tile<4x64x64xf16>;  extract %x[1, 0, 0] : tile<1x64x64xf16>
    ->  load_view_tko %w[%i * 4 + 1] : tile<1x64x64xf16>, where the tiles of view %w are the parts

By default only parts whose elements are consecutive are considered, so that accesses to memory stay contiguous.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tilec.dialect.build import attributes_without_segments, build
from tilec.dialect.cuda_tile.reduction_rules import effect_free
from tilec.dialect.cuda_tile.type_rules import tile_problem
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_named
from tilec.lowering.tile.analysis.carried import split_carried
from tilec.lowering.tile.analysis.constants import splat_attribute
from tilec.lowering.tile.analysis.part_access import (
    divides_bytes,
    has_whole_sectors,
    is_divisible_access,
    join_tokens,
    load_part,
    view_of_parts,
)
from tilec.lowering.tile.analysis.replacing import replace_results
from tilec.lowering.tile.analysis.tile_operations import is_elementwise
from tilec.lowering.tile.analysis.tile_parts import Part, kept_dimension, part_of, reshaped
from tilec.lowering.tile.simplify.remove_dead import remove_dead

# Whether a part may be computed on its own.
Accepts = Callable[[Part], bool]


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
    return _of_elements(maker, part) if _is_divisible(accepts, maker, part) else None


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
    before = _before_permute(op, part)
    if not accepts(before):
        return None
    type = TileType.get(part.shape, op.result.type.element)
    return build("permute", [before.extracted()], [type], {"permutation": list(op.permutation)}).result


def _before_permute(op: ir.OpView, part: Part) -> Part:
    inverse = [list(op.permutation).index(d) for d in range(len(part.shape))]
    return Part(op.source, tuple(part.position[d] for d in inverse), tuple(part.shape[d] for d in inverse))


def _of_reshape(accepts: Accepts, op: ir.OpView, part: Part) -> ir.Value | None:
    """Consecutive elements are consecutive in every shape: the leading dimensions of the source divide them.

    Other parts have the same dimensions if only extents of one differ.
    """
    if not part.is_run:
        return _of_moved_ones(op, part)
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


def _of_moved_ones(op: ir.OpView, part: Part) -> ir.Value | None:
    source = tuple(op.source.type.shape)
    position, shape = [0] * len(source), list(source)
    for dimension, extent in enumerate(op.result.type.shape):
        kept = kept_dimension(source, op.result.type.shape, dimension) if extent > 1 else None
        if extent > 1 and kept is None:
            return None
        if kept is not None:
            position[kept], shape[kept] = part.position[dimension], part.shape[dimension]
    return reshaped(Part(op.source, tuple(position), tuple(shape)).extracted(), part.shape)


_UPWARD: dict[str, Callable[[Accepts, ir.OpView, Part], ir.Value | None]] = {
    "cat": _of_cat,
    "broadcast": _of_broadcast,
    "permute": _of_permute,
    "reshape": _of_reshape,
}


def _is_divisible(accepts: Accepts, op: ir.OpView, part: Part) -> bool:
    """Whether an operation computes the elements of one tile, besides constants, and only parts are used.

    The parts of that tile must be computed as well, or each would be converted on its own for nothing.
    """
    if not _computes_elements(op) or _used_parts(accepts, op.operation.results[0]) is None:
        return False
    varying = _varying(op, part)
    return len(varying) <= 1 and all(_is_computed_in_parts(accepts, value, part) for value in varying)


def _is_computed_in_parts(accepts: Accepts, value: ir.Value, part: Part) -> bool:
    """Whether no permutation, and no operation on the elements of several tiles, keeps a tile whole."""
    if isinstance(value.owner, ir.Block):
        return True
    maker = value.owner
    if maker.operation.name == "cuda_tile.permute":
        return accepts(_before_permute(maker, part))
    if not _computes_elements(maker):
        return True
    varying = _varying(maker, part)
    return len(varying) <= 1 and all(_is_computed_in_parts(accepts, each, part) for each in varying)


def _computes_elements(op: ir.OpView) -> bool:
    return len(op.operation.results) == 1 and is_elementwise(op) and effect_free(op)


def _varying(op: ir.OpView, part: Part) -> set[ir.Value]:
    """The operands whose part is not a constant, or the broadcast of a whole tile."""
    operands = {operand for operand in op.operation.operands if splat_attribute(operand) is None}
    return {operand for operand in operands if not _repeats_whole(operand, part)}


def _repeats_whole(value: ir.Value, part: Part) -> bool:
    """Whether a part of a tile is the broadcast of the same source as the tile."""
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != "cuda_tile.broadcast":
        return False
    extents = zip(value.owner.source.type.shape, part.counts, strict=True)
    return all(extent == 1 or count == 1 for extent, count in extents)


def _of_elements(op: ir.OpView, part: Part) -> ir.Value:
    operands = [Part(value, part.position, part.shape).extracted() for value in op.operation.operands]
    type = TileType.get(part.shape, op.operation.results[0].type.element)
    return build(op.operation.name, operands, [type], attributes_without_segments(op)).result


# ---- loads


def _split_load(accepts: Accepts, op: ir.OpView) -> bool:
    """Loads the parts of a tile through a view whose tiles are the parts."""
    tile, token = op.operation.results
    parts = _used_parts(accepts, tile)
    if parts is None or not is_divisible_access(op):
        return False
    first = next(iter(parts.values()))
    if tuple(tile.type.shape) == first.shape or divides_bytes(op.view.type, first.shape):
        return False
    if not (first.is_run or has_whole_sectors(op.view.type, first)):
        return False
    with ir.InsertionPoint(op.operation), op.location:
        view = view_of_parts(op.view, first.shape)
        distinct = {part.position: part for part in parts.values()}
        made = {position: load_part(op, view, distinct[position]) for position in sorted(distinct)}
        if list(token.uses):
            token.replace_all_uses_with(join_tokens([each.results[1] for each in made.values()]))
    for extract, part in parts.items():
        extract.result.replace_all_uses_with(made[part.position].results[0])
        extract.operation.erase()
    op.operation.erase()
    return True


# ---- loops


def _split_loop(accepts: Accepts, op: ir.OpView) -> bool:
    """Changes the first carried tile that is only used in parts, or reshaped; a loop is rebuilt for each."""
    for index, argument in enumerate(op.carried):
        if not isinstance(argument.type, TileType):
            continue
        parts = _used_parts(accepts, argument)
        if parts is not None and next(iter(parts.values())).shape != tuple(argument.type.shape):
            split_carried(op, index, parts)
            return True
        reshapes = _used_reshaped(argument)
        if reshapes is not None:
            whole = Part(argument, (0,) * argument.type.rank, tuple(argument.type.shape))
            split_carried(op, index, dict.fromkeys(reshapes, whole), reshapes[0].result.type.shape)
            return True
    return False


def _used_reshaped(value: ir.Value) -> list[ir.OpView] | None:
    """The uses of a tile if all are reshapes to one shape of fewer dimensions, else None."""
    users = [use.owner for use in value.uses]
    if any(user.operation.name != "cuda_tile.reshape" for user in users):
        return None
    types = {user.result.type for user in users}
    return users if len(types) == 1 and next(iter(types)).rank < value.type.rank else None
