"""Adjacent tile blocks that load the same tiles become a cluster, which loads each of these tiles once.

    tma_load %b[%n, %k] -> 64x256
    ->  tma_load %b[%n, %k] multicast along 1 if %same -> 64x256, in a kernel with joined_programs 2

%same is computed when the kernel runs: whether the launch has clusters, and both tile blocks have the same %n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tilec.dialect.build import build
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.channel import CLUSTER, TMA, WGMMA, MakeChannelOp
from tilec.dialect.tile_gpu.operations.kernel import ClusterSizeOp, KernelOp, ProgramIdOp
from tilec.dialect.tile_gpu.operations.memory import FenceAcquiredOp
from tilec.dialect.tile_gpu.operations.tma import TmaLoadOp
from tilec.dialect.walk import operations_below, operations_named, owner_of
from tilec.lowering import emitter
from tilec.lowering.gpu.channels.parts_of_loads import loads_into, part_box, with_box
from tilec.lowering.gpu.cost.computed_elements import VisitedTiles
from tilec.lowering.gpu.cost.loop_work import FEW_COLUMNS
from tilec.lowering.gpu.cost.operation_work import multiply_of, work_of
from tilec.lowering.gpu.ir.enclosing import is_repeated, loops_around, path_to
from tilec.lowering.gpu.ir.equal_values import EqualValues
from tilec.lowering.gpu.ir.slots import channels_of
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.kernel_hints import NUM_CTAS, kernel_hint
from tilec.lowering.model.constants import Device, device_of
from tilec.lowering.model.step import HBM, L2, Step, unit_cycles
from tilec.remarks import Loss, Remark

_PAIR = 2
# The cycles of L2 over those of the next unit from which a cluster pays for itself. On H200, blocks of 64x128 gain 17 %
# (1.8 times), those of 64x256 and 128x128 lose 2 to 5 % (1.5 and 1.2 times): benchmarks/hopper/timing.py.
_LEAST_RATIO = 1.7
# The axis of the grid along which tile blocks are adjacent.
_AXIS = 0
_UNKNOWN = "their position is not computed from that of the tile block alone"
_QUOTIENTS = ("arith.divsi", "arith.divui", "arith.floordivsi", "arith.ceildivsi", "arith.ceildivui")


class _NotSharedError(Exception):
    """Why adjacent tile blocks cannot load a tile once."""


@dataclass(frozen=True)
class _SharedLoad:
    """A load, the box and the coordinate of the part of each CTA, and the scalars that decide whether it is shared."""

    load: TmaLoadOp
    box: list[int]
    along: int
    scalars: tuple[ir.Value, ...]


def join_blocks(kernel: KernelOp, context: Context) -> None:
    """Joins adjacent tile blocks of a kernel whose multiplies wait for L2; a remark says why they are not joined."""
    if kernel_hint(kernel, NUM_CTAS) is not None:
        return
    # A part that another tile block loads is not ordered after the acquires of this one.
    if operations_named(kernel, (FenceAcquiredOp.OPERATION_NAME,)):
        return
    neighbours, device = _Neighbours(kernel), device_of(context.target.name)
    streams = {op: loads for op in channels_of(kernel) if (loads := _streamed_loads(op))}
    loops = [{loops_around(load.operation)[-1] for load in loads} for loads in streams.values()]
    if not any(all(_is_bound_by_l2(kernel, loop, device) for loop in each) for each in loops):
        return
    shared: dict[MakeChannelOp, list[_SharedLoad]] = {}
    for channel, loads in streams.items():
        try:
            shared[channel] = _shared_loads(channel, neighbours)
        except _NotSharedError as error:
            # Rings with barriers of other CTAs and those without share no slots (`reuse-channels`): all or none.
            if _loads_once(kernel):
                return
            message = f"adjacent tile blocks do not load the same operands once: {error}"
            location = source_location(loads[0].operation.location)
            context.remarks.append(Remark("tma", message, location, Loss("multicast")))
            return
    kernel.operation.attributes["joined_programs"] = ir.IntegerAttr.get(emitter.integer_type(32), _PAIR)
    for channel, found in shared.items():
        channel.operation.attributes["across"] = ir.StringAttr.get(CLUSTER)
        for each in found:
            _share(each)


def _streamed_loads(channel: MakeChannelOp) -> list[TmaLoadOp]:
    """The loads of a channel of one CTA for wgmma, if all of them are in loops."""
    if (channel.producer, channel.consumer_names, channel.across) != (TMA, [WGMMA], None):
        return []
    buffers = range(len(channel.channel.type.buffers))
    loads = [load for number in buffers for load in loads_into(channel, number)]
    return loads if all(isinstance(each, TmaLoadOp) and is_repeated(each.operation) for each in loads) else []


def _is_bound_by_l2(kernel: KernelOp, loop: ir.Operation, device: Device) -> bool:
    """Whether each unit but L2 has much fewer cycles in an iteration of a loop."""
    work, elements = Step(), VisitedTiles()
    for op in operations_below(loop.opview):
        work += work_of(op, kernel.warps, device, elements)
    units = {unit: cycles for unit, cycles in unit_cycles(work, device).items() if unit != HBM}
    l2 = units.pop(L2, 0)
    return l2 > _LEAST_RATIO * max(units.values(), default=0)


def _loads_once(kernel: KernelOp) -> bool:
    """Whether HBM bounds the loops in any case: the multiplies use each element of an operand for few rows."""
    columns = [each.columns for each in map(multiply_of, operations_below(kernel)) if each is not None]
    return max(columns, default=0) <= FEW_COLUMNS


# ---- conditions


class _Neighbours:
    """The values that two adjacent tile blocks have in common."""

    def __init__(self, kernel: KernelOp) -> None:
        self.equal = EqualValues(kernel, along=_AXIS)
        self.block = kernel.body.blocks[0]
        # A loop of known length does not wait for stores of another tile block.
        self.may_wait = bool(operations_named(kernel, ("scf.while",)))
        self._varies: dict[ir.Value, bool] = {}

    def differing(self, values: Iterable[ir.Value]) -> list[ir.Value]:
        """The scalars of the kernel's block, other than equal ones, from which values derive by arithmetic."""
        outside = [value for value in self._sources(values, self._is_outside) if not self.equal.has(value)]
        if not all(map(self._is_outside, outside)):
            raise _NotSharedError(_UNKNOWN)
        return outside

    def is_computable(self, value: ir.Value) -> bool:
        """Whether a tile block can compute the scalar that its neighbour has."""
        return all(map(self.equal.has, self._sources([value], self.equal.has)))

    def _is_outside(self, value: ir.Value) -> bool:
        return _arithmetic(value) is not None and value.owner.operation.block == self.block

    def _sources(self, values: Iterable[ir.Value], stops: Callable[[ir.Value], bool]) -> list[ir.Value]:
        """The values from which others derive by arithmetic: those at which to stop, equal ones, and no arithmetic."""
        sources: list[ir.Value] = []
        waiting = list(dict.fromkeys(values))[::-1]
        seen = set(waiting)
        while waiting:
            value = waiting.pop()
            op = None if stops(value) or self.equal.has(value) else _arithmetic(value)
            if op is None:
                sources.append(value)
                continue
            found = [operand for operand in dict.fromkeys(op.operands) if operand not in seen]
            seen.update(found)
            waiting += found[::-1]
        return sources

    def varies(self, value: ir.Value) -> bool:
        """Whether a scalar probably differs between adjacent tile blocks: a quotient of their numbers does not."""
        if value not in self._varies:
            op = owner_of(value)
            if self.equal.has(value):
                self._varies[value] = False
            elif op is None or op.name == ProgramIdOp.OPERATION_NAME:
                self._varies[value] = True
            else:
                operands = op.operands[1:] if op.name in _QUOTIENTS else op.operands
                self._varies[value] = any(map(self.varies, operands))
        return self._varies[value]


def _arithmetic(value: ir.Value) -> ir.Operation | None:
    """The operation of a scalar that is computed from other scalars or is the number of the tile block."""
    op = owner_of(value)
    is_arithmetic = op is not None and (op.name.startswith("arith.") or op.name == ProgramIdOp.OPERATION_NAME)
    return op if is_arithmetic else None


def _shared_loads(channel: MakeChannelOp, neighbours: _Neighbours) -> list[_SharedLoad]:
    """The loads of the buffers that adjacent tile blocks probably fill alike; raises _NotSharedError."""
    if neighbours.may_wait:
        raise _NotSharedError("a loop of the kernel may wait for another tile block")
    found: list[_SharedLoad] = []
    refusals: list[_NotSharedError] = []
    for number in range(len(channel.channel.type.buffers)):
        try:
            found += [_shared_load(load, neighbours) for load in loads_into(channel, number)]
        except _NotSharedError as error:
            refusals.append(error)
    if not found:
        raise refusals[0]
    return found


def _shared_load(load: TmaLoadOp, neighbours: _Neighbours) -> _SharedLoad:
    if not neighbours.equal.runs_alike(load.operation):
        raise _NotSharedError("a loop or a branch around the loads may differ between them")
    scalars = neighbours.differing(load.coordinates)
    if not all(map(neighbours.is_computable, scalars)):
        raise _NotSharedError(_UNKNOWN)
    if any(map(neighbours.varies, scalars)):
        raise _NotSharedError("what they load probably differs")
    divided = None if load.map.owner.kind is not None else part_box(load, _PAIR)
    if divided is None:
        raise _NotSharedError("the rows of a tile cannot be divided")
    box, along, _ = divided
    return _SharedLoad(load, box, along, tuple(scalars))


# ---- rewriting


def _share(shared: _SharedLoad) -> None:
    """Replaces a load by one of the part of each CTA, if the scalars are equal in both."""
    load = shared.load
    with load.operation.location:
        with ir.InsertionPoint(path_to(load.operation)[0]):
            condition = _condition(shared.scalars)
        map = with_box(load.map.owner.operation, shared.box)
        with ir.InsertionPoint(load.operation):
            build(
                TmaLoadOp.OPERATION_NAME,
                [map, list(load.coordinates), list(load.offsets), condition, load.buffer, load.channel],
                attributes={"multicast": True, "along": shared.along},
            )
    load.operation.erase()


def _condition(scalars: Iterable[ir.Value]) -> ir.Value:
    """Whether the launch has clusters, and the scalars are equal in both tile blocks of one."""
    size = emitter.gpu(ClusterSizeOp, [], [emitter.integer_type(32)]).result
    condition = emitter.compare("eq", size, emitter.i32(_PAIR))
    # A tile block alone is its own neighbour: the number of another one may be outside of the grid.
    difference = emitter.binary("arith.subi", size, emitter.i32(1))
    copies: dict[ir.Value, ir.Value] = {}
    for scalar in scalars:
        same = emitter.compare("eq", scalar, _in_neighbour(scalar, difference, copies))
        condition = emitter.binary("arith.andi", condition, same)
    return condition


def _in_neighbour(value: ir.Value, difference: ir.Value, copies: dict[ir.Value, ir.Value]) -> ir.Value:
    """A copy of a scalar as the other tile block computes it, whose number differs in the last bit."""
    op = owner_of(value)
    if op is None:
        return value
    if value not in copies:
        if op.name == ProgramIdOp.OPERATION_NAME and op.opview.axis == _AXIS:
            copies[value] = emitter.binary("arith.xori", value, difference)
        else:
            operands = [_in_neighbour(operand, difference, copies) for operand in op.operands]
            copy = op.clone() if operands != list(op.operands) else op
            for number, operand in enumerate(operands):
                copy.operands[number] = operand
            copies[value] = copy.results[0]
    return copies[value]
