"""Operands of multiplies that threads load and store in a ring become copies by a role of its own.

before:   %tile = load_global %pointers;  put_begin;  store_shared %tile;  put_commit    in the role of the multiplies
after:    put_begin;  copy_global %pointers;  put_commit                                 in the role `copy`

Copies are on their way while the threads that multiply wait for nothing but full slots. Addresses are computed again in
the role that copies, in the layout of its warps. Loads that cannot be copies stay, and `advance-loads` has them.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from tilec.dialect.build import build
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.channel import COPIES, MMA, THREADS, WGMMA, MakeChannelOp
from tilec.dialect.tile_gpu.operations.copy import COPY_BYTES, CopyGlobalOp, CopyViewOp
from tilec.dialect.tile_gpu.operations.kernel import COPY, COPY_WARPS, KernelOp
from tilec.dialect.tile_gpu.operations.matrix import WgmmaOp
from tilec.dialect.tile_gpu.operations.memory import ViewBufferOp
from tilec.dialect.tile_gpu.operations.view import LoadGlobalOp, LoadViewOp
from tilec.dialect.tile_gpu.registers import registers_per_thread, whole_warpgroups
from tilec.dialect.tile_gpu.types import SHARED
from tilec.dialect.walk import operations_inside, terminator_of, users_of
from tilec.lowering import emitter
from tilec.lowering.gpu.channels.ring_depth import are_loaded_where_stored, rings_of
from tilec.lowering.gpu.channels.tile_moves import (
    MOVES,
    AddressesAgain,
    buffer_before,
    may_be_computed_again,
    moved_layout,
    moved_tile,
)
from tilec.lowering.gpu.ir.enclosing import LOOPS, path_to
from tilec.lowering.gpu.ir.operation_role import compute_role, has_repeatable_elements, values_of_threads
from tilec.lowering.gpu.ir.slots import PUT, users_of_slots
from tilec.lowering.gpu.ir.tile_size import element_bits
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.memory.shared_plan import shared_layout
from tilec.lowering.kernel_hints import blocks_of_hint
from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.scale_layout import is_scale_layout
from tilec.lowering.layout.vectors import register_vector
from tilec.remarks import Loss, Remark

_GLOBAL, _VIEW = LoadGlobalOp.OPERATION_NAME, LoadViewOp.OPERATION_NAME
_ZEROS = ("zero", "0x0", "0x00")
# More warps than these leave the role that copies no registers.
_MOST_COMPUTE_WARPS = 8
# Each has an address and a number of a row to compare: ptxas 13.0 spills with twice as many (tiles of 128x64).
_MOST_POINTERS = 16
# Besides those of the sums: ptxas 13.0 compiles no wgmma for whose registers the launch has too few (C7602).
_OTHER_REGISTERS = 24


@dataclass(frozen=True)
class _Copy:
    """A load whose tile a ring gets, and the copy that it becomes.

    Attributes:
        channel: the declaration of the ring.
        store: the operation that stores the tile in a slot.
        load: the load of the tile.
        moves: the operations from the load to the store, which compute nothing.
        vector: the elements of a copy.
        layout: which thread copies which elements of the loaded tile.
    """

    channel: MakeChannelOp
    store: ir.Operation
    load: ir.Operation
    moves: tuple[ir.Operation, ...]
    vector: int
    layout: LinearLayout


def copy_rows(kernel: KernelOp, context: Context) -> None:
    """Rewrites a tile_gpu.kernel with channels, before it is split into roles, in place.

    A remark names the loads that stay, and the reason.
    """
    rings = [op for op in rings_of(kernel, THREADS) if _is_loaded_ring(op)] if kernel.roles is None else []
    if not rings:
        return
    unknown = values_of_threads(kernel)
    refusal = _refusal_of_kernel(kernel)
    found = [refusal or _copy_of(kernel, op, unknown) for op in rings]
    addresses = AddressesAgain(COPY)
    for op, each in zip(rings, found, strict=True):
        if isinstance(each, _Copy):
            _rewrite(each, addresses)
        else:
            message = f"threads load the operand and store it in shared memory: {each}"
            location = source_location(_stores(op)[0].location)
            context.remarks.append(Remark("pipeline", message, location, Loss("operand")))


def _is_loaded_ring(op: MakeChannelOp) -> bool:
    """Whether a ring of threads has operands of multiplies that the threads load."""
    buffers = op.channel.type.buffers
    if len(buffers) != 1 or buffers[0].memory != SHARED or is_scale_layout(buffers[0].layout):
        return False
    return op.consumer_names in ([WGMMA], [MMA]) and op.shares is None and are_loaded_where_stored([op])


def _refusal_of_kernel(kernel: KernelOp) -> str | None:
    operations = operations_inside(kernel)
    warps = kernel.warps * len({compute_role(op) for op in operations})
    if warps > _MOST_COMPUTE_WARPS:
        return f"{warps} warps compute, and more than {_MOST_COMPUTE_WARPS} leave a role that copies no registers"
    if blocks_of_hint(kernel) > 1:
        return "several blocks of an SM leave a role that copies no registers"
    if kernel.cluster_ctas > 1:
        return "the tile block is a cluster"
    registers = max(map(_instruction_registers, operations), default=0)
    at_launch = registers_per_thread(whole_warpgroups(warps + COPY_WARPS + 1))
    if registers + _OTHER_REGISTERS > at_launch:
        return f"a multiply adds to {registers} registers of a thread, which has {at_launch} beside a role that copies"
    return None


def _instruction_registers(op: ir.Operation) -> int:
    """The registers of a thread to which an instruction of wgmma adds; 0 for other operations."""
    if op.name != WgmmaOp.OPERATION_NAME:
        return 0
    tile = ir.RankedTensorType(op.results[0].type)
    return int(tile.shape[1]) * element_bits(tile.element_type) // 64


def _stores(op: MakeChannelOp) -> list[ir.Operation]:
    return list(users_of_slots(op.channel, (PUT,)))


# ---- which loads can be copies


def _copy_of(kernel: KernelOp, op: MakeChannelOp, unknown: Set[ir.Value]) -> _Copy | str:
    """The copy that fills a ring, or the reason why a load stays."""
    stores = _stores(op)
    if len(stores) != 1 or any(user.name == MakeChannelOp.OPERATION_NAME for user in users_of(op.channel)):
        return "several tiles use one ring"
    load, *moves = _chain_of(stores[0])
    refusal = _refusal_of_load(load, moves, stores[0]) or _refusal_of_addresses(load, unknown)
    if refusal is not None:
        return refusal
    widths = _widths(load, stores[0])
    if not widths:
        return f"a copy needs {min(COPY_BYTES)} bytes that are known to be adjacent and aligned in memory"
    layouts = {vector: _layout(load, vector, kernel.warps) for vector in widths}
    fitting = [vector for vector in widths if _is_adjacent(layouts[vector], vector, moves, stores[0])]
    if not fitting:
        return f"no {min(COPY_BYTES)} bytes are adjacent both in memory and in shared memory"
    if load.name == _GLOBAL and layouts[fitting[0]].register_count > _MOST_POINTERS * fitting[0]:
        return f"a thread that copies has registers for {_MOST_POINTERS} pointers: use smaller tiles, or wider rows"
    return _Copy(op, stores[0], load, tuple(moves), fitting[0], layouts[fitting[0]])


def _chain_of(store: ir.Operation) -> list[ir.Operation]:
    """The operation that computes the elements of the stored tile, then those that move them."""
    found = [store.operands[0].owner.operation]
    while found[0].name in MOVES:
        found.insert(0, found[0].operands[0].owner.operation)
    return found


def _refusal_of_load(load: ir.Operation, moves: Sequence[ir.Operation], store: ir.Operation) -> str | None:
    if load.name not in (_GLOBAL, _VIEW):
        return "its elements are computed on their way"
    if load.name == _VIEW and buffer_before(store.operands[1].type, moves) is None:
        return "its elements are moved on their way"
    if any(len(list(op.results[0].uses)) > 1 for op in (load, *moves)):
        return "other operations use the tile too"
    if not has_repeatable_elements(load):
        return "other accesses of the kernel precede the load or follow it"
    if load.name == _VIEW:
        is_zero = load.opview.padding in (None, *_ZEROS)
    else:
        is_zero = load.opview.other is None or emitter.is_zero(load.opview.other)
    return None if is_zero else "a copy has no padding but zero"


def _refusal_of_addresses(load: ir.Operation, unknown: Set[ir.Value]) -> str | None:
    """A role of its own needs the addresses, and the conditions and bounds around the load."""
    decisions = [value for outer in path_to(load)[:-1] for value in _decisions(outer)]
    if not unknown.isdisjoint(decisions) or not all(may_be_computed_again(value, unknown) for value in load.operands):
        return "its addresses, or loops and branches around it, depend on what threads compute or a loop carries"
    return None


def _decisions(op: ir.Operation) -> list[ir.Value]:
    """The operands on which it depends whether and how often the inside of an operation runs."""
    if op.name == "scf.while":
        return [terminator_of(op.regions[0].blocks[0]).operands[0]]
    return list(op.operands)[: 3 if op.name in LOOPS else 1]


def _widths(load: ir.Operation, store: ir.Operation) -> list[int]:
    """The numbers of elements that a copy can have by its size, adjacent in memory, the largest first."""
    bits, vector = element_bits(store.operands[1].type.element), load.opview.vector
    sizes = [8 * size // bits for size in reversed(COPY_BYTES) if 8 * size % bits == 0]
    return [size for size in sizes if size <= min(vector, _extent(load))]


def _extent(load: ir.Operation) -> int:
    """The elements of a tile along the dimension of its vectors."""
    shape = ir.RankedTensorType(load.results[0].type).shape
    along = load.opview.vector_dimension if load.name == _VIEW else len(shape) - 1
    return 1 if along is None else shape[along]


def _is_adjacent(layout: LinearLayout, vector: int, moves: Sequence[ir.Operation], store: ir.Operation) -> bool:
    """Whether each `vector` successive registers are adjacent in the slot."""
    buffer, stored = shared_layout(store.operands[1].type), moved_layout(layout, moves)
    registers, threads = (buffer.matrix @ matrix for matrix in (stored.register_matrix, stored.thread_matrix))
    found = register_vector(registers.columns, threads.columns, buffer.element_bytes, vector)
    return found == tuple(range(vector.bit_length() - 1))


def _layout(load: ir.Operation, vector: int, warps: int) -> LinearLayout:
    """Neighbouring lanes copy neighbouring vectors; warps after those of the role hold the same as the others."""
    type = ir.RankedTensorType(load.results[0].type)
    along = load.opview.vector_dimension if load.name == _VIEW else None
    made = blocked(type.shape, COPY_WARPS, along, vector)
    spare = warps.bit_length() - COPY_WARPS.bit_length()
    return LinearLayout(made.register, made.lane, (*made.warp, *((0,) * len(type.shape),) * spare), made.shape)


# ---- the copies


def _rewrite(copy: _Copy, addresses: AddressesAgain) -> None:
    copy.channel.operation.attributes["producer"] = ir.StringAttr.get(COPIES)
    with copy.load.location, ir.InsertionPoint(copy.store):
        (_emit_by_pointers if copy.load.name == _GLOBAL else _emit_of_view)(copy, addresses)
    for op in (copy.store, *reversed(copy.moves), copy.load):
        op.erase()


def _emit_by_pointers(copy: _Copy, addresses: AddressesAgain) -> None:
    def moved(tile: ir.Value) -> ir.Value:
        return moved_tile(addresses.tile(tile, copy.layout), copy.layout, copy.moves, COPY)

    load, buffer = copy.load.opview, copy.store.operands[1]
    mask = None if load.mask is None else moved(load.mask)
    build(CopyGlobalOp.OPERATION_NAME, [moved(load.pointers), mask, buffer], (), {"vector": copy.vector})


def _emit_of_view(copy: _Copy, addresses: AddressesAgain) -> None:
    load, buffer, indices = copy.load.opview, copy.store.operands[1], None
    type = buffer_before(buffer.type, copy.moves)
    if type != buffer.type:
        buffer = build(ViewBufferOp.OPERATION_NAME, [buffer], [type]).results[0]
    if load.indices is not None:
        indices = addresses.tile(load.indices, copy.layout.keep(load.sparse_dimension))
    operands = [load.base, list(load.offsets), list(load.extents), list(load.strides), indices, buffer]
    attributes = {
        "sparse_dimension": load.sparse_dimension,
        "vector": copy.vector,
        "vector_dimension": load.vector_dimension if copy.vector > 1 else None,
        "inbounds": load.inbounds,
        "layout": str(copy.layout),
    }
    build(CopyViewOp.OPERATION_NAME, operands, (), attributes)
