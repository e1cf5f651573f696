"""Left operands of loops of multiplies that are loaded before the loop: threads store them in tensor memory once.

    %q = load;  for { mmaf %q, %k }   ->   %q = load {tilec.kept = 128};  for { mmaf %q, %k }

The multiplies of the loop then read only their right operands through the port of shared memory, and the rings of
the loop have the memory of the operand. The loads are marked in Tile IR where the port bounds a loop. Their tiles are
placed where other values leave columns, and as many beside these as the mark says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_in
from tilec.lowering.layout.tensor_layout import CELL_BYTES, TensorLayout
from tilec.lowering.matrix_unit import accumulates_in_registers
from tilec.lowering.model.constants import device_of
from tilec.lowering.model.step import Multiply as Product
from tilec.lowering.model.step import pipe_use
from tilec.lowering.plan.matrix.accumulator import accumulators, is_zero
from tilec.lowering.plan.matrix.loop_resources import LoopResources
from tilec.lowering.plan.matrix.matrix_plan import MatrixPlan
from tilec.lowering.plan.matrix.operand_source import OperandSource, is_only_multiplied, operand_source
from tilec.lowering.plan.matrix.row_loads import slot_bytes
from tilec.lowering.plan.matrix.unit_choice import accumulator_columns
from tilec.lowering.target import TENSOR_LANES, Target
from tilec.lowering.tile.analysis.tile_operations import (
    PLAIN_MULTIPLIES,
    in_loop,
    matrix_multiplies,
)
from tilec.lowering.tile.expand.widen_operands import is_widened
from tilec.lowering.tile_to_gpu.access.alignment import (
    VECTOR_BYTES,
    access_vector,
    element_bits,
    element_bytes,
    per_byte,
)

_KEPT = "tilec.kept"
_LOAD = "cuda_tile.load_view_tko"
# The tiles that an iteration loads, as K and V: the cost model weighs others, such as a bias, with a compile.
_FEW_LOADS = 2


@dataclass(frozen=True)
class OperandRoom:
    """The columns of tensor memory for such operands.

    Attributes:
        spares: the columns that they leave, first those of a second slot of accumulators if there are as many.
        costs_nothing: whether all multiplies are in loops, which load few other tiles, and they take neither a slot of
            accumulators, nor the columns of a block beside this one on an SM.
    """

    spares: tuple[int, ...]
    costs_nothing: bool


def room_for_operands(module: ir.Module, target: Target) -> OperandRoom | None:
    """The room for such operands; None if a module has none, or tensor memory has no columns for them."""
    kept = _operands_to_keep(module, target)
    if not kept:
        return None
    columns, slots = sum(map(_operand_columns, kept.values())), _columns_of_slots(module)
    multiplies = matrix_multiplies(module)
    resources = LoopResources()
    resources.add_accumulators(dict.fromkeys(accumulators(multiplies).values()), accumulator_columns)
    if resources.total() + columns > target.tensor_memory_columns:
        return None
    # Operands that threads compute may be over accumulators, or not.
    for op in multiplies:
        if isinstance(operand_source(op.lhs), str):
            resources.add(op, _operand_columns(op.lhs.type))
    used = resources.total()
    leaves_slots = used + columns + slots <= target.tensor_memory_columns
    blocks = {op.operation.block for op in multiplies}
    loads = [len([op for op in operations_in(block) if op.name == _LOAD]) for block in blocks]
    is_plain = all(map(in_loop, multiplies)) and max(loads) <= _FEW_LOADS
    # Columns are allocated in powers of two (PTX ISA 9.7.16.7.1).
    is_same = (used + slots - 1).bit_length() == (used + slots + columns - 1).bit_length()
    return OperandRoom((slots, 0) if leaves_slots else (0,), leaves_slots and is_plain and is_same)


def mark_operands(module: ir.Module, target: Target, spare: int) -> None:
    """Marks the loads of such operands in place, which leave some columns to others."""
    for load in _operands_to_keep(module, target):
        load.attributes[_KEPT] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), spare)


def _operand_columns(type: TileType) -> int:
    rows, depth = type.shape
    return depth * element_bytes(type.element) // CELL_BYTES * max(1, rows // TENSOR_LANES)


def _operands_to_keep(module: ir.Module, target: Target) -> dict[ir.Operation, TileType]:
    """The loads of such operands, with the types of the operands."""
    if accumulates_in_registers(target):
        return {}
    blocks = defaultdict[ir.Block, list[ir.OpView]](list)
    for op in matrix_multiplies(module):
        if in_loop(op):
            blocks[op.operation.block].append(op)
    bound = (found for found in blocks.values() if _is_bound_by_port(found, target))
    tiles = dict(each for found in bound for each in _left_tiles(found))
    found = ((tile, type) for tile, type in tiles.items() if is_only_multiplied(tile) and _is_left(tile))
    return {tile.owner.operation: type for tile, type in found}


def _columns_of_slots(module: ir.Module) -> int:
    """The most columns of the accumulators that an iteration of a loop starts from zero."""
    columns = defaultdict[ir.Block, int](int)
    for op in matrix_multiplies(module):
        if in_loop(op) and is_zero(op.acc):
            columns[op.operation.block] += accumulator_columns(op)
    return max(columns.values(), default=0)


def _left_tiles(multiplies: list[ir.OpView]) -> Iterator[tuple[ir.Value, TileType]]:
    """The tiles loaded outside of loops that are left operands, with the types of these."""
    for op in multiplies:
        source = operand_source(op.lhs)
        if not isinstance(source, OperandSource) or in_loop(source.load) or source.load.operation.name != _LOAD:
            continue
        # Threads would round or unpack other elements.
        if not source.rounds_to_tf32 and not is_widened(op.lhs) and per_byte(op.lhs.type.element) == 1:
            yield source.load.operation.results[0], op.lhs.type


def _is_left(tile: ir.Value) -> bool:
    """Whether all multiplies that read a tile have it on their left in loops, in one form, made where it is loaded."""
    forms = list(_forms(tile))
    users = [use.owner for form in forms for use in form.uses]
    return (
        all(form.owner.operation.block == tile.owner.operation.block for form in forms)
        and len({(form.type, _elements(form)) for form in forms}) == 1
        and all(user.lhs in forms and user.rhs not in forms and in_loop(user) for user in users)
    )


def _forms(value: ir.Value) -> Iterator[ir.Value]:
    """The operands of multiplies that a tile is, through operations that fold into its layout."""
    users = [use.owner.operation for use in value.uses]
    if any(user.name in PLAIN_MULTIPLIES for user in users):
        yield value
    for user in users:
        if user.name not in PLAIN_MULTIPLIES:
            yield from _forms(user.results[0])


def _elements(form: ir.Value) -> tuple[tuple[int, int], bool] | None:
    """The order of the elements of a form of a tile, and whether they are negated; None if threads compute them."""
    source = operand_source(form)
    return (source.dimensions, source.is_negated) if isinstance(source, OperandSource) else None


def _is_bound_by_port(multiplies: list[ir.OpView], target: Target) -> bool:
    """Whether the port of shared memory takes longer than the tensor pipe for the multiplies of a loop.

    And than an exponential of each element of the products that threads read. Tiles that the loop loads for threads,
    such as a bias, cross the port twice.
    """
    device, pipe, port = device_of(target.name), 0.0, 0.0
    read = sum(prod(op.acc.type.shape) for op in multiplies if is_zero(op.acc)) / device.exponentials_per_cycle
    loaded = dict[ir.Value, None]()
    for op in multiplies:
        sources = [operand_source(value) for value in (op.lhs, op.rhs)]
        is_loaded = isinstance(sources[0], OperandSource)
        product = Product(
            rows=op.acc.type.shape[0],
            columns=op.acc.type.shape[1],
            depth=op.lhs.type.shape[1],
            element_bits=element_bits(op.rhs.type.element),
            left_in_shared=is_loaded,
        )
        use = pipe_use(product, device)
        pipe, port = pipe + use.cycles, port + use.shared_bytes / device.shared_bytes_per_cycle
        loads = (source.load for source in sources if isinstance(source, OperandSource))
        loaded.update((load.operation.results[0], None) for load in loads if in_loop(load))
    tiles = [op.results[0] for op in operations_in(multiplies[0].operation.block) if op.name == _LOAD]
    moved = sum(slot_bytes(tile) * (1 if tile in loaded else 2) for tile in dict.fromkeys((*loaded, *tiles)))
    return port + moved / device.shared_bytes_per_cycle > max(pipe, read)


def keep_operands(plan: MatrixPlan, target: Target, warps: int, used: LoopResources) -> None:
    """Places the tiles of marked loads of a plan in the columns that the `used` ones leave, in program order."""
    for tile, multiplies in list(plan.loads.items()):
        if _KEPT not in tile.owner.operation.attributes or tile not in plan.folded:
            continue
        if not all(each.unit.accumulates_in_tensor_memory for each in multiplies):
            continue
        values = dict.fromkeys(each.lhs.value for each in multiplies)
        layout = _layout(multiplies[0].lhs.value, warps)
        spare = ir.IntegerAttr(tile.owner.operation.attributes[_KEPT]).value
        if layout is None or used.total() + layout.columns + spare > target.tensor_memory_columns:
            continue
        # Unlike the operands of an iteration, it is in use in all loops.
        used.always += layout.columns
        for result in [each.op.operation.results[0] for each in multiplies]:
            multiply = plan.multiplies[result]
            registers = layout.registers(warps)
            lhs = replace(multiply.lhs, map=None, tensor_layout=layout, register_layout=registers)
            plan.multiplies[result] = replace(multiply, lhs=lhs)
        if access_vector(tile.owner)[1] * element_bytes(tile.type.element) >= VECTOR_BYTES:
            del plan.loads[tile], plan.maps[tile]
        else:
            # TMA checks the extents of rows, for which threads would load single elements.
            plan.loads[tile] = []
        plan.kept.add(tile)
        plan.folded -= {each for value in values for each in (value, *_forms_before(value))}


def _forms_before(value: ir.Value) -> Iterator[ir.Value]:
    """The tile that is loaded for an operand, and its forms on the way."""
    load = operand_source(value)
    assert isinstance(load, OperandSource)
    while value.owner.operation != load.load.operation:
        value = value.owner.operation.operands[0]
        yield value


def _layout(value: ir.Value, warps: int) -> TensorLayout | None:
    """The layout of an operand in tensor memory; None if threads cannot store it."""
    type = value.type
    lanes = TENSOR_LANES if type.shape[0] % TENSOR_LANES == 0 else type.shape[0]
    return stored_layout(type, lanes, warps)


def stored_layout(type: TileType, lanes: int, warps: int) -> TensorLayout | None:
    """The layout of an operand in these lanes of tensor memory; None if threads cannot store it."""
    layout = TensorLayout(tuple(type.shape), element_bytes(type.element), lanes, packed=True)
    try:
        layout.registers(warps)
    except ValueError:
        return None
    return layout
