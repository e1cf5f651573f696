"""Accumulators that no multiply has written get their value in tensor memory, not in the registers that read it.

Before:  %x = if %ran { load_tensor_memory %slot from 64 } else { constant 0 }
after:   if not %ran { store_tensor_memory 0, %slot from 64 };  %x = load_tensor_memory %slot from 64

Two branches that give the same registers need a move for each of them: a quarter of the PTX of a GEMM, which ptxas
takes a tenth of its time to remove.
"""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.dialect.walk import operations_inside
from tilec.lowering.tile_to_gpu import emitter

_LOAD, _STORE = "tile_gpu.load_tensor_memory", "tile_gpu.store_tensor_memory"
_GET, _CONSTANT = "tile_gpu.get", "arith.constant"


def fill_accumulators(kernel: KernelOp) -> None:
    """Rewrites a tile_gpu.kernel in place."""
    for branch in [op for op in operations_inside(kernel) if op.name == "scf.if"]:
        chosen = _load_or_constant(branch)
        if chosen is not None:
            _fill(branch, *chosen)


def fills_accumulator(op: ir.Operation) -> bool:
    """Whether an operation is a branch that only fills accumulators; predictions are of loops that have iterations."""
    if op.name != "scf.if" or len(op.results) or len(op.regions[1].blocks):
        return False
    *stores, _ = [inner.operation for inner in op.regions[0].blocks[0].operations]
    return bool(stores) and all(store.name == _STORE and _is_constant(store.operands[0]) for store in stores)


def _is_constant(value: ir.Value) -> bool:
    return not isinstance(value.owner, ir.Block) and value.owner.operation.name == _CONSTANT


def _load_or_constant(branch: ir.Operation) -> tuple[ir.Operation, ir.Value] | None:
    """The load in the first region of a branch, and the constant that the other gives; None if they have more."""
    if len(branch.results) != 1:
        return None
    load, *others = [op.operation for op in branch.regions[0].blocks[0].operations]
    if load.name != _LOAD or [list(op.operands) for op in others] != [[load.results[0]]]:
        return None
    if not _has_one_reader(load.operands[0]):
        return None
    otherwise = [op.operation for op in branch.regions[1].blocks[0].operations]
    value = otherwise[-1].operands[0]
    return (load, value) if _is_constant(value) else None


def _has_one_reader(slot: ir.Value) -> bool:
    """Whether a slot is that of a channel with one consumer, which nobody else reads until it is released."""
    owner = slot.owner
    if isinstance(owner, ir.Block) or owner.operation.name != _GET:
        return False
    return len(owner.channel.owner.opview.consumers) == 1


def _fill(branch: ir.Operation, load: ir.Operation, value: ir.Value) -> None:
    with branch.location, ir.InsertionPoint(branch):
        never = emitter.binary("arith.xori", branch.operands[0], emitter.boolean(True))
        with emitter.only_if(never):
            stored = value.owner.operation.clone().results[0]
            emitter.gpu("store_tensor_memory", [stored, load.operands[0]], [], first_column=load.opview.first_column)
    load.move_before(branch)
    branch.results[0].replace_all_uses_with(load.results[0])
    branch.erase()
