"""Loads in loops that TMA makes ahead of the threads that read them, or the reason why the threads load themselves.

A thread has few loads in flight, and none while it computes. The role `load` fills a ring of slots in the meantime. On
an H200 this pays where a block computes one tile after the other; blocks of one tile each are many, and load while
others compute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from math import prod

from tilec.dialect.cuda_tile.type_rules import PADDING_VALUES
from tilec.dialect.cuda_tile.types import TokenType
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.registers import registers_per_thread
from tilec.dialect.walk import operations_inside, operations_named, reached
from tilec.lowering.kernel_hints import REMAINING_LOAD, tma_refusal
from tilec.lowering.layout.shared_layout import swizzle_span_bytes
from tilec.lowering.model.constants import Device, device_of
from tilec.lowering.target import LANES, Target
from tilec.lowering.tile.analysis.tile_operations import (
    BREAK,
    CONTINUE,
    FOR,
    IF,
    LOADS,
    LOOPS,
    carried_sources,
    counting_loop,
    ends,
    in_loop,
    initial_value,
    is_tile,
    loops_around,
    producer,
)
from tilec.lowering.tile_to_gpu.access.alignment import VECTOR_BYTES, access_vector, element_bytes, per_byte
from tilec.lowering.tile_to_gpu.access.memory_order import MemoryOrder
from tilec.lowering.tile_to_gpu.access.tensor_maps import TensorMap, map_of_tensor, tensor_map_for
from tilec.lowering.tma.rules import MAX_BOX

_LOAD = "cuda_tile.load_view_tko"
_ENTRY = "cuda_tile.entry"
_EXTRACT = "cuda_tile.extract"
# The widest element of a tensor map, which makes the widest box of a row.
_WIDEST_ELEMENT, _WIDEST_ELEMENT_BYTES = "i64", 8
# Larger tiles leave fewer than three slots in shared memory.
SLOT_LIMIT_BYTES = 65536
_KILOBYTE = 1024
# The least warps that compute, and the largest tiles that are live at once: a scan of pairs has four.
_WARPS, _LIVE_TILES = 4, 4
_UNKNOWN_POSITION = (
    "its index, or a loop or branch around it, depends on memory, on a tile or on the result of a branch"
)


def row_maps(entry: ir.OpView, target: Target, order: MemoryOrder | None) -> dict[ir.Value, TensorMap | str]:
    """For each tile that an entry without multiplies loads, the map of a ring that TMA fills, or why there is none."""
    loads = operations_named(entry, (_LOAD,))
    maps = {load.operation.results[0]: row_map(load, target, order) for load in loads}
    slot = sum(slot_bytes(tile) for tile, map in maps.items() if isinstance(map, TensorMap))
    if slot <= SLOT_LIMIT_BYTES:
        return maps
    refusal = f"the tiles that loops load have {slot} bytes, and rings of them fewer than three slots"
    return {tile: map if isinstance(map, str) else refusal for tile, map in maps.items()}


def row_map(load: ir.OpView, target: Target, order: MemoryOrder | None) -> TensorMap | str:
    """The map of a load whose tile threads read from a ring, or the reason why they load it themselves."""
    map = tma_row_map(load, target, order)
    if isinstance(map, str) or order is None:
        return map
    refusal = _refusal(load, order)
    if refusal is None and row_dimension(load.operation.results[0], map) is not None:
        # Threads would exchange the rows: a thread of several has one of each.
        return _merged(load, map)
    if refusal is None and _waits_for_iterations(load, device_of(target.name)):
        return _in_wide_rows(load, map)
    return refusal or _threads_are_faster(load, target) or _in_wide_boxes(load, map, target)


def least_cycles(loop: ir.OpView, device: Device) -> float:
    """The least cycles of an iteration of a loop: a lane computes an element in each."""
    tiles = (result for op in operations_inside(loop) for result in op.results if is_tile(result))
    return sum(prod(tile.type.shape) for tile in tiles) / device.fma_per_cycle


def _waits_for_iterations(load: ir.OpView, device: Device) -> bool:
    """Whether the innermost loop around a load passes tiles on, and computes longer than memory and TMA load its tiles.

    Registers then leave room for few blocks, whose threads would wait for memory in each iteration.
    """
    loop = loops_around(load)[0].opview
    if not any(map(is_tile, loop.body.blocks[0].arguments)) or _needs_registers_of_loads(loop, device):
        return False
    tiles = [op.operation.results[0] for op in operations_named(loop, (_LOAD,))]
    memory = sum(map(slot_bytes, tiles)) / device.hbm_bytes_per_cycle
    return least_cycles(loop, device) > max(memory, len(tiles) * device.tma_issue_cycles)


def _needs_registers_of_loads(loop: ir.OpView, device: Device) -> bool:
    """Whether the warp that issues loads may take the registers of a second block, where threads load as fast."""
    largest = max(prod(each.type.shape) for op in operations_inside(loop) for each in op.results if is_tile(each))
    registers = _LIVE_TILES * largest // (_WARPS * LANES)
    return device.thread_loaded_kilobytes > 0 and registers > registers_per_thread(2 * (_WARPS + 1))


def row_dimension(tile: ir.Value, map: TensorMap) -> int | None:
    """The dimension along which each use selects one row of a matrix, or one of the equal parts of a row; or None.

    All other dimensions, but the last, have one element.
    """
    shape = tuple(tile.type.shape)
    users = [use.owner for use in tile.uses]
    if not users or any(op.operation.name != _EXTRACT for op in users) or map.contiguous != len(shape) - 1:
        return None
    parts = {tuple(op.result.type.shape) for op in users}
    along = [d for d, extent in enumerate(shape) if extent > 1 and any(part[d] < extent for part in parts)]
    others = [extent for d, extent in enumerate(shape[:-1]) if d not in along]
    is_row = along == [len(shape) - 1] or all(part[d] == 1 for part in parts for d in along)
    return along[0] if len(parts) == len(along) == 1 and is_row and set(others) <= {1} else None


def tma_row_map(
    load: ir.OpView, target: Target, order: MemoryOrder | None, *, predicates: bool = False
) -> TensorMap | str:
    """The map of a load, or why TMA may not make it; without TMA `order` is None, i1 are bytes with `predicates`."""
    refusal = tma_refusal(load, target, order is not None)
    return tensor_map_for(load.view, predicates=predicates) if refusal is None else refusal


def waiting_reason(load: ir.OpView, order: MemoryOrder) -> str | None:
    """Why a load cannot run ahead of the threads that read its tile; None if it can."""
    if not in_loop(load):
        return "it is outside of loops, where no load can run ahead"
    if REMAINING_LOAD in load.attributes:
        return "its loop has the iterations that are left by groups of several"
    if per_byte(load.view.type.element) > 1:
        return "its elements share bytes"
    if not order.may_run_early(load):
        return order.delay_of(load)
    if not has_known_position(load, order):
        return _UNKNOWN_POSITION
    return None


def _refusal(load: ir.OpView, order: MemoryOrder) -> str | None:
    reason = waiting_reason(load, order)
    if reason is None and slot_bytes(load.operation.results[0]) > SLOT_LIMIT_BYTES // 2:
        return f"a ring of tiles of {slot_bytes(load.operation.results[0])} bytes has fewer than two slots"
    return reason


def _threads_are_faster(load: ir.OpView, target: Target) -> str | None:
    if _is_of_several_tiles(load):
        return None
    most_bytes = device_of(target.name).thread_loaded_kilobytes * _KILOBYTE
    size = element_bytes(load.view.type.element)
    is_wide = access_vector(load)[1] * size == VECTOR_BYTES
    if is_wide and slot_bytes(load.operation.results[0]) <= most_bytes:
        return "threads of many blocks load as fast as memory delivers; a loop over the tiles of a block uses TMA"
    return None


def _is_of_several_tiles(load: ir.OpView) -> bool:
    """Whether a loop around a load visits tiles as far apart as there are tile blocks."""
    steps = [loop.operands[2] for loop in loops_around(load) if loop.name == FOR]
    sources = (value for step in steps for value in reached(step, _operands_behind))
    return any(producer(value, "get_num_tile_blocks") is not None for value in sources)


def slot_bytes(tile: ir.Value) -> int:
    """The bytes of a tile in shared memory."""
    return prod(tile.type.shape) * element_bytes(tile.type.element)


def prefetch_map(op: ir.OpView, use_tma: bool) -> TensorMap | str:
    """The map for the prefetch of a tile, or the reason why TMA does not do it."""
    if not use_tma:
        return "TMA is switched off"
    map = map_of_tensor(op.view, None, rounds_to_tf32=False, paddings=PADDING_VALUES)
    if isinstance(map, str):
        return map
    # A prefetch fills no elements.
    return replace(map, fill="zero") if has_known_position(op) else _UNKNOWN_POSITION


def has_known_position(load: ir.OpView, order: MemoryOrder | None = None) -> bool:
    """Whether the role `load` can compute the index of a load, and the loops and branches around it.

    With an order of accesses, the role also loads single elements again, outside of the innermost loop, where no copy
    waits for them.
    """
    position = [*load.index, *(getattr(load, "offset", None) or ())]
    loop = loops_around(load)[0] if in_loop(load) else None

    def is_loaded_before(element: ir.OpView) -> bool:
        return order is not None and order.may_be_repeated(element) and loop not in loops_around(element)

    return all(_is_known_early(value, is_loaded_before) for value in (*position, *_control(load)))


def has_known_control(op: ir.OpView) -> bool:
    """Whether each role can compute the loops and branches around an operation, without elements of memory."""
    return all(_is_known_early(value, lambda element: False) for value in _control(op))


def _control(op: ir.OpView) -> Iterator[ir.Value]:
    """The bounds of the loops and the conditions of the branches around an operation, from the inside."""
    for parent in _parents(op):
        yield from list(parent.operands)[: {FOR: 3, IF: 1}.get(parent.name, 0)]


def _parents(op: ir.OpView) -> Iterator[ir.Operation]:
    """The structures around an operation, from the inside."""
    parent = op.operation.parent.operation
    while parent.name != _ENTRY:
        yield parent
        parent = parent.parent.operation


def _is_known_early(value: ir.Value, is_loaded_again: Callable[[ir.OpView], bool]) -> bool:
    """Whether the role `load` can compute a scalar or a view: of arguments, constants, counters and single elements."""
    return all(_is_known_to_all_roles(each, is_loaded_again) for each in reached(value, _operands_behind))


def _operands_behind(value: ir.Value) -> Iterable[ir.Value]:
    operands = value.owner.operation.operands if not isinstance(value.owner, ir.Block) else _carried_from(value)
    return (operand for operand in operands if not isinstance(operand.type, TokenType))


def _carried_from(value: ir.Value) -> Iterator[ir.Value]:
    """The values that become a scalar that a loop carries, and the conditions on which it ends or continues early."""
    first, loop = initial_value(value), value.owner.owner.opview
    if is_tile(value) or first is None:
        return
    yield from (first, *(carried_sources(value) or ()))
    for end in (*ends(loop, BREAK), *ends(loop, CONTINUE)):
        yield from (parent.operands[0] for parent in _parents(end) if parent.name == IF)


def _is_known_to_all_roles(value: ir.Value, is_loaded_again: Callable[[ir.OpView], bool]) -> bool:
    """Whether a value is an argument, a counter, a scalar that a loop carries, or one that a role can have again."""
    if isinstance(value.owner, ir.Block):
        parent = value.owner.owner.operation
        return parent.name == _ENTRY or counting_loop(value) is not None or parent.name in LOOPS and not is_tile(value)
    operation = value.owner.operation
    if is_tile(value) and prod(value.type.shape) > 1 or len(operation.regions):
        return False
    if operation.name in LOADS:
        return is_loaded_again(operation.opview)
    return not any(isinstance(each.type, TokenType) for each in operation.results)


def _in_wide_boxes(load: ir.OpView, map: TensorMap, target: Target) -> TensorMap | str:
    """The map with the widest boxes of rows, or why TMA would take longer for their number than memory for the bytes.

    Rows without swizzle are read without bank conflicts, because neighbouring lanes read neighbouring vectors.
    """
    map, type = _in_wide_rows(load, map), load.view.type
    size, row = element_bytes(type.element), type.tile_shape[map.contiguous]
    span = swizzle_span_bytes(map.swizzle) or min(row, MAX_BOX * map.merged) * size
    copy_bytes, device = slot_bytes(load.operation.results[0]) // (row * size // span), device_of(target.name)
    least_bytes = device.tma_issue_cycles * device.hbm_bytes_per_cycle
    if copy_bytes < least_bytes and access_vector(load)[1] * size == VECTOR_BYTES:
        return f"TMA issues copies of {copy_bytes} bytes slower than memory reads them: use {least_bytes:.0f} bytes"
    return map


def _in_wide_rows(load: ir.OpView, map: TensorMap) -> TensorMap:
    row_bytes = load.view.type.tile_shape[map.contiguous] * element_bytes(load.view.type.element)
    return _merged(load, map) if row_bytes > (swizzle_span_bytes(map.swizzle) or 0) else map


def widened_row(load: ir.OpView, map: TensorMap) -> TensorMap:
    """The map of a tile of one row without swizzle, in the widest boxes; the same map for other tiles.

    The swizzle of several rows keeps threads that read different rows apart.
    """
    type = load.view.type
    row = type.tile_shape[map.contiguous]
    if prod(type.tile_shape) > row:
        return map
    return _merged(load, map)


def _merged(load: ir.OpView, map: TensorMap) -> TensorMap:
    """The map without swizzle: its element is several, if a row has more than a box and all its parts are divisible."""
    map, type = replace(map, swizzle="none"), load.view.type
    merged = _WIDEST_ELEMENT_BYTES // element_bytes(type.element)
    if type.tile_shape[map.contiguous] <= MAX_BOX or merged <= 1 or access_vector(load)[1] % merged:
        return map
    return replace(map, element=_WIDEST_ELEMENT, merged=merged)
