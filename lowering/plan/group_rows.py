"""Loops that carry tiles and load rows one after the other load several rows at once, so that TMA loads them ahead.

    for t in 0 .. n { %x = load_view_tko %v[%t] : 1x64;  .. }
    ->  for t in 0 .. n - n % 4 step 4 { %rows = load_view_tko %w[%t] : 4x64;
                                         %x = extract %rows[0];  ..;  %x = extract %rows[1];  .. }
        for t in n - n % 4 .. n { %x = load_view_tko %v[%t] : 1x64;  .. }

Each iteration waits for the one before it, so that threads wait for memory in each. TMA issues copies of short rows
slower than memory reads them, and four slots of longer ones are few iterations ahead. The tiles of view %w overlap: an
index counts single rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from tilec.dialect.build import attributes_without_segments, build, copied
from tilec.dialect.cuda_tile.types import PartitionViewType, StridedViewType, TileType
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_below, operations_in, operations_inside, operations_named
from tilec.lowering.kernel_hints import REMAINING_LOAD, REPEATED_STORE
from tilec.lowering.model.constants import Device, device_of
from tilec.lowering.plan.matrix.row_loads import (
    SLOT_LIMIT_BYTES,
    least_cycles,
    row_maps,
    slot_bytes,
    tma_row_map,
    waiting_reason,
)
from tilec.lowering.target import Target
from tilec.lowering.tile.analysis.condition import integer
from tilec.lowering.tile.analysis.constants import integer_splat, splat
from tilec.lowering.tile.analysis.replacing import copy_operation
from tilec.lowering.tile.analysis.tensor_extent import tensor_maker, tile_steps
from tilec.lowering.tile.analysis.tile_operations import (
    CONTINUE,
    FOR,
    LOOPS,
    MULTIPLIES,
    ends,
    is_tile,
    producer,
    terminator,
)
from tilec.lowering.tile.analysis.tile_parts import Part
from tilec.lowering.tile.analysis.value_analysis import forget_facts
from tilec.lowering.tile_to_gpu.access.memory_order import MemoryOrder, are_disjoint
from tilec.lowering.tile_to_gpu.access.tensor_maps import TensorMap, is_repeated

_LOAD, _STORE = "cuda_tile.load_view_tko", "cuda_tile.store_view_tko"
# The iterations whose rows are one tile.
_COUNTS = (8, 4, 2)
# The operations of a group on elements, of a thread of 128, and the others: 8 steps of selective scan of 64 channels
# with 16 states have 900, and 1600 instructions.
_MOST_OPERATIONS = 1024
# A ring has four slots in the memory that rings of rows may have.
_MOST_BYTES = SLOT_LIMIT_BYTES // 4
# The operands of a loop before its initial values: the lower bound, the upper bound and the step.
_BOUNDS = 3


@dataclass(frozen=True)
class _Row:
    """A load of a row, or of a part of one: its index along `dimension` is `base` + `number`."""

    load: ir.OpView
    dimension: int
    base: ir.Value
    number: int

    @property
    def key(self) -> object:
        """Equal for rows of one tile."""
        op = self.load
        others = [_known(index) for k, index in enumerate(op.index) if k != self.dimension]
        hints = str(op.operation.attributes["optimization_hints"]) if "optimization_hints" in op.attributes else ""
        return op.view.owner.operands[0], op.view.type, self.dimension, self.base, *others, hints

    @property
    def is_part(self) -> bool:
        """Whether it is a part of a row."""
        return self.dimension == len(self.load.index) - 1

    @property
    def size_bytes(self) -> int:
        """The bytes of the row."""
        return slot_bytes(self.load.tile)


def group_rows(module: ir.Module, target: Target, use_tma: bool) -> ir.Module:
    """A copy of a module with one entry whose rows are loaded together; the module itself if no loop gains."""
    if not use_tma or operations_named(module, MULTIPLIES):
        return module
    grouped = copied(module)
    (entry,) = operations_named(grouped, ("cuda_tile.entry",))
    device, stores = device_of(target.name), count()
    made = [
        tile
        for loop in operations_named(entry, (FOR,))
        if any(map(is_tile, loop.carried)) and not any(op.name in LOOPS for op in operations_inside(loop))
        for tile in _group_rows_of(loop, entry, target, device, stores)
    ]
    if not made:
        return module
    maps = row_maps(entry, target, _order(entry))
    return grouped if all(isinstance(maps[tile], TensorMap) for tile in made) else module


def _group_rows_of(
    loop: ir.OpView, entry: ir.OpView, target: Target, device: Device, stores: Iterator[int]
) -> list[ir.Value]:
    """Loads the rows of a loop together, perhaps those of several iterations; returns the tiles that have them."""
    body, order = loop.body.blocks[0], _order(entry)
    rows = list(_rows(body, target, order))
    groups, steps = _groups(rows), [row for row in rows if row.base == body.arguments[0] and not row.is_part]
    if not groups and (iterations := _iterations(loop, steps, device)):
        _repeat(loop, iterations, stores)
        groups = _groups(list(_rows(body, target, _order(entry))))
    is_faster = _is_faster(groups, least_cycles(loop, device), device)
    return [_load_together(group) for group in groups] if is_faster else []


def _order(entry: ir.OpView) -> MemoryOrder:
    return MemoryOrder(list(operations_below(entry)), fences=True)


# ---- which rows


def _rows(body: ir.Block, target: Target, order: MemoryOrder) -> Iterator[_Row]:
    """The loads of rows, and of parts of them, in a block that TMA may make early, in program order."""
    for op in operations_in(body):
        if op.name != _LOAD or not isinstance(op.opview.view.type, PartitionViewType):
            continue
        load, shape = op.opview, tuple(op.opview.view.type.tile_shape)
        varying = [k for k, index in enumerate(load.index) if _is_inside(index, body)]
        if any(extent > 1 for extent in shape[:-1]) or len(varying) != 1:
            continue
        map, (dimension,) = tma_row_map(load, target, order), varying
        if isinstance(map, str) or map.contiguous != len(shape) - 1 or waiting_reason(load, order) is not None:
            continue
        if not is_repeated(tensor_maker(load.view), load.view.type.dim_map[dimension]):
            yield _Row(load, dimension, *_sum(load.index[dimension]))


def _is_inside(value: ir.Value, body: ir.Block) -> bool:
    """Whether a value is defined in a block, and is not a constant."""
    if splat(value) is not None:
        return False
    return value.owner == body or not isinstance(value.owner, ir.Block) and value.owner.operation.block == body


def _sum(index: ir.Value) -> tuple[ir.Value, int]:
    """A value and a number whose sum an index is."""
    total = producer(index, "addi")
    if total is not None:
        for base, added in ((total.lhs, total.rhs), (total.rhs, total.lhs)):
            number = splat(added)
            if number is not None:
                return base, number - (1 << index.type.element.width) * (number >> index.type.element.width - 1)
    return index, 0


def _known(index: ir.Value) -> ir.Value | int:
    number = splat(index)
    return index if number is None else number


def _groups(rows: Sequence[_Row]) -> list[list[_Row]]:
    """Rows of the same tiles: as many successive ones as the extent of a tile can be, several in each group."""
    by_key = defaultdict[object, dict[int, list[_Row]]](lambda: defaultdict(list))
    for row in rows:
        by_key[row.key][row.number].append(row)
    groups = []
    for found in by_key.values():
        numbers = sorted(found)
        while numbers:
            run = next((n for n, number in enumerate(numbers) if number != numbers[0] + n), len(numbers))
            extent = 1 << run.bit_length() - 1
            if extent > 1:
                groups.append([row for number in numbers[:extent] for row in found[number]])
            numbers = numbers[extent:]
    return groups


def _is_faster(groups: Sequence[Sequence[_Row]], cycles: float, device: Device) -> bool:
    """Whether TMA issues a tile per group while threads compute for these cycles, or memory reads the tiles."""
    size = sum(row.size_bytes for group in groups for row in {row.number: row for row in group}.values())
    issued = len(groups) * device.tma_issue_cycles
    return size <= _MOST_BYTES and issued <= max(cycles, size / device.hbm_bytes_per_cycle)


# ---- loops of one row per iteration


def _iterations(loop: ir.OpView, rows: Sequence[_Row], device: Device) -> int | None:
    """The iterations whose rows are one tile; None if a loop cannot be repeated, or does not gain."""
    if not rows or splat(loop.step) != 1 or loop.unsignedCmp:
        return None
    if len(ends(loop, CONTINUE)) != 1 or terminator(loop.body.blocks[0]).operation.name != CONTINUE:
        return None
    operations, cycles = len(operations_inside(loop)), least_cycles(loop, device)
    lower, upper = splat(loop.lowerBound), splat(loop.upperBound)
    most = max(_COUNTS) if lower is None or upper is None else (upper - lower) % (1 << loop.step.type.element.width)
    for iterations in [each for each in _COUNTS if each <= most]:
        groups = [[replace(row, number=row.number + n) for n in range(iterations)] for row in rows]
        if iterations * (operations + cycles) <= _MOST_OPERATIONS and _is_faster(groups, iterations * cycles, device):
            return iterations
    return None


def _repeat(loop: ir.OpView, iterations: int, stores: Iterator[int]) -> None:
    """Makes a loop of several iterations at a time, and after it one of the rest; `stores` numbers those of loops."""
    for op in operations_named(loop, (_STORE,)):
        if are_disjoint(op, op):
            number = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), next(stores))
            op.operation.attributes[REPEATED_STORE] = number
    with ir.InsertionPoint(loop.operation), loop.location:
        lower, upper = loop.lowerBound, loop.upperBound
        rest = integer("andi", integer("subi", upper, lower), iterations - 1)
        end = integer("maxi", integer("subi", upper, rest), lower, signedness="signed")
        # A loop without iterations keeps its bounds, whatever they are.
        end = integer("mini", end, integer("maxi", upper, lower, signedness="signed"), signedness="signed")
        step = integer_splat(loop.step.type, iterations)
    with ir.InsertionPoint.after(loop.operation):
        second = loop.operation.clone().operation
    for index, (result, last) in enumerate(zip(loop.operation.results, second.results, strict=True)):
        result.replace_all_uses_with(last)
        second.operands[_BOUNDS + index] = result
    second.operands[0] = loop.operation.operands[1] = end
    for op in operations_named(second, (_LOAD,)):
        op.operation.attributes[REMAINING_LOAD] = ir.UnitAttr.get()
    loop.operation.operands[2] = step
    _repeat_body(loop, iterations)
    forget_facts()


def _repeat_body(loop: ir.OpView, iterations: int) -> None:
    body = loop.body.blocks[0]
    counter, *carried = body.arguments
    end = terminator(body).operation
    operations, given = operations_in(body)[:-1], list(end.operands)
    last = given
    for step in range(1, iterations):
        with ir.InsertionPoint(end), loop.location:
            values = {counter: integer("addi", counter, step), **dict(zip(carried, last, strict=True))}
            for op in operations:
                copy_operation(op, values)
        last = [values.get(value, value) for value in given]
    for number, value in enumerate(last):
        end.operands[number] = value


# ---- one load of several rows


def _load_together(rows: Sequence[_Row]) -> ir.Value:
    """Replaces loads of rows by one load, before the first of them, and extracts of the rows; returns its tile."""
    (dimension,), numbers = {row.dimension for row in rows}, sorted({row.number for row in rows})
    # Rows of one key are in the order of the program for each number.
    first = min((row.load for row in rows), key=lambda load: operations_in(load.operation.block).index(load.operation))
    attributes, flags = attributes_without_segments(first), [row.load.inbounds for row in rows]
    attributes.pop("inbounds", None)
    if all(flags):
        attributes["inbounds"] = ir.DenseBoolArrayAttr.get([all(each) for each in zip(*flags, strict=True)])
    tensor, type, indices = first.view.owner.operands[0], first.view.type, list(first.index)
    shape = [len(numbers) * extent if k == dimension else extent for k, extent in enumerate(type.tile_shape)]
    of_rows = StridedViewType.get(shape, tile_steps(type), type.tensor_view, type.dim_map, type.padding)
    with ir.InsertionPoint.after(first.view.owner.operation), first.location:
        view = build("make_strided_view", [tensor], [of_rows]).result
    with ir.InsertionPoint(first.operation), first.location:
        base = rows[0].base
        indices[dimension] = base if numbers[0] == 0 else integer("addi", base, numbers[0])
        types = [TileType.get(shape, type.element), first.operation.results[1].type]
        tile, token = build("load_view_tko", [view, indices, first.token], types, attributes).results
    for row in rows:
        position = tuple(row.number - numbers[0] if k == dimension else 0 for k in range(len(shape)))
        load = row.load.operation
        with ir.InsertionPoint(load), row.load.location:
            extracted = Part(tile, position, tuple(type.tile_shape)).extracted()
        load.results[0].replace_all_uses_with(extracted)
        load.results[1].replace_all_uses_with(token)
        load.erase()
    return tile
