"""The unit of each matrix multiply, and the path of its operands to shared memory.

A decision reads those about the multiplies before it, so that records and decisions are in one file of more than 400
lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.walk import operations_named
from tilec.errors import UnsupportedError
from tilec.lowering.kernel_hints import tma_refusal
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.scale_layout import ATOM_FACTORS, MetadataLayout, ScaleLayout
from tilec.lowering.layout.tensor_layout import TensorLayout, tensor_memory_groups
from tilec.lowering.matrix_unit import MatrixTypes, MatrixUnit
from tilec.lowering.plan.matrix.accumulator import ACCUMULATOR, Accumulator, accumulators, single_accumulator
from tilec.lowering.plan.matrix.operand_map import contiguous_by_tma, contiguous_of_stored, unpacked_by_tma
from tilec.lowering.plan.matrix.operand_source import (
    FOLDED,
    OperandSource,
    operand_source,
    register_lhs_layout,
    values_behind,
)
from tilec.lowering.plan.matrix.pairs import is_in_narrow_pair
from tilec.lowering.plan.matrix.row_loads import row_dimension, row_maps
from tilec.lowering.plan.matrix.runs_of_taps import StationaryTile
from tilec.lowering.plan.matrix.scale_factors import scale_operands, scale_source
from tilec.lowering.plan.matrix.sharing import LADDER, Sharing
from tilec.lowering.plan.matrix.stationary_tiles import is_weight_stationary, stationary_tiles
from tilec.lowering.plan.matrix.unit_choice import free_columns, matrix_types, unit_for, unit_reasons
from tilec.lowering.target import Target
from tilec.lowering.tile.analysis.tile_operations import MULTIPLIES
from tilec.lowering.tile.divide.multiply_parts import part_number
from tilec.lowering.tile.expand.widen_operands import NARROW_MULTIPLIES, is_widened
from tilec.lowering.tile_to_gpu.access.image_run import IMAGE_LOAD, ImageRun, image_run, is_of_run
from tilec.lowering.tile_to_gpu.access.memory_order import MemoryOrder
from tilec.lowering.tile_to_gpu.access.operation_name import operation_name
from tilec.lowering.tile_to_gpu.access.tensor_maps import TensorMap, tensor_map_for
from tilec.lowering.tma.rules import MAX_BOX

# The operation whose region a multiply is in, and the multiply that it is a part of.
_Site: TypeAlias = tuple[ir.Operation, int | ir.Operation]


@dataclass(frozen=True)
class Operand:
    """One side of a multiply: `contiguous` is its dimension that is innermost in shared memory.

    TMA loads it if there is a `map`; otherwise it goes through registers, and `refusal` is the reason. Or it stays
    in registers, in the layout `register_layout`, or is placed from there in tensor memory, in `tensor_layout`. If
    `over` is given, the operand takes the place of that result of an earlier multiply, which nothing reads later. If
    `run` is given, threads read the operand from that run of pixels. If `stationary` is given, it has rows of a run, in
    shared memory or in tensor memory, where they move from tap to tap.
    """

    value: ir.Value
    contiguous: int
    source: OperandSource | None = None
    map: TensorMap | None = None
    refusal: str | None = None
    register_layout: LinearLayout | None = None
    tensor_layout: TensorLayout | None = None
    over: ir.Value | None = None
    run: ImageRun | None = None
    stationary: StationaryTile | None = None

    @property
    def packed_kind(self) -> str | None:
        """The element of an operand that TMA unpacks into groups of 16 bytes; None for others."""
        return None if self.map is None or self.map.packed_bits is None else spell(self.value.type.element)

    @property
    def is_negated(self) -> bool:
        """Whether the multiply negates the elements that TMA loads."""
        return self.map is not None and self.source is not None and self.source.is_negated

    @property
    def load(self) -> ir.OpView | None:
        """The load by TMA."""
        return None if self.map is None or self.source is None else self.source.load

    def __str__(self) -> str:
        if self.stationary is not None:
            moves = self.stationary.moves
            if self.stationary.in_tensor_memory:
                return f"in tensor memory, from a run that has moved by {moves}"
            return f"rows of a run from {moves} on"
        if self.tensor_layout is not None:
            return "in tensor memory"
        if self.register_layout is not None:
            return "in registers"
        if self.run is not None:
            return f"contiguous={self.contiguous} from a run of {self.run.positions} pixels"
        path = f"TMA, swizzle {self.map.swizzle}" if self.map is not None else f"registers, since {self.refusal}"
        path = path.replace("TMA", f"TMA of {self.packed_kind}", 1) if self.packed_kind is not None else path
        return f"contiguous={self.contiguous} by {path}"


@dataclass(frozen=True)
class Scale:
    """The scale factors of one side of a multiply; TMA loads them if there is a `map`, and otherwise see `refusal`."""

    value: ir.Value
    layout: ScaleLayout
    load: ir.OpView | None = None
    map: TensorMap | None = None
    refusal: str | None = None

    def __str__(self) -> str:
        return "by TMA" if self.map is not None else f"by registers, since {self.refusal}"


@dataclass(frozen=True)
class Multiply:
    """A multiply with the decisions about it; `refusals` are the reasons of the faster units that cannot do it."""

    op: ir.OpView
    types: MatrixTypes
    unit: MatrixUnit
    lhs: Operand
    rhs: Operand
    refusals: tuple[str, ...] = ()
    # Of lhs and rhs, with block scaling; the metadata of a sparse lhs.
    scales: tuple[Scale, ...] = ()
    # Of the metadata of a sparse lhs, if a unit reads it from registers.
    metadata_layout: LinearLayout | None = None

    @property
    def sides(self) -> tuple[Operand | Scale, ...]:
        """The operands and their scale factors."""
        return self.lhs, self.rhs, *self.scales

    def accumulator_layout(self, shape: Sequence[int], warps: int) -> LinearLayout:
        """The register layout of the accumulator, or of columns of it; for a pair the one that its lanes have."""
        if is_in_narrow_pair(self.op):
            return tensor_memory_groups(shape, warps)
        if self.unit.layout_beside_rows is not None and self.lhs.contiguous == 0:
            return self.unit.layout_beside_rows(shape, warps)
        return self.unit.accumulator_layout(shape, warps, self.types.element)

    @property
    def promotes(self) -> bool:
        """Whether short sums are added to the accumulator in f32, since the unit's own sums have too few bits."""
        return self.unit.promotes(self.types)

    def __str__(self) -> str:
        """The decision as text, for tests and dumps."""
        refused = "".join(f"; {reason}" for reason in self.refusals)
        scales = "".join(f"\n  scale {scale}" for scale in self.scales)
        return f"{self.unit.name}{refused}\n  lhs {self.lhs}\n  rhs {self.rhs}{scales}"


@dataclass
class MatrixPlan:
    """All multiplies of an entry, and the tiles that need no registers because of them."""

    multiplies: dict[ir.Value, Multiply] = field(default_factory=dict)
    # TMA loads by their result, with the multiplies that read them from shared memory; threads read them if none does.
    loads: dict[ir.Value, list[Multiply]] = field(default_factory=dict)
    maps: dict[ir.Value, TensorMap] = field(default_factory=dict)
    # The runs of pixels from which threads read tiles of images.
    runs: dict[ir.Value, ImageRun] = field(default_factory=dict)
    # The tiles of images that multiplies read from a run, or the reasons why others in these modes are not.
    stationary: dict[ir.Value, StationaryTile | str] = field(default_factory=dict)
    # Tiles that threads load for tensor memory, where they are left operands.
    kept: set[ir.Value] = field(default_factory=set)
    # The reasons why threads load tiles of an entry without multiplies.
    refusals: dict[ir.Value, str] = field(default_factory=dict)
    # The layouts of the TMA loads that are scale factors.
    scale_layouts: dict[ir.Value, ScaleLayout] = field(default_factory=dict)
    # Tiles folded into multiplies, and those of which threads read single rows: nothing reads them from registers.
    folded: set[ir.Value] = field(default_factory=set)
    # The number of multiplies of each site.
    sites: Counter[_Site] = field(default_factory=Counter)
    # The values that are in tensor memory.
    accumulators: dict[ir.Value, Accumulator] = field(default_factory=dict)
    # The values in tensor memory that registers need, by the operation before which they are read.
    reads_before: dict[ir.Operation, list[ir.Value]] = field(default_factory=dict)

    def unit_of(self, result: ir.Value) -> MatrixUnit | None:
        """The unit of a multiply by its result; None for other values."""
        multiply = self.multiplies.get(result)
        return None if multiply is None else multiply.unit

    def is_ring_tile(self, tile: ir.Value) -> bool:
        """Whether threads alone read a tile that TMA loads, beside multiplies."""
        return bool(self.multiplies) and self.loads.get(tile) == [] and tile not in self.kept


# The results of `contiguous_by_tma` by operand, its dimension along K, and unit: no number of warps changes them.
_Known = dict[tuple[ir.Value, int, MatrixUnit, bool], tuple[int, TensorMap] | str]


@dataclass(frozen=True)
class _Choices:
    """What the decisions of a plan depend on: the target, the warps that compute, and the order, None without TMA."""

    target: Target
    warps: int
    order: MemoryOrder | None
    known: _Known
    # The tiles of bytes that registers need, so that TMA does not unpack them.
    read_bytes: frozenset[ir.Value] = frozenset()

    def tma_refusal(self, load: ir.OpView) -> str | None:
        """The reason why a load may not be issued by TMA ahead of its multiply, or None."""
        refusal = tma_refusal(load, self.target, self.order is not None)
        if refusal is None and self.order is not None and self.order.acquires_before(load) is None:
            return self.order.delay_of(load)
        return refusal


def matrix_plan(
    entry: ir.OpView, target: Target, warps: int, order: MemoryOrder | None, sharing: Sharing = LADDER[0]
) -> MatrixPlan:
    """Decides for every multiply of an entry, or for the loads of one without, without TMA if `order` is None.

    Raises UnsupportedError for the first that no unit can execute.
    """
    return matrix_plans(entry, target, (warps,), order, sharing)[warps]


def matrix_plans(
    entry: ir.OpView, target: Target, counts: Sequence[int], order: MemoryOrder | None, sharing: Sharing = LADDER[0]
) -> dict[int, MatrixPlan]:
    """The results of `matrix_plan` for several numbers of warps."""
    multiplies = operations_named(entry, MULTIPLIES)
    matrices = [op for op in multiplies if op.acc.type.rank == 2]
    carried = accumulators(matrices)
    known: _Known = {}

    def plan_for(warps: int, read_bytes: frozenset[ir.Value] = frozenset()) -> MatrixPlan:
        choices = _Choices(target, warps, order, known, read_bytes)
        stationary = stationary_tiles(entry, target, choices.tma_refusal)
        plan = MatrixPlan(runs=_runs(entry, choices, stationary), stationary=stationary)
        free = free_columns(matrices, carried, target, warps, sharing)
        for op in multiplies:
            _add(plan, _decide(op, plan, free.get(op.operation), choices))
        _add_accumulators(plan, carried)
        _fold(plan)
        unpacked = {tile for tile, map in plan.maps.items() if map.packed_bits is not None}
        if not unpacked <= plan.folded:
            return plan_for(warps, read_bytes | (unpacked - plan.folded))
        if not plan.multiplies:
            _add_row_loads(plan, row_maps(entry, target, order))
        return plan

    return {warps: plan_for(warps) for warps in counts}


def refusal_of_operand(load: ir.OpView, plan: MatrixPlan) -> str | None:
    """Why TMA does not load the operand of a multiply that a load feeds; None if it does, or if the load feeds none."""
    for multiply in plan.multiplies.values():
        for operand in (multiply.lhs, multiply.rhs):
            source = operand_source(operand.value)
            if not isinstance(source, str) and source.load.operation == load.operation:
                return operand.refusal
    return None


def _add_row_loads(plan: MatrixPlan, maps: dict[ir.Value, TensorMap | str]) -> None:
    for tile, map in maps.items():
        if isinstance(map, str):
            plan.refusals[tile] = map
        else:
            plan.loads[tile], plan.maps[tile] = [], map
            if row_dimension(tile, map) is not None:
                plan.folded.add(tile)


def _add(plan: MatrixPlan, multiply: Multiply) -> None:
    plan.multiplies[multiply.op.operation.results[0]] = multiply
    plan.sites[site_of(multiply.op)] += 1
    for side in multiply.sides:
        if side.map is not None and side.load is not None:
            tile = side.load.operation.results[0]
            plan.loads.setdefault(tile, []).append(multiply)
            plan.maps[tile] = side.map
            if isinstance(side, Scale):
                plan.scale_layouts[tile] = side.layout


def _add_accumulators(plan: MatrixPlan, carried: dict[ir.Operation, Accumulator]) -> None:
    multiplies = plan.multiplies.values()
    # In the order of the kernel, which that of a set would not be.
    in_memory = dict.fromkeys(each.op.operation for each in multiplies if each.unit.accumulates_in_tensor_memory)
    for op in in_memory:
        found = carried[op]
        scaled = [member.operands[ACCUMULATOR] for member in found.multiplies if found.addend(member)[1]]
        # Rows that a multiply skips are not scaled either.
        skips = (
            any(plan.multiplies[member.results[0]].lhs.stationary for member in found.multiplies) if scaled else False
        )
        if not in_memory.keys() >= found.multiplies.keys() or skips:
            found, scaled = single_accumulator(op), []
        plan.folded.update(scaled)
        found.is_transposed = plan.multiplies[op.results[0]].unit.is_weight_stationary
        if found.is_transposed:
            _refuse_changes(found, plan)
        found.keeps_rows |= any(_skips_rows(plan, multiply) for multiply in found.multiplies)
        for value in found.values:
            plan.accumulators[value] = found
    for accumulator in dict.fromkeys(plan.accumulators.values()):
        for value, before in accumulator.reads.items():
            if before is not None:
                plan.reads_before.setdefault(before, []).append(value)


def _skips_rows(plan: MatrixPlan, op: ir.Operation) -> bool:
    tile = plan.multiplies[op.results[0]].lhs.stationary
    return tile is not None and tile.skips_lanes


def _refuse_changes(accumulator: Accumulator, plan: MatrixPlan) -> None:
    """Raises UnsupportedError for a weight-stationary accumulator that threads fill or change."""
    units = {plan.multiplies[op.results[0]].unit for op in accumulator.multiplies}
    if not accumulator.is_read_once or len(units) > 1:
        expected = "expected sums that start as zeros, and to which weight-stationary multiplies alone add"
        location = source_location(next(iter(accumulator.multiplies)).location)
        raise UnsupportedError(f"mode or hint convolution=weights cannot be followed: {expected}", location)


def _decide(op: ir.OpView, plan: MatrixPlan, columns: int | None, choices: _Choices) -> Multiply:
    """The decisions about a multiply, to which these columns of tensor memory are left, after those of a plan."""
    types = matrix_types(op)
    unit, refusals = _unit(op, types, columns, choices)
    maps = dict(plan.maps)
    is_narrow = op.operation.name in NARROW_MULTIPLIES
    lhs = _stationary_lhs(op.lhs, unit, plan, choices) or _lhs_of_run(op.lhs, unit, plan, choices.warps)
    if lhs is None:
        lhs = Operand(op.lhs, 1, register_layout=register_lhs_layout(op.lhs, unit, choices.warps, plan.unit_of))
    if lhs.register_layout is None and lhs.run is None and lhs.stationary is None:
        lhs = _operand(op.lhs, 1, unit, maps, choices, is_narrow)
    rhs = _operand(op.rhs, 0, unit, maps, choices, is_narrow)
    if types.is_sparse and lhs.contiguous != 1:
        lhs = Operand(op.lhs, 1, refusal="the kept elements of a row are not contiguous in memory")
    if unit.metadata_layout is not None and types.is_sparse:
        multiply = Multiply(op, types, unit, lhs, rhs, refusals)
        accumulator = multiply.accumulator_layout(op.acc.type.shape, choices.warps)
        layout = unit.metadata_layout(op.metadata.type.shape[1], accumulator, choices.warps)
        return replace(multiply, metadata_layout=layout)
    scales = tuple(_scale(op, *side, choices) for side in scale_operands(op))
    return Multiply(op, types, unit, lhs, rhs, refusals, scales)


def _unit(
    op: ir.OpView, types: MatrixTypes, columns: int | None, choices: _Choices
) -> tuple[MatrixUnit, tuple[str, ...]]:
    target, location, name = choices.target, source_location(op.operation.location), operation_name(op)
    if op.lhs.type.rank != 2:
        message = f"a batched '{name}' must be divided first: run the pass unbatch-multiplies"
        raise UnsupportedError(message, location)
    unit, refusals = unit_for(op, target, choices.warps, columns)
    if unit is None:
        if is_weight_stationary(op):
            reason = "; ".join(refusals) or f"{target.name} has no tcgen05.mma.ws: use run or im2col"
            raise UnsupportedError(f"mode or hint convolution=weights cannot be followed: {reason}", location)
        message = f"'{name}' of {types} cannot be compiled for {target.name}: {unit_reasons(refusals, types, target)}"
        expansion = ": run the pass expand-block-scaling" if types.scale is not None else ""
        expansion = ": run the pass expand-sparse" if types.is_sparse else expansion
        raise UnsupportedError(message + expansion, location)
    return unit, refusals


def _stationary_lhs(lhs: ir.Value, unit: MatrixUnit, plan: MatrixPlan, choices: _Choices) -> Operand | None:
    """The lhs, if it has rows of a run; the plan gets the reason where the unit does not read them there."""
    tile = plan.stationary.get(lhs)
    if isinstance(tile, StationaryTile) and unit.descriptor is None:
        missing = "tensor memory" if tile.in_tensor_memory else "rows of a run"
        plan.stationary[lhs] = f"tile: the multiply is done by {unit.name}, which reads no {missing}"
        if is_of_run(tile.load):
            plan.runs |= _runs_of([tile.load], choices)
        return None
    return Operand(lhs, 1, stationary=tile) if isinstance(tile, StationaryTile) else None


def _lhs_of_run(lhs: ir.Value, unit: MatrixUnit, plan: MatrixPlan, warps: int) -> Operand | None:
    """The lhs, if it comes from a run of pixels that threads read; in their registers, where the unit reads these."""
    run = next((plan.runs[value] for value in values_behind(lhs) if value in plan.runs), None)
    if run is None:
        return None
    shape, element = lhs.type.shape, spell(lhs.type.element)
    layout = None if unit.lhs_layout is None else unit.lhs_layout(shape, warps, element)
    return Operand(lhs, 1, register_layout=layout, run=run)


def _runs(
    entry: ir.OpView, choices: _Choices, stationary: Mapping[ir.Value, StationaryTile | str]
) -> dict[ir.Value, ImageRun]:
    """The runs of the tiles that threads read from them."""
    loads = [op for op in operations_named(entry, (IMAGE_LOAD,)) if is_of_run(op)]
    return _runs_of([op for op in loads if not isinstance(stationary.get(op.tile), StationaryTile)], choices)


def _runs_of(loads: Sequence[ir.OpView], choices: _Choices) -> dict[ir.Value, ImageRun]:
    found = {op.tile: choices.tma_refusal(op) or image_run(op, choices.target) for op in loads}
    return {tile: run for tile, run in found.items() if not isinstance(run, str)}


def _operand(
    value: ir.Value, depth: int, unit: MatrixUnit, maps: dict[ir.Value, TensorMap], choices: _Choices, is_narrow: bool
) -> Operand:
    """`depth` is the operand's dimension along K; `maps` gets the map of a tile that TMA loads for the operand.

    With `is_narrow` the multiply reads elements of less than 8 bits from packed buffers.
    """
    source = operand_source(value)
    refusal = source if isinstance(source, str) else choices.tma_refusal(source.load)
    if refusal is None and not isinstance(source, str) and source.is_negated and not unit.negates:
        refusal = f"{unit.name} negates no operands"
    if refusal is None and not isinstance(source, str):
        unpacks = is_narrow and is_widened(value)
        key = value, depth, unit, unpacks
        if key not in choices.known:
            find = unpacked_by_tma if unpacks else contiguous_by_tma
            choices.known[key] = find(value, source, depth, unit, choices.target)
        found = choices.known[key]
        if unpacks and source.load.operation.results[0] in choices.read_bytes:
            found = "threads read the tile too"
        if isinstance(found, str):
            refusal = found
        # A tile lies in shared memory once, in one swizzle; an operand that needs another goes through registers.
        elif maps.setdefault(source.load.operation.results[0], found[1]) == found[1]:
            return Operand(value, found[0], source, found[1])
        else:
            refusal = "another operand reads the same tile in another swizzle"
    return Operand(value, contiguous_of_stored(value, depth, unit), refusal=refusal)


def _scale(op: ir.OpView, value: ir.Value, layout: ScaleLayout, choices: _Choices) -> Scale:
    load = scale_source(value, layout)
    map = load if isinstance(load, str) else choices.tma_refusal(load) or _scale_map(op, load, layout)
    return Scale(value, layout, refusal=map) if isinstance(map, str) else Scale(value, layout, load, map)


def _scale_map(op: ir.OpView, load: ir.OpView, layout: ScaleLayout) -> TensorMap | str:
    """The map of a load of scale factors for a multiply, or the reason why TMA cannot load them."""
    # PTX ISA 9.7.16.6.2: tcgen05.cp is not ordered after an earlier tcgen05.mma, so each slot is copied once.
    if load.operation.block != op.operation.block:
        return f"the {layout.subject} are loaded outside of the loop or branch of the multiply"
    map = tensor_map_for(load.view, swizzle="none")
    if isinstance(map, TensorMap) and isinstance(layout, MetadataLayout):
        # Each box fills an atom.
        return replace(map, widest=ATOM_FACTORS)
    if isinstance(map, TensorMap) and load.view.type.tile_shape[-1] > MAX_BOX:
        return f"a box has at most {MAX_BOX} elements along a dimension"
    if isinstance(map, TensorMap) and map.contiguous != load.view.type.rank - 1:
        return "the last dimension of the tile is not contiguous in memory"
    return map


def _fold(plan: MatrixPlan) -> None:
    """Folds the loads and data movement that only multiplies use, from the operands backwards."""
    for multiply in plan.multiplies.values():
        for side in multiply.sides:
            if side.map is not None:
                _fold_value(plan, side.value)
        if multiply.lhs.stationary is not None:
            plan.folded.update((multiply.lhs.value, multiply.lhs.stationary.load.tile))


def _fold_value(plan: MatrixPlan, value: ir.Value) -> None:
    if not all(_reads_shared_memory(plan, use) for use in value.uses):
        return
    plan.folded.add(value)
    if value.owner.operation.name in FOLDED:
        _fold_value(plan, value.owner.operands[0])


def _reads_shared_memory(plan: MatrixPlan, use: ir.OpOperand) -> bool:
    op = use.owner.operation
    if op.name in FOLDED:
        return op.results[0] in plan.folded
    if op.name not in MULTIPLIES or use.operand_number == ACCUMULATOR:
        return False
    sides, number = plan.multiplies[op.results[0]].sides, use.operand_number - (use.operand_number > ACCUMULATOR)
    return number < len(sides) and sides[number].map is not None


def site_of(multiply: ir.OpView) -> _Site:
    """The site of a multiply: other parts of the same operation of the program in the same region have it too."""
    operation = multiply.operation
    number = part_number(operation)
    return operation.parent.operation, operation if number is None else number
