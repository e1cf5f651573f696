"""The view load that an operand of a multiply comes from, through the operations that fold into its shared layout.

Or the sums of another multiply from which an lhs is computed, so that it may stay in registers or tensor memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.walk import reached
from tilec.errors import SourceLocation
from tilec.lowering.layout.conversion import RegisterMove, conversion
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.matrix_unit import MatrixUnit
from tilec.lowering.tile.analysis.tile_operations import (
    FOR,
    MULTIPLIES,
    VIEW_LOADS,
    carried_sources,
    is_elementwise,
    is_product,
)
from tilec.lowering.tile_to_gpu.access.alignment import contiguous_dimension, per_byte

_CONVERSION, _RESHAPE, _UNPACK = "cuda_tile.ftof", "cuda_tile.reshape", "cuda_tile.unpack"
_POINTER_LOAD, _VIEW_LOAD = "cuda_tile.load_ptr_tko", "cuda_tile.load_view_tko"
_CODES, _NEGATION = "tilex.bitcast", "cuda_tile.negf"
FOLDED = ("cuda_tile.permute", _RESHAPE, _UNPACK, _CONVERSION, _CODES, _NEGATION)
_ADVICE = ": change the array in an earlier kernel"
# For each dimension of an operand the dimensions of a tile that have its elements, from the outermost.
_Dimensions = tuple[tuple[int, ...], tuple[int, ...]]
_PLAIN: _Dimensions = ((0,), (1,))


@dataclass(frozen=True)
class OperandSource:
    """Operand dimension i is dimension dimensions[i] of the tile that `load` reads; the others have one element.

    With `rounds_to_tf32` the tile is of f32 and the operand is its rounding to the nearest tf32. If the elements of the
    operand share bytes, the tile may be of these bytes, which hold elements along its last dimension. With
    `merges_rows` the rows of the operand are those of several dimensions of the tile in their order, the first of
    which is in `dimensions`. The elements may be negated.
    """

    load: ir.OpView
    dimensions: tuple[int, int]
    rounds_to_tf32: bool = False
    merges_rows: bool = False
    is_negated: bool = False


def load_location(operand: ir.Value) -> SourceLocation | None:
    """Where the tile of an operand is loaded; None if it is computed."""
    source = operand_source(operand)
    return None if isinstance(source, str) else source_location(source.load.operation.location)


def operand_source(operand: ir.Value) -> OperandSource | str:
    """The view load that a matrix operand comes from, or the reason why registers must prepare it."""
    value, dimensions, rounds, is_negated = operand, _PLAIN, False, False
    while True:
        op = value.owner
        if isinstance(op, ir.Block):
            return "the operand is carried by a loop or comes out of a branch"
        name = op.operation.name
        if name in VIEW_LOADS:
            if rounds and not _is_rounded_by_all(value):
                return "the tile is used as f32 too"
            if any(len(members) > 1 for members in dimensions) and not _are_rows(op, dimensions):
                return f"the operand is computed by '{_RESHAPE}', which a copy to shared memory cannot do{_ADVICE}"
            first, second = dimensions
            merges_rows = dimensions != ((first[0],), (second[0],))
            return OperandSource(op, (first[0], second[0]), rounds, merges_rows, is_negated)
        if name == _POINTER_LOAD:
            return "the operand is loaded through pointers: load it as a tile of a view"
        if name not in FOLDED:
            return f"the operand is computed by '{name}'"
        stored = _stored_bytes(op)
        if stored is not None:
            value = stored
            continue
        source = op.operands[0]
        moved = _through(name, op, source, dimensions)
        if moved is None:
            advice = "" if isinstance(operand_source(source), str) else _ADVICE
            return f"the operand is computed by '{name}', which a copy to shared memory cannot do{advice}"
        value, dimensions, rounds = source, moved, rounds or name == _CONVERSION
        is_negated ^= name == _NEGATION


def _stored_bytes(op: ir.OpView) -> ir.Value | None:
    """The tile of bytes whose rows are unpacked to the rows of the result: reshape(unpack(reshape(bytes))); or None."""
    if op.operation.name != _RESHAPE:
        return None
    unpack = op.source.owner
    if isinstance(unpack, ir.Block) or unpack.operation.name != _UNPACK:
        return None
    flat, (*rows, length) = unpack.source.owner, op.result.type.shape
    parts = per_byte(op.result.type.element)
    if parts == 1 or isinstance(flat, ir.Block) or flat.operation.name != _RESHAPE:
        return None
    return flat.source if list(flat.source.type.shape) == [*rows, length // parts] else None


def _is_rounded_by_all(value: ir.Value) -> bool:
    """Whether every use of a tile of f32 rounds it to the nearest tf32, so that the load may."""
    for use in value.uses:
        user = use.owner
        name = user.operation.name
        if name == _CONVERSION:
            if not _rounds_to_tf32(user):
                return False
        elif name not in FOLDED or not _is_rounded_by_all(user.operation.results[0]):
            return False
    return True


def is_rounded_by_tma(operand: ir.Value) -> bool:
    """Whether an operand is the rounding to tf32 of a tile that TMA may round."""
    source = operand_source(operand)
    return isinstance(source, OperandSource) and source.rounds_to_tf32


def is_only_multiplied(tile: ir.Value) -> bool:
    """Whether multiplies alone read a tile, through operations that fold into its shared layout."""
    for use in tile.uses:
        user = use.owner.operation
        if user.name in FOLDED:
            if not is_only_multiplied(user.results[0]):
                return False
        elif user.name not in MULTIPLIES or tile not in (user.opview.lhs, user.opview.rhs):
            return False
    return True


def _rounds_to_tf32(op: ir.OpView) -> bool:
    """A TMA load through a map of tf32 rounds f32 to nearest even only (docs/decisions/multiplies.md, "tf32")."""
    op = op.operation.opview
    elements = spell(op.from_.type.element), spell(op.to.type.element)
    return elements == ("f32", "tf32") and op.rounding_mode == "nearest_even"


def _through(name: str, op: ir.OpView, source: ir.Value, dimensions: _Dimensions) -> _Dimensions | None:
    if name == "cuda_tile.permute":
        permutation = list(op.permutation)
        first, second = (tuple(permutation[d] for d in members) for members in dimensions)
        return first, second
    if name == _RESHAPE:
        shapes = source.type.shape, op.results[0].type.shape
        first, second = (_before_reshape(*shapes, members) for members in dimensions)
        return (first, second) if first and second else None
    return dimensions if name in (_CODES, _NEGATION) or _rounds_to_tf32(op) else None


def _before_reshape(source: Sequence[int], result: Sequence[int], members: Sequence[int]) -> tuple[int, ...]:
    """The dimensions of the source of a reshape with the elements of dimensions of the result; none if none have."""
    wide = [d for d in members if result[d] > 1]
    if not wide or prod(result[d] for d in wide) != prod(result[wide[0] : wide[-1] + 1]) or wide != sorted(wide):
        return ()
    inner, last = prod(result[wide[-1] + 1 :]), prod(result[wide[0] :])
    found = tuple(d for d, extent in enumerate(source) if extent > 1 and inner <= prod(source[d + 1 :]) < last)
    is_whole = prod(source[found[0] :]) == last and prod(source[found[-1] + 1 :]) == inner if found else False
    return found if is_whole else ()


def _are_rows(load: ir.OpView, dimensions: _Dimensions) -> bool:
    """Whether TMA copies the rows of several dimensions of a tile one after the other, in the order of an operand."""
    if load.operation.name != _VIEW_LOAD or hasattr(load.view.type, "sparse_dim"):
        return False
    contiguous = contiguous_dimension(load.view.type)
    merged = [members for members in dimensions if len(members) > 1]
    return all(contiguous not in members and list(members) == sorted(members) for members in merged)


def register_lhs_layout(
    lhs: ir.Value, unit: MatrixUnit, warps: int, unit_of: Callable[[ir.Value], MatrixUnit | None]
) -> LinearLayout | None:
    """The layout of an lhs that stays in registers: each thread computes the elements that it multiplies; or None.

    `unit_of` is the unit of an earlier multiply by its result.
    """
    # The shape of a product of the unit has an accumulator layout; other tiles may be too narrow for one.
    if unit.lhs_layout is None or not any(unit_of(found) is unit for found in sums_behind(lhs)):
        return None
    wanted = unit.lhs_layout(lhs.type.shape, warps, spell(lhs.type.element))
    sums = unit.accumulator_layout(lhs.type.shape, warps, spell(lhs.type.element))
    return wanted if isinstance(conversion(sums, wanted), RegisterMove) else None


def sums_behind(tile: ir.Value) -> Iterator[ir.Value]:
    """The results of multiplies from which a tile is computed element by element."""
    return filter(is_product, values_behind(tile))


def values_behind(tile: ir.Value) -> Iterator[ir.Value]:
    """A tile and the values from which it is computed element by element."""
    return reached(tile, _sources)


def _sources(value: ir.Value) -> list[ir.Value]:
    op = value.owner
    if isinstance(op, ir.Block) or is_product(value):
        return []
    if op.operation.name == FOR:
        return carried_sources(value) or []
    return list(op.operation.operands) if is_elementwise(op) else []
