"""Splits a kernel into roles: `load` issues TMA, `copy` cp.async, `mma` tcgen05, `compute` and its like run the rest.

Each role has its own copy of the control flow and of the scalars it needs, repeatable loads included; tiles already
cross through channels. Values of one element that only threads can compute get channels (`crossing_values`).
A role omits loops and branches without operations of its own, so that it needs neither their bounds nor their
conditions. A kernel stays whole if a role needs a value that only another role can compute.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tilec.dialect.build import build
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import DECLARATIONS, REGISTER_MULTIPLIES, TMA_LOADS
from tilec.dialect.tile_gpu.interface import Executor, interface_of
from tilec.dialect.tile_gpu.operations.cluster import GatherPartsOp
from tilec.dialect.tile_gpu.operations.kernel import COMPUTE_ROLES, COPY, COPY_WARPS, KernelOp, ReturnOp, RolesOp
from tilec.dialect.tile_gpu.operations.matrix import MmaSyncOp, WgmmaOp
from tilec.dialect.tile_gpu.operations.memory import StoreSharedOp
from tilec.dialect.tile_gpu.operations.shape import MathOp
from tilec.dialect.tile_gpu.operations.tma import TmaLoadOp
from tilec.dialect.walk import operations_in, operations_inside, operations_named, owner_of, reached
from tilec.lowering.gpu.channels.crossing_values import (
    CLAIMED,
    Crossing,
    forget_consumers,
    get_late,
    make_crossing,
    source_of,
)
from tilec.lowering.gpu.ir.enclosing import is_repeated, path_to
from tilec.lowering.gpu.ir.operation_role import (
    CONTROL_FLOW,
    LOAD,
    RoleBody,
    RoleOperation,
    clear_compute_role,
    is_rematerializable,
    is_repeatable,
    is_repeatable_load,
    role_operations,
    roles_of,
    unknown_values,
)
from tilec.lowering.gpu.ir.scratch_use import scratch_bytes
from tilec.lowering.gpu.ir.tile_size import element_bits, thread_elements
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.memory.occupancy import blocks_in_memory
from tilec.lowering.gpu.memory.shared_plan import memory_plan
from tilec.remarks import Loss, Remark

_BYTE, _MANY_ELEMENTS = 8, 128
# The parts of an SM, each with a quarter of the registers: a warp of two blocks each may have all that it can name.
_QUARTERS = 4
_KNOWN_VALUES = "compute it from arguments, program numbers, loop counters and numbers of at least 8 bits"


class _NotSeparableError(Exception):
    """A role needs a value that another role computes."""

    def __init__(self, role: str, value: ir.Value) -> None:
        super().__init__(f"role '{role}' needs a value that another role computes: {_KNOWN_VALUES}")
        self.role, self.value = role, value


def partition_roles(kernel: KernelOp, context: Context) -> bool:
    """Rewrites a tile_gpu.kernel in place; returns False if it has no asynchronous work or cannot be split.

    The reason why a kernel with asynchronous work cannot be split is a remark. Numbers that cross need shared
    memory, and a kernel that has none left for them stays whole.
    """
    operations = operations_inside(kernel)
    if kernel.roles is not None or _exchanges_parts(operations, context) or _fills_registers(operations, context):
        return False
    if _leaves_room_whole(kernel, operations, context):
        return False
    known = role_operations(operations_in(kernel.body.blocks[0]))
    roles = roles_of(known)
    if len(roles) == 1 or roles[1:] == [LOAD] and not any(op.name in TMA_LOADS for op in operations):
        context.remarks += _remarks_of_one_role(kernel)
        if len(roles) > 1 or not _multiplies_beside_threads(kernel):
            return False
    *body, end = known
    common = _common(body)
    work = [op for op in body if op not in common]
    repeats_loads = any(map(is_repeatable_load, operations_inside(kernel)))
    crossing: dict[ir.Operation, dict[str, None]] = {}
    while True:
        try:
            added = _copy_roles(kernel, end.op, roles, work, crossing)
            break
        except _NotSeparableError as error:
            unknown = unknown_values(error.role, work, [op for op, found in crossing.items() if error.role in found])
            source = source_of(error.value, unknown, work)
            # Responses are multicast, and other values belong to one CTA.
            if source is None or kernel.ctas > 1 and source.name != CLAIMED:
                return _stays_whole(kernel, str(error), error.value.location, context)
            crossing.setdefault(source, {})[error.role] = None
    # The shared memory of a kernel whose rings have the slots that they have now.
    if crossing and memory_plan(kernel).bytes_with(scratch_bytes(kernel)) > context.target.shared_bytes:
        _erase(added)
        reason = "shared memory has no room for a number that crosses to another role: use smaller tiles"
        return _stays_whole(kernel, reason, next(iter(crossing)).location, context)
    if repeats_loads:
        for region in added[-1].opview.bodies.values():
            _erase_unused_loads(region.blocks[0])
    for each in reversed(work):
        each.op.erase()
    return True


def _stays_whole(kernel: KernelOp, reason: str, location: ir.Location, context: Context) -> bool:
    forget_consumers(kernel)
    message = f"the kernel is not split into roles: {reason}"
    context.remarks.append(Remark("roles", message, source_location(location), Loss("roles")))
    return False


def _exchanges_parts(operations: Sequence[ir.Operation], context: Context) -> bool:
    """Whether a cluster exchanges parts of a reduction, which is a barrier of all of its threads."""
    exchanges = [op for op in operations if op.name == GatherPartsOp.OPERATION_NAME]
    if exchanges and any(op.name == TmaLoadOp.OPERATION_NAME for op in operations):
        message = "the kernel has one role: all warps of a cluster take part in the exchange of a reduction"
        context.remarks.append(Remark("roles", message, source_location(exchanges[0].location), Loss("roles")))
    return bool(exchanges)


def _fills_registers(operations: Sequence[ir.Operation], context: Context) -> bool:
    """Whether threads have an accumulator of 128 registers, parts of products that they add to it, and bytes to scale.

    With 240 registers beside a role that loads, ptxas 13.5 spills 3 of mxfp8 in an iteration of 128x256x128, with 255
    none; elements of 4 bits need half of the registers of bytes (7 of mxfp4 spill, 36 without the role).
    """
    scaled = [op for op in operations if op.name == MathOp.OPERATION_NAME and op.opview.function == "scale.rn"]
    if not any(element_bits(op.operands[0].type.element_type) >= _BYTE for op in scaled):
        return False
    products = [op for op in operations if op.name == WgmmaOp.OPERATION_NAME and len(op.opview.factors)]
    if products and any(op.name == TmaLoadOp.OPERATION_NAME for op in operations):
        message = "the kernel has one role: products that are added in parts need the registers of a role that loads"
        context.remarks.append(Remark("roles", message, source_location(products[0].location), Loss("roles")))
    return bool(products)


def _leaves_room_whole(kernel: KernelOp, operations: Sequence[ir.Operation], context: Context) -> bool:
    """Whether two blocks of a kernel whose threads convert an operand of `mma.sync` by f32 share an SM, if it is whole.

    Beside the warps of roles that load, a quarter of an SM has a third warp, and each thread 168 registers: ptxas 13.5
    spills 4 to 120 bytes of weights of 4 bits, 128 elements in a thread. By the model (B200) two blocks of W8A16 by f32
    (16x128x128) have 95 % of the bandwidth, one has 61 %.
    """
    if kernel.warps > _QUARTERS or not any(
        op.name == MmaSyncOp.OPERATION_NAME and is_repeated(op) for op in operations
    ):
        return False
    stored = [op.operands[0] for op in operations if op.name == StoreSharedOp.OPERATION_NAME]
    if not any(thread_elements(tile.type) >= _MANY_ELEMENTS and _is_narrowed(tile) for tile in stored):
        return False
    size = memory_plan(kernel).bytes_with(scratch_bytes(kernel))
    return blocks_in_memory(context.target, size, 0) > 1


def _is_narrowed(tile: ir.Value) -> bool:
    """Whether a tile is rounded from f32, and computed from elements of at most a byte, without products."""
    values = list(reached(tile, lambda value: () if (op := owner_of(value)) is None else _tiles(op.operands)))
    owners = {op.name for value in values if (op := owner_of(value)) is not None}
    is_narrow = any(1 < element_bits(value.type.element_type) <= _BYTE for value in values)
    return is_narrow and "arith.truncf" in owners and owners.isdisjoint(REGISTER_MULTIPLIES)


def _tiles(values: Sequence[ir.Value]) -> list[ir.Value]:
    return [value for value in values if isinstance(value.type, ir.RankedTensorType)]


def _erase(operations: Sequence[ir.Operation]) -> None:
    for op in reversed(operations):
        op.erase()


def _copy_roles(
    kernel: KernelOp,
    end: ir.Operation,
    roles: Sequence[str],
    work: Sequence[RoleOperation],
    crossing: Mapping[ir.Operation, Collection[str]],
) -> list[ir.Operation]:
    """Adds channels for values that cross, then the roles with their code, before the end of a kernel; returns both.

    Raises _NotSeparableError without a change.
    """
    added = list[ir.Operation]()
    with kernel.operation.location, ir.InsertionPoint(end):
        values = {op: make_crossing(op, list(found), kernel.warps) for op, found in crossing.items()}
        added += [value.channel.owner.operation for value in values.values() if value.is_put]
        attributes = {"names": roles, "warps": [_warps_of(name, kernel) for name in roles]}
        made = build(RolesOp.OPERATION_NAME, attributes=attributes)
        added.append(made.operation)
        try:
            for name, region in made.opview.bodies.items():
                with ir.InsertionPoint(region.blocks.append()):
                    _RoleCopy(name, work, values).copy_all(work)
                    build(ReturnOp.OPERATION_NAME)
        except _NotSeparableError:
            _erase(added)
            raise
    for value in values.values():
        get_late(value)
    return added


def _warps_of(role: str, kernel: KernelOp) -> int:
    if role in COMPUTE_ROLES:
        return kernel.warps
    return COPY_WARPS if role == COPY else 1


def _multiplies_beside_threads(kernel: KernelOp) -> bool:
    """Whether a loop has wgmma, which multiplies while the only role stores the operands of the next iteration."""
    return any(is_repeated(op.operation) for op in operations_named(kernel, (WgmmaOp.OPERATION_NAME,)))


def _remarks_of_one_role(kernel: KernelOp) -> list[Remark]:
    """A remark at the first multiply of a loop in a kernel without asynchronous work."""
    for op in operations_named(kernel, REGISTER_MULTIPLIES):
        if is_repeated(op.operation):
            message = "the kernel is not split into roles: none of its loads uses TMA, and threads issue its multiplies"
            return [Remark("roles", message, source_location(op.operation.location), Loss("roles"))]
    return []


def _common(operations: Sequence[RoleOperation]) -> set[RoleOperation]:
    """The operations that stay before the roles: declarations, and the scalars that need only each other."""
    found: set[RoleOperation] = set()
    inside = {result for op in operations for result in op.results}
    for op in operations:
        if op.name in DECLARATIONS or is_rematerializable(op.op) and inside.isdisjoint(op.operands):
            found.add(op)
            inside.difference_update(op.results)
    return found


def _erase_unused_loads(block: ir.Block) -> None:
    """Erases the copies of loads whose values the role does not use, and the arithmetic that would use them."""
    for op in reversed(operations_in(block)):
        for region in op.regions:
            for inner in region.blocks:
                _erase_unused_loads(inner)
        if is_repeatable(op) and not any(list(result.uses) for result in op.results):
            op.erase()


class _RoleCopy:
    """Copies the operations of one role; `_copies` maps original values to copies."""

    def __init__(
        self, role: str, operations: Sequence[RoleOperation], crossing: Mapping[ir.Operation, Crossing]
    ) -> None:
        self._role, self._crossing = role, crossing
        self._got = {op for op, value in crossing.items() if role in value.roles}
        self._around = {outer for op in self._got for outer in path_to(op)}
        self._unknown = unknown_values(role, operations, self._got)
        self._copies: dict[ir.Value, ir.Value] = {}

    def copy_all(self, operations: Sequence[RoleOperation]) -> None:
        for op in operations:
            if op.name in CONTROL_FLOW:
                self._copy_control_flow(op)
            elif op.is_repeatable:
                if self._unknown.isdisjoint(op.operands):
                    self._copy(op)
            elif interface_of(op.name).executor is Executor.EVERY or op.role == self._role:
                self._copy(op)
                if op.op in self._crossing and self._crossing[op.op].is_put:
                    self._crossing[op.op].put(self._copies[op.results[0]])
            elif op.op in self._got:
                self._copies.update(zip(op.results, self._crossing[op.op].get(self._role), strict=True))

    def _copy_of(self, value: ir.Value) -> ir.Value:
        if value in self._unknown:
            raise _NotSeparableError(self._role, value)
        return self._copies.get(value, value)

    def _copy(self, op: RoleOperation) -> None:
        copy = op.op.clone(ip=ir.InsertionPoint.current)
        clear_compute_role(copy)
        # A clone, at every depth of its regions, still uses the originals of values that are defined outside of it.
        self._rename_operands(copy, op.operands)
        for inner in operations_inside(copy) if op.bodies else ():
            self._rename_operands(inner, list(inner.operands))
        self._copies.update(zip(op.results, copy.results, strict=True))

    def _rename_operands(self, copy: ir.Operation, originals: Sequence[ir.Value]) -> None:
        operands = copy.operands
        for index, original in enumerate(originals):
            copied = self._copy_of(original)
            if copied is not original:
                operands[index] = copied

    def _copy_control_flow(self, op: RoleOperation) -> None:
        """Copies a loop or a branch that carries, and yields, only the values that the role knows."""
        known = self._known(op.results)
        if not (self._role in op.roles_inside or op.op in self._around or known):
            return
        targets, targets_of_bodies = _targets(op)
        bounds = len(op.operands) - len(targets)
        operands = [*op.operands[:bounds], *self._taken(op.operands[bounds:], targets)]
        made = ir.Operation.create(
            op.name,
            [result.type for result in known],
            [self._copy_of(value) for value in operands],
            {name: op.op.attributes[name] for name in op.op.attributes},
            regions=len(op.op.regions),
            loc=op.op.location,
        )
        # Without results, the second region of a branch may be empty.
        for body, region, yielded in zip(op.bodies, made.regions, targets_of_bodies, strict=False):
            arguments = self._known(body.arguments)
            types, locations = [value.type for value in arguments], [op.op.location] * len(arguments)
            copied = region.blocks.append(*types, arg_locs=locations)
            self._copies.update(zip(arguments, copied.arguments, strict=True))
            self._copy_body(body, copied, yielded)
        self._copies.update(zip(known, made.results, strict=True))

    def _known(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        return [value for value in values if value not in self._unknown]

    def _taken(self, values: Sequence[ir.Value], targets: Sequence[ir.Value | None]) -> list[ir.Value]:
        """The values whose target the role knows; one without a target is a condition, which every role knows."""
        pairs = zip(values, targets, strict=True)
        return [value for value, target in pairs if target is None or target not in self._unknown]

    def _copy_body(self, body: RoleBody, copied: ir.Block, targets: Sequence[ir.Value | None]) -> None:
        """Copies a block; its terminator gives the values whose `targets` the role knows."""
        with ir.InsertionPoint(copied):
            self.copy_all(body.operations)
            yielded = [self._copy_of(value) for value in self._taken(body.end.operands, targets)]
            ir.Operation.create(body.end.name, operands=yielded, loc=body.end.op.location)


def _targets(op: RoleOperation) -> tuple[Sequence[ir.Value], list[Sequence[ir.Value | None]]]:
    """The values that the initial operands of a loop become, and those that the operands of each terminator become.

    The condition of an `scf.while` becomes no value, which is None.
    """
    if op.name == "scf.while":
        arguments = op.bodies[0].arguments
        return arguments, [(None, *op.results), arguments]
    return op.results if op.name == "scf.for" else (), [op.results] * len(op.bodies)
