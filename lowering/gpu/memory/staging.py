"""Staging buffers: the tiles that TMA stores. Buffers of a role share memory: each waits for the store before it."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.memory import BarrierOp, FenceAsyncOp, StoreSharedOp, StoreWaitOp
from tilec.dialect.tile_gpu.operations.placed import PlaceOp, StoreTileOp
from tilec.dialect.tile_gpu.operations.tma import TmaStoreOp
from tilec.dialect.walk import terminator_of, users_of
from tilec.lowering.gpu.ir.build_channels import ChannelDeclarations, Position
from tilec.lowering.gpu.ir.enclosing import is_repeated
from tilec.lowering.gpu.ir.operation_role import compute_role, set_compute_role

_STORE = StoreTileOp.OPERATION_NAME


def is_staged(op: ir.Operation) -> bool:
    """Whether a placed tile is stored by TMA."""
    return op.name == PlaceOp.OPERATION_NAME and any(use.owner.operation.name == _STORE for use in op.results[0].uses)


def make_staging_buffers(
    kernel: KernelOp, placed: Sequence[tuple[ir.Operation, Position]], declarations: ChannelDeclarations
) -> None:
    """Rewrites the stores of these tiles, which are in program order with their positions."""
    of_roles: dict[str, dict[ir.Type, ir.Value]] = {}
    rows_of_roles: dict[tuple[str, ir.Type], ir.Value] = {}
    waits: set[tuple[str, ir.Block]] = set()
    for op, position in placed:
        store, type, role = _store_of(op), op.results[0].type, compute_role(op)
        indices = store.opview.rows
        if indices is not None and indices == op.results[0]:
            # The tile that is stored follows.
            continue
        is_first = role not in of_roles and not is_repeated(op)
        buffers = of_roles.setdefault(role, {})
        if type not in buffers:
            buffers[type] = declarations.shared(position, type, next(iter(buffers.values()), None))
        if indices is not None:
            key = role, indices.type
            if key not in rows_of_roles:
                rows_of_roles[key] = declarations.shared(position, indices.type, None)
            indices = rows_of_roles[key]
        _stage(op, buffers[type], indices, None if is_first else _waits_only_for_reads(op, waits))
    end = terminator_of(kernel.body.blocks[0])
    for role in of_roles:
        with kernel.operation.location, ir.InsertionPoint(end):
            set_compute_role(build(StoreWaitOp.OPERATION_NAME), role)


def _waits_only_for_reads(op: ir.Operation, waits: set[tuple[str, ir.Block]]) -> bool:
    """Whether a placed tile waits only until its buffer is read, not until earlier stores are visible.

    Bulk stores have no order among themselves (PTX ISA 9.7.9.25): one that another must follow is waited for. The first
    wait in a block shows the stores of earlier iterations to all stores of the role there: `waits`, to which the wait
    is added, has the blocks in which roles wait for earlier stores.
    """
    attributes = _store_of(op).attributes
    if "after_stores" not in attributes:
        return True
    wait = compute_role(op), op.block
    is_made = wait in waits
    waits.add(wait)
    return is_made and "after_itself" in attributes


def _store_of(op: ir.Operation) -> ir.Operation:
    """The store of a placed tile."""
    (store,) = users_of(op.results[0])
    return store


def _stage(op: ir.Operation, buffer: ir.Value, rows: ir.Value | None, reads: bool | None) -> None:
    """Rewrites a store, which waits for reads of the buffer alone or for stores too; with None it waits for neither.

    `rows` is the buffer of the indices of a scatter. The issuing thread reads them before the barrier after its wait.
    """
    store = _store_of(op)
    made = []
    with op.location, ir.InsertionPoint(op):
        if reads is not None:
            made.append(build(StoreWaitOp.OPERATION_NAME, attributes={"read": reads}))
            made.append(build(BarrierOp.OPERATION_NAME))
        made.append(build(StoreSharedOp.OPERATION_NAME, [op.operands[0], buffer]))
        indices = None if rows is None else store.opview.rows.owner.operation
        if indices is not None:
            made.append(build(StoreSharedOp.OPERATION_NAME, [indices.operands[0], rows]))
        # PTX ISA 9.7.9.25: generic accesses that the store must follow are ordered before it by a proxy fence too.
        after_accesses = "after_accesses" in store.attributes
        made.append(build(FenceAsyncOp.OPERATION_NAME, attributes={"global_memory": after_accesses}))
        made.append(build(BarrierOp.OPERATION_NAME))
    view = store.opview
    with store.location, ir.InsertionPoint(store):
        operands = [view.map, list(view.coordinates), view.end, rows, buffer]
        made.append(build(TmaStoreOp.OPERATION_NAME, operands, (), {"reduction": view.reduction}))
    for step in made:
        set_compute_role(step, compute_role(op))
    store.erase()
    op.erase()
    if indices is not None:
        indices.erase()
