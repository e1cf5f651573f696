"""Multiplies of deep tiles -> multiplies of parts of their depth, so that a ring of loads has several slots.

    for %k in (0 to %n, step 1) { load %a[%i, %k];  load %b[%k, %j];  mmaf : tile<128x256xf16>, tile<256x128xf16> }
->  for %p in (0 to 4 * %n, step 1) { load %c[%i, %p];  load %d[%p, %j];  mmaf : tile<128x64xf16>, tile<64x128xf16> }

In a loop with other operations on tiles, and outside of loops, the parts have a loop of their own:

->  for %p in (0 to 4, step 1) { load %c[%i, 4 * %k + %p];  load %d[4 * %k + %p, %j];  mmaf }

Tensor cores add the products of a tile in the order of its depth, so that no sum of f32 or integers changes.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from tilec.dialect.build import attributes_without_segments, build
from tilec.dialect.cuda_tile.reduction_rules import effect_free
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.walk import operations_in, operations_named, users_of
from tilec.element_types import element_type
from tilec.lowering.layout.scale_layout import ATOM_FACTORS
from tilec.lowering.tile.analysis.bounds import bounds
from tilec.lowering.tile.analysis.condition import integer, widened, width
from tilec.lowering.tile.analysis.constants import integer_splat, splat
from tilec.lowering.tile.analysis.part_access import first_indices, is_divisible_access, view_of_parts
from tilec.lowering.tile.analysis.tile_operations import (
    DIVISIBLE_MULTIPLIES,
    SCALED_MULTIPLIES,
    is_elementwise,
    is_tile,
)
from tilec.lowering.tile.analysis.tile_parts import outer_dimension

# With fewer slots, loads wait for most of a multiply; with this number, a slot is read while the others are loaded.
_FEWEST_SLOTS, _SLOTS = 3, 4
# wgmma has nothing in flight at the end of an inner loop, which costs more than the second of two slots.
_FEWEST_SLOTS_INSIDE = 2
# Rows of the widest swizzle of shared memory and of the next one (PTX ISA 5.5.7).
_ROW_BITS, _HALF_ROW_BITS = 1024, 512
_BITS_PER_BYTE = 8
# The dimension along the depth of each operand, lhs or rhs, or of its scale factors.
_DEPTH = (1, 0)
_ACCUMULATOR = 2


@dataclass(frozen=True)
class _Operand:
    """A tile that a multiply reads.

    Attributes:
        load: the load of its elements.
        dimension: the dimension of the loaded tile along the depth.
        behind: the operations on the loaded tile in order, each with the dimension of its result along the depth.
    """

    load: ir.OpView
    dimension: int
    behind: tuple[tuple[ir.OpView, int], ...]


@dataclass(frozen=True)
class _Multiply:
    """A multiply whose operands, and their scale factors, are loaded in its block."""

    op: ir.OpView
    operands: tuple[_Operand, ...]

    def most_parts(self, row_bits: int) -> int:
        """The parts whose rows have these bits, of the operand with fewer bits, and whole words of scale factors."""
        least_depth = row_bits // min(_element_bits(each.load.tile.type) for each in self.operands[: len(_DEPTH)])
        most = self.op.lhs.type.shape[1] // least_depth
        if self.op.operation.name in SCALED_MULTIPLIES:
            return min(most, self.op.lhs_scale.type.shape[1] // ATOM_FACTORS)
        return most

    @property
    def operations(self) -> list[ir.Operation]:
        """The multiply and the operations that compute its operands, each after its users."""
        behind = ([*(op for op, _ in reversed(each.behind)), each.load] for each in self.operands)
        return [op.operation for op in (self.op, *itertools.chain.from_iterable(behind))]


def divide_depth(module: ir.Module, ring_bytes: int) -> None:
    """Changes a module in place so that rings of its loads have several slots in the shared memory for them."""
    blocks = defaultdict[ir.Block, list[_Multiply]](list)
    for op in operations_named(module, DIVISIBLE_MULTIPLIES):
        multiply = _multiply(op)
        if multiply is not None:
            blocks[op.operation.block].append(multiply)
    for block, multiplies in blocks.items():
        parts = _parts(multiplies, _FEWEST_SLOTS, ring_bytes)
        if parts > 1 and _only_multiplies(block, multiplies, parts):
            _divide_loop(block.owner.opview, multiplies, parts)
            continue
        for multiply in filter(_uses_alone, multiplies):
            parts = _parts([multiply], _FEWEST_SLOTS_INSIDE, ring_bytes)
            if parts > 1:
                _divide(multiply, parts)


def _parts(multiplies: Sequence[_Multiply], fewest_slots: int, ring_bytes: int) -> int:
    """The parts of the depth of multiplies that share memory; 1 if a ring of whole tiles has enough slots."""
    loads = {operand.load.operation: operand.load for each in multiplies for operand in each.operands}
    slot_bytes = sum(_bits(load.tile.type) for load in loads.values()) // _BITS_PER_BYTE
    parts = 1
    # Narrower rows, which take more copies, are for rings that whole rows leave too short.
    for row_bits, slots in ((_ROW_BITS, _SLOTS), (_HALF_ROW_BITS, fewest_slots)):
        most = min(each.most_parts(row_bits) for each in multiplies)
        if ring_bytes * parts // slot_bytes < fewest_slots:
            while 2 * parts <= most and ring_bytes * parts // slot_bytes < slots:
                parts *= 2
    return parts


# ---- the tiles that a multiply reads


def _multiply(op: ir.OpView) -> _Multiply | None:
    # Sums of f16 are rounded after each multiply.
    if op.acc.type.rank != 2 or isinstance(op.acc.type.element, ir.F16Type):
        return None
    operands = [_operand(op, value, along) for value, along in zip(_read(op), itertools.cycle(_DEPTH), strict=False)]
    found = tuple(operand for operand in operands if operand is not None)
    return _Multiply(op, found) if len(found) == len(operands) else None


def _read(op: ir.OpView) -> list[ir.Value]:
    """The operands of a multiply along its depth: lhs, rhs, and with block scaling their factors."""
    return [value for number, value in enumerate(op.operation.operands) if number != _ACCUMULATOR]


def _operand(multiply: ir.OpView, value: ir.Value, dimension: int) -> _Operand | None:
    """An operand with its depth along a dimension; None if it is not loaded in the block of the multiply."""
    behind: list[tuple[ir.OpView, int]] = []
    while not isinstance(value.owner, ir.Block):
        op = value.owner
        if op.operation.block != multiply.operation.block:
            break
        if op.operation.name == "cuda_tile.load_view_tko":
            # A token orders other operations after the load, which moves to the multiply.
            divisible = is_divisible_access(op) and not list(op.result_token.uses)
            return _Operand(op, dimension, tuple(reversed(behind))) if divisible else None
        source = _source_dimension(op, dimension)
        if source is None:
            break
        behind.append((op, dimension))
        value, dimension = op.operation.operands[0], source
    return None


def _source_dimension(op: ir.OpView, dimension: int) -> int | None:
    """The dimension of the only operand along that of the result; None for an operation that mixes elements."""
    if op.operation.name == "cuda_tile.permute":
        return int(list(op.permutation)[dimension])
    if op.operation.name == "cuda_tile.reshape":
        return outer_dimension(op.result.type.shape, op.source.type.shape, dimension)
    return dimension if len(op.operation.operands) == 1 and is_elementwise(op) else None


def _uses_alone(multiply: _Multiply) -> bool:
    """Whether nothing else uses the operands of a multiply."""
    return _are_used_by(multiply.operations[1:], {*multiply.operations})


def _are_used_by(operations: Sequence[ir.Operation], users: Set[ir.Operation]) -> bool:
    return all(use.owner.operation in users for op in operations for result in op.results for use in result.uses)


def _element_bits(tile: TileType) -> int:
    return element_type(spell(tile.element)).packed_bits


def _bits(tile: TileType) -> int:
    return math.prod(tile.shape) * _element_bits(tile)


# ---- a loop that does nothing else


def _divide_loop(loop: ir.OpView, multiplies: Sequence[_Multiply], parts: int) -> None:
    """Gives a loop that only multiplies `parts` times as many iterations."""
    counter = loop.induction_variable
    users = users_of(counter)
    with ir.InsertionPoint(loop.operation), loop.location:
        limits = [_product(bound, parts) for bound in (loop.lowerBound, loop.upperBound)]
        factor = integer_splat(counter.type, parts)
    for index, limit in enumerate(limits):
        loop.operation.operands[index] = limit
    block = loop.body.blocks[0]
    with ir.InsertionPoint.at_block_begin(block), loop.location:
        unsigned = {"signedness": "unsigned"}
        whole = build("divi", [counter, factor], [counter.type], {**unsigned, "rounding": "zero"}).result
        number = build("remi", [counter, factor], [counter.type], unsigned).result
    for user in users:
        for index, operand in enumerate(user.operands):
            if operand == counter:
                user.operands[index] = whole
    divided = _Parts(parts, number, {whole: counter})
    for multiply in multiplies:
        with ir.InsertionPoint(multiply.op.operation), multiply.op.location:
            made = divided.multiply(multiply, multiply.op.acc)
        multiply.op.operation.results[0].replace_all_uses_with(made)
    _erase(block, multiplies)
    for value in (number, whole):
        if not list(value.uses):
            value.owner.operation.erase()


def _product(bound: ir.Value, parts: int) -> ir.Value:
    known = splat(bound)
    return integer("muli", bound, parts) if known is None else integer_splat(bound.type, parts * known)


def _only_multiplies(block: ir.Block, multiplies: Sequence[_Multiply], parts: int) -> bool:
    """Whether a block is the body of a counted loop that only adds products to its carried values and computes scalars.

    Its numbers of parts fit the type of its counter.
    """
    loop = block.owner.opview
    if loop.operation.name != "cuda_tile.for" or splat(loop.step) != 1 or bounds(loop.lowerBound).low < 0:
        return False
    carried = [(each.op.acc, each.op.operation.results[0]) for each in multiplies]
    covered = {op for each in multiplies for op in each.operations}
    *operations, end = block.operations
    others = [op for op in operations if op.operation not in covered]
    return (
        all(_product_fits(bound, parts, bool(loop.unsignedCmp)) for bound in (loop.lowerBound, loop.upperBound))
        and len(carried) == len(loop.carried)
        and all(pair in carried for pair in zip(loop.carried, end.operation.operands, strict=True))
        and _are_used_by([op for each in multiplies for op in each.operations[1:]], covered)
        and all(effect_free(op) and not op.operation.regions for op in others)
        and not any(is_tile(value) for op in others for value in (*op.operation.operands, *op.operation.results))
    )


def _product_fits(bound: ir.Value, parts: int, unsigned: bool) -> bool:
    """Whether the product is a signed number of the type of a bound; an unsigned bound is not negative then."""
    known, limit = bounds(bound), 1 << bound.type.element.width - 1
    return known.high * parts < limit and known.low * parts >= (0 if unsigned else -limit)


# ---- a loop over the parts


def _divide(multiply: _Multiply, parts: int) -> None:
    op, number_type = multiply.op, TileType.get((), ir.IntegerType.get_signless(32))
    result = op.operation.results[0]
    with ir.InsertionPoint(op.operation), op.location:
        limits = [integer_splat(number_type, number) for number in (0, parts, 1)]
        loop = build("for", [*limits, [op.acc]], [[result.type]])
        body = loop.regions[0].blocks.append(number_type, result.type, arg_locs=[op.location] * 2)
        with ir.InsertionPoint(body):
            number, acc = body.arguments
            build("continue", [[_Parts(parts, number, {}).multiply(multiply, acc)]])
    result.replace_all_uses_with(loop.results[0])
    _erase(op.operation.block, [multiply])


def _erase(block: ir.Block, multiplies: Sequence[_Multiply]) -> None:
    erased = {op for each in multiplies for op in each.operations}
    for op in reversed(operations_in(block)):
        if op in erased:
            op.erase()


# ---- a part


class _Parts:
    """Creates the parts of multiplies with a number that is known at run time, at the insertion point.

    An index among the keys of `counters` is a number of whole tiles; its value is that of the parts.
    """

    def __init__(self, count: int, number: ir.Value, counters: Mapping[ir.Value, ir.Value]) -> None:
        self._count, self._number, self._counters = count, number, counters
        # The parts of operands, which several multiplies may read.
        self._made: dict[tuple[ir.Value, int], ir.Value] = {}

    def multiply(self, multiply: _Multiply, acc: ir.Value) -> ir.Value:
        """The multiply of a part, which adds to an accumulator."""
        op = multiply.op.operation
        values = zip(_read(multiply.op), multiply.operands, strict=True)
        made = [self._operand(value, number, each) for number, (value, each) in enumerate(values)]
        made.insert(_ACCUMULATOR, acc)
        attributes = {name: op.attributes[name] for name in op.attributes}
        return ir.Operation.create(op.name, [acc.type], made, attributes).results[0]

    def _operand(self, value: ir.Value, number: int, operand: _Operand) -> ir.Value:
        key = value, number
        if key not in self._made:
            part = self._load(operand.load, operand.dimension)
            for op, divided in operand.behind:
                part = self._on_part(op.operation, part, divided)
            self._made[key] = part
        return self._made[key]

    def _load(self, load: ir.OpView, along: int) -> ir.Value:
        whole = load.tile.type
        shape = self._shape(whole, along)
        if load.index[along] in self._counters:
            indices = [self._counters[index] if d == along else index for d, index in enumerate(load.index)]
        else:
            indices = first_indices(load, [self._count if d == along else 1 for d in range(whole.rank)])
            number = widened(self._number, width(indices[along]), "unsigned")
            indices[along] = integer("addi", indices[along], number)
        with ir.InsertionPoint.after(load.view.owner.operation):
            view = view_of_parts(load.view, shape)
        types = [TileType.get(shape, whole.element), load.operation.results[1].type]
        return build("load_view_tko", [view, indices, load.token], types, attributes_without_segments(load)).results[0]

    def _on_part(self, op: ir.Operation, part: ir.Value, along: int) -> ir.Value:
        """The result of an operation on one tile for a part of it, whose result is divided along a dimension."""
        type = op.results[0].type
        attributes = {name: op.attributes[name] for name in op.attributes}
        made = TileType.get(self._shape(type, along), type.element)
        return ir.Operation.create(op.name, [made], [part], attributes).results[0]

    def _shape(self, whole: TileType, along: int) -> tuple[int, ...]:
        return tuple(extent // self._count if d == along else extent for d, extent in enumerate(whole.shape))
