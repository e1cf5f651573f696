"""Tiles of chains of multiplies in loops, for whose rings shared memory is short: halves of their rows.

    %k = load : 128x256;  %s = mmaf %q, permute %k, %z : 128x256, 256x128
    ->  %k0 = load : 128x128;  %k1 = load : 128x128
        %s0 = mmaf %q0, permute %k0, %z : 128x128, 128x128;  %s = mmaf %q1, permute %k1, %s0

    %v = load : 128x256;  %o = mmaf %p, %v, %c : 128x128, 128x256   ->   cat(mmaf %p, %v0, %c0, mmaf %p, %v1, %c1)

While a half is multiplied, the slot of the other one is loaded. Tensor cores add the products of a tile in the order of
its depth, so that no sum of f32 or integers changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import prod

from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_named
from tilec.lowering.matrix_unit import accumulates_in_registers
from tilec.lowering.plan.matrix.operand_source import OperandSource, is_only_multiplied, operand_source
from tilec.lowering.target import Target
from tilec.lowering.tile.analysis.part_access import is_divisible_access
from tilec.lowering.tile.analysis.tile_operations import in_loop, matrix_multiplies
from tilec.lowering.tile.divide.divide_stores import SLICE_BYTES
from tilec.lowering.tile.divide.multiply_parts import halve_depth, halve_multiply
from tilec.lowering.tile.divide.split_tiles import split_tiles
from tilec.lowering.tile_to_gpu.access.alignment import element_bits

# One slot is multiplied while the other is loaded; a tile that a later multiply of the chain reads too stays longer.
_SLOTS, _SLOTS_OF_TWO = 2, 3
# Rows of the widest swizzle of shared memory (PTX ISA 5.5.7): narrower ones would need more copies.
_ROW_BITS = 1024
_BITS_PER_BYTE = 8
# Marks an entry whose tiles are halves, which a compile of its text leaves.
_HALVED = "tilec.halved"
# With subnormal results they take more registers than threads have beside halves: ptxas spilled up to 76 bytes.
_EXPONENTIALS = ("cuda_tile.exp", "cuda_tile.exp2")
_COLUMNS = 1
# The dimension along the depth of each operand: lhs and rhs.
_DEPTH = (1, 0)

# A multiply, the number of an operand, and the dimension of the operand along the rows of the tile that it is.
_Use = tuple[ir.Operation, int, int | None]
# By loaded tile.
_Uses = Mapping[ir.Value, Sequence[_Use]]


def has_halves(module: ir.Module, target: Target) -> bool:
    """Whether `halve_operands` would change a module."""
    return bool(_uses_of_halves(module, target))


def halve_operands(module: ir.Module, target: Target) -> None:
    """Changes a module in place: multiplies read halves of the tiles that have them."""
    for op, (number, along) in _uses_of_halves(module, target).items():
        if along == _DEPTH[number]:
            halve_depth(op.opview)
        else:
            halve_multiply(op.opview, _COLUMNS)
    split_tiles(module, accepts=lambda part: True)
    for entry in operations_named(module, ("cuda_tile.entry",)):
        entry.attributes[_HALVED] = ir.UnitAttr.get()


def _uses_of_halves(module: ir.Module, target: Target) -> dict[ir.Operation, tuple[int, int | None]]:
    """The multiplies to halve, each with the number and the dimension of an operand that is loaded in halves."""
    entries = operations_named(module, ("cuda_tile.entry",))
    if accumulates_in_registers(target) or any(_HALVED in entry.attributes for entry in entries):
        return {}
    if any(in_loop(op) and not getattr(op, "flush_to_zero", False) for op in operations_named(module, _EXPONENTIALS)):
        return {}
    multiplies = matrix_multiplies(module)
    uses = defaultdict[ir.Value, list[_Use]](list)
    for op in multiplies:
        for number, value in enumerate((op.lhs, op.rhs)):
            source = operand_source(value)
            if isinstance(source, OperandSource):
                uses[source.load.operation.results[0]].append((op.operation, number, _dimension_of_rows(source)))
    if not _is_chain(multiplies, uses) or not _is_short(uses, target):
        return {}
    halved = _halved_tiles(uses)
    if not any(in_loop(tile.owner) for tile in halved):
        return {}
    return {op: (number, along) for tile in halved for op, number, along in uses[tile]}


def _dimension_of_rows(source: OperandSource) -> int | None:
    """The dimension of an operand along the rows in memory of the tile that is loaded; None if it has none."""
    along = None if source.merges_rows else _row_dimension(source.load)
    return source.dimensions.index(along) if along in source.dimensions else None


def _row_dimension(load: ir.OpView) -> int | None:
    """The dimension of a loaded tile that is contiguous in memory; None if none is, or if the view is another one."""
    type = load.view.type
    if not is_divisible_access(load):
        return None
    strides = [type.tensor_view.strides[d] for d in type.dim_map]
    return strides.index(1) if strides.count(1) == 1 else None


def _is_chain(multiplies: list[ir.OpView], uses: _Uses) -> bool:
    """Whether threads compute an operand of a multiply in a loop, from another product or from loaded tiles."""
    loaded = {(op, number) for found in uses.values() for op, number, _ in found}
    return any(in_loop(op) and (op.operation, 0) not in loaded for op in multiplies)


def _is_short(uses: _Uses, target: Target) -> bool:
    """Whether shared memory lacks the slots of rings that hide the latency of loads."""
    always, rings = SLICE_BYTES, defaultdict[ir.Block, int](int)
    for tile, found in uses.items():
        if in_loop(tile.owner):
            rings[tile.owner.operation.block] += _bytes(tile) * (_SLOTS if len(found) == 1 else _SLOTS_OF_TWO)
        else:
            always += _bytes(tile)
    return max(rings.values(), default=0) + always > target.shared_bytes


def _bytes(tile: ir.Value) -> int:
    return prod(tile.type.shape) * element_bits(tile.type.element) // _BITS_PER_BYTE


def _halved_tiles(uses: _Uses) -> set[ir.Value]:
    """The tiles that multiplies can read in halves: with all others along whose depth they are multiplied."""
    found = {tile for tile in uses if _has_halves(tile)}
    operands = {(op, number): tile for tile in found for op, number, _ in uses[tile]}
    while True:
        kept = {tile for tile in found if all(_is_halved(use, operands, found) for use in uses[tile])}
        if kept == found:
            return found
        found = kept


def _has_halves(tile: ir.Value) -> bool:
    along = _row_dimension(tile.owner)
    if along is None or not is_only_multiplied(tile) or list(tile.owner.result_token.uses):
        return False
    return tile.type.shape[along] * element_bits(tile.type.element) >= 2 * _ROW_BITS


def _is_halved(use: _Use, operands: Mapping[tuple[ir.Operation, int], ir.Value], found: set[ir.Value]) -> bool:
    """Whether a multiply can read an operand in halves."""
    op, number, along = use
    if along == _DEPTH[number]:
        # Sums of f16 are rounded after each multiply.
        is_exact = not isinstance(op.opview.acc.type.element, ir.F16Type)
        return is_exact and operands.get((op, 1 - number)) in found
    return number == 1 and along == _COLUMNS
