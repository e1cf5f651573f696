"""Chains of tiles that multiplies wait for get roles of their own: while one waits, another computes.

In a loop of attention, threads wait for scores, and multiplies wait for tiles that threads compute from them. If a
block has two such chains, as of the halves of its rows, the tensor cores multiply for one while the threads of the
other compute.
A chain has all operations whose tiles depend on each other; tiles that both chains need are computed by both.

Before that, tiles are placed as soon as they are computed, so that a chain has no registers for them while it computes:

before:   %p = exp2 ..   %o = read ..   %n = mulf %o, ..   place %n   %h = truncf %p   place %h
after:    %p = exp2 ..   %h = truncf %p   place %h   %o = read ..   %n = mulf %o, ..   place %n

A tile that is an operand of several multiplies is placed once, and before a loop if it is computed before it. Threads
multiply by mma.sync themselves: tiles for that are placed where the kernel multiplies, so that one slot after the other
is in use.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence, Set

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import REGISTER_MULTIPLIES
from tilec.dialect.tile_gpu.operations.atomic import AtomicGlobalOp, AtomicViewOp, CompareAndSwapGlobalOp
from tilec.dialect.tile_gpu.operations.debug import AssertOp, PrintOp
from tilec.dialect.tile_gpu.operations.kernel import COMPUTE, COMPUTE_ROLES, GdcLaunchDependentsOp, KernelOp
from tilec.dialect.tile_gpu.operations.matrix import MmaSyncOp, WgmmaOp
from tilec.dialect.tile_gpu.operations.memory import BarrierOp, FenceAliasOp
from tilec.dialect.tile_gpu.operations.multimem import MultimemLoadViewOp, MultimemReduceViewOp, MultimemStoreViewOp
from tilec.dialect.tile_gpu.operations.placed import PlaceOp, ReadOp
from tilec.dialect.tile_gpu.operations.reduce import ReduceOp
from tilec.dialect.tile_gpu.operations.shape import (
    BroadcastOp,
    CatOp,
    ConvertLayoutOp,
    ExtractOp,
    InsertOp,
    IotaOp,
    MathOp,
    PackOp,
    ReshapeOp,
    SplatOp,
    TransposeOp,
    UnpackOp,
)
from tilec.dialect.tile_gpu.registers import REGISTER_FILE
from tilec.dialect.tile_gpu.sets import is_register_tile, is_scalar
from tilec.dialect.walk import operations_inside, owner_of
from tilec.lowering.gpu.ir.accumulator_channels import MULTIPLIES, is_accumulator, is_operand
from tilec.lowering.gpu.ir.enclosing import LOOPS, is_inside, is_repeated
from tilec.lowering.gpu.ir.joined_values import Sets, carried_as, carried_groups
from tilec.lowering.gpu.ir.operation_role import (
    compute_role,
    has_repeatable_elements,
    set_compute_role,
    values_of_threads,
)
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.memory.live_tiles import tile_peak
from tilec.lowering.gpu.memory.staging import is_staged
from tilec.lowering.gpu.roles.correction_role import Correction, assign_correction, correction
from tilec.lowering.gpu.roles.read_results_late import read_results_late
from tilec.lowering.kernel_hints import blocks_of_hint
from tilec.lowering.role_registers import MOST_CHAIN_WARPS
from tilec.lowering.target import LANES
from tilec.remarks import Loss, Remark

# The warps that issue loads and multiplies.
_ISSUING_WARPS = 2
_READ, _PLACE = ReadOp.OPERATION_NAME, PlaceOp.OPERATION_NAME
_WGMMA, _MMA_SYNC = WgmmaOp.OPERATION_NAME, MmaSyncOp.OPERATION_NAME
# Their order among the threads of a kernel counts.
_ORDERED = tuple(
    op.OPERATION_NAME
    for op in (
        AssertOp, AtomicGlobalOp, AtomicViewOp, BarrierOp, CompareAndSwapGlobalOp, FenceAliasOp,
        GdcLaunchDependentsOp, MultimemLoadViewOp, MultimemReduceViewOp, MultimemStoreViewOp, PrintOp,
    )
)  # fmt: skip
_PURE_DIALECTS = ("arith.", "math.")
# Of those that move elements between threads, each role does so in scratch memory of its own.
_PURE = tuple(
    op.OPERATION_NAME
    for op in (
        BroadcastOp, CatOp, ConvertLayoutOp, ExtractOp, InsertOp, IotaOp, MathOp, PackOp, ReduceOp, ReshapeOp,
        SplatOp, TransposeOp, UnpackOp,
    )
)  # fmt: skip
# Operations without effects that make a tile smaller, or the same tile for other threads.
_CONVERSIONS = ("arith.truncf", ConvertLayoutOp.OPERATION_NAME)


def assign_roles(kernel: KernelOp, context: Context) -> None:
    """Rewrites a tile_gpu.kernel with placed tiles in place; run before the tiles get channels.

    With the option `roles` off, one role computes all chains. The reason why it does otherwise is a remark.
    """
    operations = operations_inside(kernel)
    for op in [inner for inner in operations if inner.name == _PLACE]:
        # The order stays of tiles that have a place in common: values of an accumulator, stores, and those of a group.
        if is_accumulator(op.results[0]) or is_staged(op) or "group" in op.attributes:
            continue
        _move_before_loops(op)
        if not all(use.owner.name == _MMA_SYNC for use in op.results[0].uses):
            _move_after_source(op)
    _place_operands_once(operations_inside(kernel))
    read_results_late(kernel, context.target)
    if context.options.roles:
        _assign_chains(kernel, context)


def _move_before_loops(op: ir.Operation) -> None:
    """Moves the place of an operand before the loops in which its tile does not change."""
    if len(op.operands) > 1 or not all(map(_is_multiplied, op.results[0].uses)):
        return
    source = owner_of(op.operands[0])
    while source is not None and source.block != op.block and op.parent.name in LOOPS:
        loop = op.parent.operation
        if is_inside(source, loop):
            return
        op.move_before(loop)


def _move_after_source(op: ir.Operation) -> None:
    source = owner_of(op.operands[0])
    if source is None or source.block != op.block:
        return
    if source.name in _CONVERSIONS:
        _move_after_source(source)
    op.move_after(source)


def _place_operands_once(operations: Sequence[ir.Operation]) -> None:
    """Multiplies of a block whose operands are the same tile, in the same layout, read one placed tile."""
    placed: dict[object, ir.Operation] = {}
    for op in operations:
        if op.name != _PLACE or len(op.operands) > 1 or not all(map(_is_multiplied, op.results[0].uses)):
            continue
        first = placed.setdefault((op.operands[0], op.results[0].type, op.block), op)
        if first is not op and "group" not in op.attributes and "group" not in first.attributes:
            op.results[0].replace_all_uses_with(first.results[0])
            op.erase()


def _assign_chains(kernel: KernelOp, context: Context) -> None:
    """Marks the operations of chains with their roles."""
    operations = operations_inside(kernel)
    if kernel.ctas > 1 or kernel.roles is not None or not any(map(_hands_over, operations)):
        return
    unknown = values_of_threads(kernel)
    shared = _shared_operations(operations, unknown)
    chains = _Chains(operations, unknown, {op.results[0] for op in shared})
    found = chains.fed_by_multiplies()
    refusal = _refusal(kernel, operations, chains, len(found))
    if not found or refusal is not None:
        if len(found) > 1 and refusal is not None:
            context.remarks.append(refusal)
        return
    roles = dict(zip(found, COMPUTE_ROLES, strict=False))
    members = {role: chains.members(chain) for chain, role in roles.items()}
    corrections = {role: correction(each, operations, shared) for role, each in members.items()}
    for role, each in members.items():
        for op in each:
            set_compute_role(op, role)
    if kernel.warps * (len(found) + 1) <= MOST_CHAIN_WARPS and not (len(found) == 1 and _has_other_block(kernel)):
        _assign_corrections(corrections, COMPUTE_ROLES[len(found)])
    for op in reversed(shared):
        _copy_for_roles(op, lambda use: roles.get(chains.carrying(use), COMPUTE))


def _has_other_block(kernel: KernelOp) -> bool:
    """Whether an SM has two blocks with one computing role: the other block computes during waits."""
    if blocks_of_hint(kernel) > 1:
        return True
    threads = LANES * (kernel.warps + _ISSUING_WARPS)
    return REGISTER_FILE // (threads * tile_peak(kernel.body.blocks[0]).needed) > 1


def _assign_corrections(corrections: Mapping[str, Correction | None], role: str) -> None:
    """Gives those of all chains to one role, if each chain has one."""
    found = {chain_role: each for chain_role, each in corrections.items() if each is not None}
    for chain_role, each in found.items() if len(found) == len(corrections) else ():
        assign_correction(each, chain_role, role)


def _refusal(kernel: KernelOp, operations: Sequence[ir.Operation], chains: _Chains, count: int) -> Remark | None:
    """Why one role computes `count` chains; None if each may have its own."""
    ordered = next((op for op in operations if op.name in _ORDERED), None)
    following = next(filter(_follows_accesses, operations), None)
    at = kernel.operation
    if ordered is not None:
        reason, at = "this operation is ordered with those of all threads", ordered
    elif following is not None:
        reason, at = "this store follows accesses that another role may make", following
    elif kernel.warps * count > MOST_CHAIN_WARPS:
        reason = f"roles of {kernel.warps} warps each have more than {MOST_CHAIN_WARPS} warps"
    elif (decision := chains.decided_by_threads) is not None:
        reason, at = "this loop or branch depends on a value that threads compute", decision
    else:
        return None
    message = f"one role computes {count} chains of products: {reason}"
    return Remark("roles", message, source_location(at.location), Loss("chains", count=count))


def _follows_accesses(op: ir.Operation) -> bool:
    """Whether a store must follow accesses that another role may make."""
    return "after_accesses" in op.attributes or "after_stores" in op.attributes and "after_itself" not in op.attributes


def _hands_over(op: ir.Operation) -> bool:
    """Whether threads give an operand to a multiply in a loop."""
    if op.name == _WGMMA:
        return is_register_tile(op.operands[1].type) and is_repeated(op)
    if op.name != _PLACE or not is_repeated(op):
        return False
    return any(map(_is_multiplied, op.results[0].uses))


def _is_multiplied(use: ir.OpOperand) -> bool:
    return is_operand(use) or use.owner.name in REGISTER_MULTIPLIES


class _Chains:
    """Operations of threads by the tiles that connect them: register tiles, accumulators, and scalars of memory.

    `unknown` are the scalars that threads compute, and tiles that are `shared` connect none.
    """

    def __init__(self, operations: Sequence[ir.Operation], unknown: Set[ir.Value], shared: Set[ir.Value]) -> None:
        self._operations, self._unknown, self._shared = operations, unknown, shared
        self._sets = Sets()
        # The results of _of(), as each chain asks for those of all operations.
        self._known: dict[ir.Operation, list[ir.Value]] = {}
        for op in operations:
            for group in carried_groups(op) if op.name.startswith("scf.") else [[*op.operands, *op.results]]:
                self._sets.join([value for value in group if self._connects(value)])

    def _connects(self, value: ir.Value) -> bool:
        if is_scalar(value.type):
            return value in self._unknown
        return value not in self._shared and (is_register_tile(value.type) or is_accumulator(value))

    @property
    def decided_by_threads(self) -> ir.Operation | None:
        """The first loop or branch that depends on a value that threads compute."""
        decisions = ((op, value) for op in self._operations for value in _decisions(op))
        return next((op for op, value in decisions if is_scalar(value.type) and value in self._unknown), None)

    def _of(self, op: ir.Operation) -> list[ir.Value]:
        """The chain of an operation of threads, as a list; empty for other operations."""
        if op not in self._known:
            is_of_threads = not op.name.startswith("scf.") and op.name not in MULTIPLIES
            values = [*op.operands, *op.results] if is_of_threads else []
            connecting = itertools.islice(filter(self._connects, values), 1)
            self._known[op] = [self._sets.of(value) for value in connecting]
        return self._known[op]

    def carrying(self, use: ir.OpOperand) -> ir.Value:
        """The chain of the value that a tile becomes, which a loop or a branch carries."""
        return self._sets.of(carried_as(use))

    def members(self, chain: ir.Value) -> list[ir.Operation]:
        """The operations of a chain, without loops, branches and their ends."""
        return [op for op in self._operations if self._of(op) == [chain]]

    def fed_by_multiplies(self) -> list[ir.Value]:
        """The chains that read products, and give operands to multiplies, in loops."""
        given = [chain for op in self._operations if _hands_over(op) for chain in self._of(op)]
        read = {chain for op in self._operations if _reads_product(op) for chain in self._of(op)}
        return [chain for chain in dict.fromkeys(given) if chain in read]


def _reads_product(op: ir.Operation) -> bool:
    return op.name == _WGMMA or op.name == _READ and is_accumulator(op.operands[0]) and is_repeated(op)


def _decisions(op: ir.Operation) -> list[ir.Value]:
    """The operands on which control flow depends."""
    return list(op.operands)[: {"scf.for": 3, "scf.if": 1, "scf.condition": 1}.get(op.name, 0)]


def _shared_operations(operations: Sequence[ir.Operation], unknown: Set[ir.Value]) -> list[ir.Operation]:
    """The operations on tiles that need nothing of threads, so that any role may compute them, in program order."""
    found: list[ir.Operation] = []
    results: set[ir.Value] = set()
    for op in operations:
        if len(op.results) == 1 and is_register_tile(op.results[0].type) and _may_be_copied(op, results, unknown):
            found.append(op)
            results.add(op.results[0])
    return found


def _may_be_copied(op: ir.Operation, results: Set[ir.Value], unknown: Set[ir.Value]) -> bool:
    if op.name == _READ:
        return not is_accumulator(op.operands[0])
    if op.name not in _PURE and not op.name.startswith(_PURE_DIALECTS) and not has_repeatable_elements(op):
        return False
    return all(value in results or is_scalar(value.type) and value not in unknown for value in op.operands)


def _copy_for_roles(op: ir.Operation, role_of_carried: Callable[[ir.OpOperand], str]) -> None:
    """Gives each role whose operations use a tile an operation of its own that computes it; the users have roles."""
    copies: dict[str, ir.Operation] = {}
    for use in list(op.results[0].uses):
        user = use.owner.operation
        role = role_of_carried(use) if user.name.startswith("scf.") else compute_role(user)
        if role not in copies:
            copies[role] = op.clone(ip=ir.InsertionPoint.after(op)) if copies else op
        user.operands[use.operand_number] = copies[role].results[0]
    for role, copy in copies.items():
        set_compute_role(copy, role)
