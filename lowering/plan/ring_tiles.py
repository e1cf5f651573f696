"""Tiles that loops of multiplies load for threads, such as biases, masks and factors: TMA loads them into rings too.

The role `load` has them on their way while the threads compute. The rings of operands come first: a tile has the shared
memory that two slots of each operand leave, and threads load those for which none is left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_named, reached
from tilec.lowering.plan.matrix.matrix_plan import MatrixPlan, refusal_of_operand
from tilec.lowering.plan.matrix.row_loads import slot_bytes, tma_row_map, waiting_reason, widened_row
from tilec.lowering.plan.store_maps import STAGING_LIMIT_BYTES
from tilec.lowering.target import Target
from tilec.lowering.tile.analysis.tile_operations import in_loop, loops_around
from tilec.lowering.tile.divide.divide_stores import SLICE_BYTES
from tilec.lowering.tile.divide.divided_dimensions import is_chained
from tilec.lowering.tile_to_gpu.access.alignment import access_vector, element_bits, element_bytes
from tilec.lowering.tile_to_gpu.access.memory_order import BULK_ORDERS, MemoryOrder
from tilec.lowering.tile_to_gpu.access.tensor_maps import TensorMap

_LOAD, _CONVERSION = "cuda_tile.load_view_tko", "cuda_tile.itof"
_SELECT, _COMPARISON = "cuda_tile.select", "cuda_tile.cmpi"
_SLOTS, _WORD_BITS = 2, 32
# A tile of an outer loop, as of an epilogue, is worth no slot that the operands of the inner loop want.
_INNER_SLOTS = 4
_CONVERTED = "threads load ahead the elements that they convert and store as an operand of a multiply"
# For barriers, and for the exchange of elements between threads, which the plan does not know.
_RESERVED_BYTES = 16384
# For barriers alone.
_LEAST_RESERVED_BYTES = 2048


def plan_ring_tiles(
    plan: MatrixPlan, entry: ir.OpView, target: Target, order: MemoryOrder | None, occupancy: int
) -> None:
    """Adds the tiles to the loads of a plan with multiplies, in program order, and the reasons of the others.

    A second call plans the tiles again: operands in tensor memory leave them more shared memory.

    Args:
        plan: the plan.
        entry: the entry of the plan.
        target: the target.
        order: the order of the accesses; None without TMA.
        occupancy: the blocks that share the memory of an SM.
    """
    if not plan.multiplies:
        return
    for tile in [tile for tile in plan.loads if plan.is_ring_tile(tile)]:
        del plan.loads[tile], plan.maps[tile]
    loops = {loop for multiply in plan.multiplies.values() for loop in loops_around(multiply.op)}
    innermost = {loops_around(multiply.op)[0] for multiply in plan.multiplies.values() if in_loop(multiply.op)}
    room = shared_room(plan, entry, target, occupancy)
    converted = {tile for tile in converted_tiles(plan) if not _is_beside_chain(tile, plan)}
    for load in operations_named(entry, (_LOAD,)):
        tile = load.operation.results[0]
        if tile in plan.loads or refusal_of_operand(load, plan) is not None:
            continue
        map = _CONVERTED if tile in converted else _map(load, loops, target, order)
        is_inner = in_loop(load) and loops_around(load)[0] in innermost
        if isinstance(map, TensorMap) and slot_bytes(tile) > (room.beside_inner if is_inner else room.beside_outer):
            map = f"shared memory has no room for a slot of {slot_bytes(tile)} bytes beside the operands of multiplies"
        if isinstance(map, str):
            plan.refusals[tile] = map
            continue
        plan.loads[tile], plan.maps[tile] = [], map
        room.take(slot_bytes(tile))


def _map(load: ir.OpView, loops: set[ir.Operation], target: Target, order: MemoryOrder | None) -> TensorMap | str:
    map = tma_row_map(load, target, order, predicates=True)
    if isinstance(map, str) or order is None:
        return map
    if in_loop(load) and loops.isdisjoint(loops_around(load)):
        return "beside matrix multiplies only the loops of multiplies load tiles ahead"
    return waiting_reason(load, order) or widened_row(load, map)


@dataclass
class SharedRoom:
    """Bytes of shared memory.

    Attributes:
        rings: the bytes of a slot of each ring of operands.
        free: the bytes beside tiles that are always in memory, without the rings of operands.
        reserved: the bytes of these that staging buffers and exchanges need, unless the rings are deeper.
        in_tensor_memory: whether accumulators are in tensor memory, where the next one is beside an epilogue.
    """

    rings: int
    free: int
    reserved: int
    in_tensor_memory: bool

    @property
    def beside_inner(self) -> int:
        """The bytes for a tile of the innermost loop, beside two slots of each ring, or one if there is only one."""
        deep = _SLOTS if _SLOTS * self.rings <= self.free else 1
        return min(self.free - deep * self.rings, self.free - self.rings - self.reserved)

    @property
    def beside_outer(self) -> int:
        """The bytes for a tile of an outer loop, which may be that of two roles (alternate_tiles.py)."""
        roles = 1 if self.in_tensor_memory else 2
        return (self.free - _INNER_SLOTS * self.rings - roles * self.reserved) // roles

    def take(self, size_bytes: int) -> None:
        """Gives bytes to a tile."""
        self.free -= size_bytes


def shared_room(plan: MatrixPlan, entry: ir.OpView, target: Target, occupancy: int) -> SharedRoom:
    """The shared memory of a plan whose operands in tensor memory are placed."""
    in_rings = bytes_of_loops(tile for tile in plan.loads if in_loop(tile.owner.opview))
    always = sum(slot_bytes(tile) for tile in plan.loads if not in_loop(tile.owner.opview))
    always += bytes_of_loops(_stored_operands(plan))
    free, reserved = target.shared_bytes // occupancy - always, sum(_staged_bytes(entry)) + _RESERVED_BYTES
    in_tensor_memory = any(multiply.unit.accumulates_in_tensor_memory for multiply in plan.multiplies.values())
    return SharedRoom(in_rings, free, reserved, in_tensor_memory)


def bytes_of_loops(tiles: Iterable[ir.Value]) -> int:
    """The bytes of tiles; the tiles of successive loops have the same memory."""
    own, inner = defaultdict[ir.Operation | None, int](int), defaultdict[ir.Operation | None, set[ir.Operation]](set)
    for tile in tiles:
        around = [] if isinstance(tile.owner, ir.Block) else loops_around(tile.owner.opview)
        own[around[0] if around else None] += slot_bytes(tile)
        for loop, outer in zip(around, (*around[1:], None), strict=bool(around)):
            inner[outer].add(loop)

    def bytes_of(loop: ir.Operation | None) -> int:
        return own[loop] + max(map(bytes_of, inner[loop]), default=0)

    return bytes_of(None)


def staging_limit(plan: MatrixPlan, entry: ir.OpView, target: Target, occupancy: int) -> int:
    """The most bytes of a staging buffer: the memory beside a slot of each ring, or an operand that threads store."""
    if not plan.multiplies:
        return STAGING_LIMIT_BYTES
    room = shared_room(plan, entry, target, occupancy)
    largest, left = max(map(slot_bytes, _stored_operands(plan)), default=0), room.free - room.rings
    least = SLICE_BYTES
    if any(_staged_bytes(entry)):
        # A loop around that of the multiplies loads the operands of its next iteration while a slice is stored.
        of_others = target.shared_bytes - target.shared_bytes // occupancy
        least = min(least, left + of_others - _LEAST_RESERVED_BYTES)
    return min(STAGING_LIMIT_BYTES, max(left - _RESERVED_BYTES, largest, least))


def _stored_operands(plan: MatrixPlan) -> dict[ir.Value, None]:
    """The operands that threads store in shared memory."""
    operands = (each for multiply in plan.multiplies.values() for each in (multiply.lhs, multiply.rhs))
    return {
        operand.value: None
        for operand in operands
        if operand.map is None and operand.register_layout is None and operand.tensor_layout is None
    }


def _is_beside_chain(tile: ir.Value, plan: MatrixPlan) -> bool:
    """Whether a tile is loaded in a loop of multiplies of which one needs the result of another."""
    loops = set(loops_around(tile.owner.opview))
    multiplies = (multiply.op for multiply in plan.multiplies.values())
    return any(not loops.isdisjoint(loops_around(op)) and is_chained(op) for op in multiplies)


def converted_tiles(plan: MatrixPlan) -> Iterator[ir.Value]:
    """The loaded tiles whose elements threads convert and store as an operand, which depends on no product.

    Threads load them ahead to registers. In a ring they would cross the port of shared memory three times: 643 cycles
    of a step of W8A16 (128x128x64, B200) instead of 515.
    """
    return (value for values in _converted_operands(plan) for value in values if _is_loaded(value))


def values_of_integers(plan: MatrixPlan) -> set[ir.Value]:
    """The operands that threads convert from integers or select by bytes, and all values from which they compute them.

    Loads, conversions of bits to floats, choices, arithmetic of 16-bit floats and stores have several elements in a
    register.
    """
    return {value for values in _converted_operands(plan) if _are_in_words(values) for value in values}


def _are_in_words(values: Sequence[ir.Value]) -> bool:
    are_chosen = any(map(_is_chosen, values)) and all(map(_is_loaded_in_words, values))
    return are_chosen or any(value.owner.operation.name == _CONVERSION for value in values)


def _converted_operands(plan: MatrixPlan) -> Iterator[list[ir.Value]]:
    """The operands that threads compute from loads alone and store, each with all values from which it is computed."""
    for operand in _stored_operands(plan):
        behind = list(reached(operand, operands_behind))
        if not any(value in plan.multiplies or isinstance(value.owner, ir.Block) for value in behind):
            yield behind


def _is_chosen(value: ir.Value) -> bool:
    """Whether a tile has elements of 8 or 16 bits that bytes select."""
    op = value.owner
    if op.operation.name != _SELECT or element_bits(value.type.element) not in (8, 16):
        return False
    (condition, *_), name = op.operation.operands, _COMPARISON
    if not _is_loaded(condition) and (isinstance(condition.owner, ir.Block) or condition.owner.operation.name != name):
        return False
    bytes_ = [condition] if _is_loaded(condition) else condition.owner.operation.operands
    return all(element_bits(each.type.element) == 8 for each in bytes_)


def _is_loaded_in_words(value: ir.Value) -> bool:
    """Whether an access has all elements of a word, if threads load a tile."""
    return not _is_loaded(value) or access_vector(value.owner)[1] * element_bits(value.type.element) >= _WORD_BITS


def operands_behind(value: ir.Value) -> list[ir.Value]:
    """The tiles from which an operation computes another one; none of a loaded tile."""
    if isinstance(value.owner, ir.Block) or _is_loaded(value):
        return []
    return [each for each in value.owner.operands if isinstance(each.type, TileType)]


def _is_loaded(value: ir.Value) -> bool:
    return not isinstance(value.owner, ir.Block) and value.owner.operation.name == _LOAD


def _staged_bytes(entry: ir.OpView) -> Iterator[int]:
    """The bytes of the tiles that TMA may store in each iteration of a loop; others have the memory of rings."""
    for op in operations_named(entry, BULK_ORDERS):
        if in_loop(op):
            type = op.view.type
            yield min(STAGING_LIMIT_BYTES, prod(type.tile_shape) * element_bytes(type.element))
