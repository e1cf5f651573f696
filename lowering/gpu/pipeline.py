"""Rings get several slots, so that copies run ahead of what uses them.

With roles the `load` role runs ahead by itself. Without, each loop issues the copies of a later turn: those of the
first turns before the loop, then one turn's in each turn.
"""

from __future__ import annotations

from typing import Any

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.channel import MMA, TMA
from tilec.lowering.gpu.partition_roles import is_free
from tilec.lowering.gpu_to_ptx.kernel_lowering import operations_below
from tilec.lowering.gpu_to_ptx.shared_plan import shared_plan, tensor_columns
from tilec.lowering.target import Target

DEFAULT_STAGES = 4
# Left for the scratch of reductions and layout conversions.
SCRATCH_RESERVE_BYTES = 16384
_PUTS = ("tile_gpu.put_begin", "tile_gpu.tma_load", "tile_gpu.put_commit")


def pipeline(kernel: Any, target: Target, stages: int | None = None) -> None:
    """Deepens the rings of a tile_gpu.kernel in place, as far as memory goes; `stages` is the most slots of a ring."""
    block = kernel.operation.regions[0].blocks[0]
    channels = [op for op in block.operations if op.operation.name == "tile_gpu.make_channel" and op.reuse == "ring"]
    deep = _deepen_tma(kernel, [op for op in channels if op.producer == TMA], target, stages or DEFAULT_STAGES)
    _deepen_accumulators(kernel, [op for op in channels if op.producer == MMA], target)
    if not any(op.operation.name == "tile_gpu.roles" for op in block.operations):
        for op in list(operations_below(kernel.operation)):
            if op.name == "scf.for":
                _run_ahead(op, {channel.operation.results[0] for channel in deep}, deep)


def _deepen_tma(kernel: Any, channels: list[Any], target: Target, most: int) -> list[Any]:
    plan = shared_plan(kernel, target)
    slots = sum(plan.channels[op.operation.results[0]].slot_bytes for op in channels)
    if not slots:
        return []
    free = target.shared_bytes - SCRATCH_RESERVE_BYTES - (plan.scratch - slots)
    stages = max(1, min(most, free // slots))
    for op in channels:
        op.operation.attributes["stages"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), stages)
    return channels if stages > 1 else []


def _deepen_accumulators(kernel: Any, channels: list[Any], target: Target) -> None:
    """Two accumulators, so that one tile is stored while the next is multiplied."""
    needed = sum(
        tensor_columns(buffer)
        for op in kernel.operation.regions[0].blocks[0].operations
        if op.operation.name == "tile_gpu.make_channel" and op.shares is None
        for buffer in op.operation.results[0].type.buffers
        if buffer.memory == "tensor"
    )
    for op in channels:
        columns = sum(tensor_columns(buffer) for buffer in op.operation.results[0].type.buffers)
        if needed + columns <= target.tensor_memory_columns:
            op.operation.attributes["stages"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 2)
            needed += columns


def _run_ahead(loop: ir.Operation, deep: set[ir.Value], channels: list[Any]) -> None:
    """Moves the copies that stand in a loop's body, and depend on its counter alone, some turns forward."""
    body = loop.regions[0].blocks[0]
    operations = [op.operation for op in body.operations]
    puts = [op for op in operations if op.name in _PUTS and _channel(op) in deep]
    needed = _slice(puts, body)
    if not puts or needed is None:
        return
    stages = min(ir.IntegerAttr(c.operation.attributes["stages"]).value for c in channels)
    group = [op for op in operations if op in needed or op in puts]
    lower, upper, step = list(loop.operands)[:3]
    with loop.location:
        with ir.InsertionPoint(loop):
            ahead = _binary("arith.muli", step, _constant(step.type, stages - 1))
            first_end = _binary("arith.addi", lower, ahead)
            end = _binary("arith.minsi", first_end, upper)
            prologue = ir.Operation.create("scf.for", [], [lower, end, step], regions=1)
            turn = prologue.regions[0].blocks.append(lower.type, arg_locs=[loop.location])
            with ir.InsertionPoint(turn):
                _clone(group, body.arguments[0], turn.arguments[0], first_round=not _in_loop(loop))
                ir.Operation.create("scf.yield")
        with ir.InsertionPoint(puts[0]):
            following = _binary("arith.addi", body.arguments[0], ahead)
            less = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 2)
            inside = ir.Operation.create(
                "arith.cmpi", [ir.IntegerType.get_signless(1)], [following, upper], {"predicate": less}
            ).result
            branch = ir.Operation.create("scf.if", [], [inside], regions=2)
            with ir.InsertionPoint(branch.regions[0].blocks.append()):
                _clone(group, body.arguments[0], following)
                ir.Operation.create("scf.yield")
    for op in reversed(puts):
        op.erase()


def _channel(op: ir.Operation) -> ir.Value:
    return op.operands[len(op.operands) - 1]


def _slice(puts: list[ir.Operation], body: ir.Block) -> list[ir.Operation] | None:
    """The scalar operations of the body behind the copies; None where they need more than the counter."""
    needed: list[ir.Operation] = []
    work = [operand for op in puts for operand in op.operands]
    while work:
        value = work.pop()
        owner = value.owner
        if isinstance(owner, ir.Block):
            if owner == body and value != body.arguments[0]:
                return None
        elif owner.operation.block == body and owner.operation not in needed and owner.operation not in puts:
            if not is_free(owner.operation):
                return None
            needed.append(owner.operation)
            work += list(owner.operation.operands)
    return needed


def _in_loop(op: ir.Operation) -> bool:
    parent = op.parent
    while parent is not None and parent.operation.name != "tile_gpu.kernel":
        if parent.operation.name in ("scf.for", "scf.while"):
            return True
        parent = parent.operation.parent
    return False


def _clone(group: list[ir.Operation], counter: ir.Value, replacement: ir.Value, *, first_round: bool = False) -> None:
    values = {counter: replacement}
    for op in group:
        copy = op.clone(ip=ir.InsertionPoint.current)
        for index, operand in enumerate(op.operands):
            copy.operands[index] = values.get(operand, operand)
        if first_round and op.name in ("tile_gpu.put_begin", "tile_gpu.put_commit"):
            copy.attributes["first_round"] = ir.UnitAttr.get()
        values.update(zip(op.results, copy.results, strict=True))


def _binary(name: str, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    return ir.Operation.create(name, [lhs.type], [lhs, rhs]).result


def _constant(type: ir.Type, value: int) -> ir.Value:
    return ir.Operation.create("arith.constant", [type], [], {"value": ir.IntegerAttr.get(type, value)}).result
