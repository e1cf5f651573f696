"""How many warps compute: the fewest that have the registers for values that are live at once, and instructions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence, Set

from tilec.dialect.cuda_tile.types import PointerType, TileType
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.registers import BUDGET_STEP, LARGEST_BUDGET, registers_per_thread
from tilec.dialect.walk import users_of
from tilec.errors import UsageError
from tilec.lowering.live_registers import RegisterPeak, ValueRegisters, register_peak
from tilec.lowering.plan.choice import Choice
from tilec.lowering.plan.matrix.accumulator_columns import read_by_columns, without_registers
from tilec.lowering.plan.matrix.matrix_plan import MatrixPlan, Multiply
from tilec.lowering.plan.matrix.operand_source import sums_behind
from tilec.lowering.plan.matrix.unit_choice import accumulator_columns
from tilec.lowering.plan.ring_tiles import operands_behind, values_of_integers
from tilec.lowering.role_registers import MOST_CHAIN_WARPS, chosen_budgets
from tilec.lowering.target import LANES, TENSOR_MEMORY_COLUMNS
from tilec.lowering.tile.analysis.tile_operations import MULTIPLIES, in_loop, is_elementwise
from tilec.lowering.tile_to_gpu.access.alignment import element_bits

_WIDE_ELEMENTS = ("i64", "f64")
_REGISTER_BITS = 32
# Results that ptxas has in immediates, or computes again where they are used.
_WITHOUT_REGISTERS = ("cuda_tile.constant", "cuda_tile.iota")
_EXTRACT = "cuda_tile.extract"
# Results in the registers of the first operand.
_RENAMED = ("cuda_tile.broadcast", "cuda_tile.permute", "cuda_tile.reshape", _EXTRACT)
_MOVED = ("cuda_tile.permute", "cuda_tile.reshape")
# Operations that use one element of a tile after the other, besides those that are elementwise.
_READS_ELEMENTS = ("cuda_tile.store_view_tko", "cuda_tile.store_ptr_tko", *MULTIPLIES)
_REDUCE, _CONVERSION = "cuda_tile.reduce", "cuda_tile.ftof"
# Warps that hold 256 x 256 sums as 16-bit elements in 128 registers per thread (lowering/gpu/columns/read_early.py).
READING_WARPS = 8
WARP_COUNTS = (4, 8, 16)
# Fewer registers per thread leave no room for addresses beside the values (ptxas 13.5 refuses fewer than 16).
LEAST_REGISTERS = 32
_SCALING = ("cuda_tile.mulf", "cuda_tile.divf", "cuda_tile.addf", "cuda_tile.subf", "cuda_tile.fma")
# A role that updates accumulators in parts of 32 columns, and stores them in slices of 64 columns (ptxas 13.5).
UPDATE_REGISTERS = 104


def chain_multiplies(plan: MatrixPlan) -> list[Multiply]:
    """The multiplies in loops whose lhs threads compute from sums: one per chain that may have a role of its own."""
    return [
        each
        for each in plan.multiplies.values()
        if each.unit.accumulates_in_tensor_memory and each.lhs.map is None and in_loop(each.op)
        if any(sums_behind(each.lhs.value))
    ]


def registers_needed(entry: ir.OpView, plan: MatrixPlan, warps: int) -> int:
    """The registers per thread that the code of a plan needs with this number of warps, so that none spill."""
    return max(LEAST_REGISTERS, _peak(entry.body.blocks[0], plan, warps).needed, _registers_at_launch(plan, warps))


def registers_in_parts(entry: ir.OpView, plan: MatrixPlan, warps: int) -> int:
    """The registers per thread if one role computes a chain, and scales its accumulators some columns at a time."""
    chains = chain_multiplies(plan)
    parts = {value for each in chains for value in _updates_of(each) or ()}
    if not parts:
        return registers_needed(entry, plan, warps)
    return max(UPDATE_REGISTERS, _chain_registers(chains, plan, warps, parts))


def registers_available(plan: MatrixPlan, warps: int, blocks: int = 1) -> int:
    """The most registers of a computing thread, with `blocks` blocks on an SM (register_budgets.py)."""
    others = block_warps(plan, warps) - warps
    # The schedulers share the warps of all blocks: two blocks of 5 warps leave as many as one of 12.
    share = registers_per_thread((warps + others) * blocks)
    share = share // BUDGET_STEP * BUDGET_STEP
    # Several blocks have budgets for the registers that they need, or none.
    needs = range(LARGEST_BUDGET, share, -BUDGET_STEP) if others else ()
    at_launch = _registers_at_launch(plan, warps)
    found = (chosen_budgets([warps, others], [need, LEAST_REGISTERS], blocks, at_launch) for need in needs)
    return next((budgets[0] for budgets in found if budgets is not None), share)


def _registers_at_launch(plan: MatrixPlan, warps: int) -> int:
    return max((_instruction_registers(each, warps) for each in plan.multiplies.values()), default=0)


def _instruction_registers(multiply: Multiply, warps: int) -> int:
    rows, columns = multiply.op.acc.type.shape
    return multiply.unit.instruction_registers(rows, columns, warps)


def choose_warps(entry: ir.OpView, plans: dict[int, MatrixPlan], hint: int | None = None) -> Choice:
    """The number of warps among those planned for: the `hint`, unless a rule below excludes it.

    A count that leaves more multiplies to slower units, or too few registers for a matrix instruction, is the last
    resort. Where multiplies wait for the epilogue of a tile, enough warps have the registers to read all of its sums.
    """
    fast = max(map(_multiplies_on_the_fastest_unit, plans.values()))
    counts = [warps for warps, plan in plans.items() if _multiplies_on_the_fastest_unit(plan) == fast]
    counts = [warps for warps in counts if _missing_registers(plans[warps], warps) is None] or counts[:1]
    if hint in counts:
        return Choice(hint, f"hint num_worker_warps={hint}")
    if waits_for_epilogue(plans[counts[0]]):
        counts = [warps for warps in counts if warps >= READING_WARPS] or counts
    if _chains_fit(plans[counts[0]], counts[0]):
        reason = "the chains of multiplies have roles of their own, with the registers that they need"
        return Choice(counts[0], reason, _after(counts, counts[0]))
    spilled: dict[int, int] = {}
    refused = ""
    for warps in counts:
        needed, available = registers_needed(entry, plans[warps], warps), registers_available(plans[warps], warps)
        if needed <= available:
            reason = f"values that are live at once need {needed} registers per thread of {available}"
            return Choice(warps, reason, refused or _after(counts, warps))
        spilled[warps] = (needed - available) * warps
        refused = f"{warps}, which need {needed} registers per thread of {available}"
    best = min(counts, key=spilled.__getitem__)
    return Choice(best, f"values spill with any number, and with this one the fewest: {spilled[best]} registers")


def _after(counts: Sequence[int], chosen: int) -> str:
    """The next number of warps, as text; empty if there is none."""
    return next((str(warps) for warps in counts if warps > chosen), "")


def _chains_fit(plan: MatrixPlan, warps: int) -> bool:
    """Whether chains have roles of their own, several or beside that of updates, and the registers that they need."""
    chains = chain_multiplies(plan)
    count = max(Counter(each.op.operation.block for each in chains).values(), default=0)
    updates = all(map(_is_updated, chains)) and count < MOST_CHAIN_WARPS // warps
    if not 1 <= count <= MOST_CHAIN_WARPS // warps or count == 1 and (not updates or _is_precise(chains[0])):
        return False
    roles = [(warps, LARGEST_BUDGET)] * count + [(warps, UPDATE_REGISTERS)] * updates
    counts, needed = zip(*roles, (block_warps(plan, warps) - warps, LEAST_REGISTERS), strict=True)
    budgets = chosen_budgets(counts, needed)
    # Another role has the registers of the accumulators that it updates.
    elsewhere = {value for each in chains if updates for value in _updates_of(each) or ()}
    return budgets is None or _chain_registers(chains, plan, warps, elsewhere) <= budgets[0]


def _chain_registers(chains: Sequence[Multiply], plan: MatrixPlan, warps: int, elsewhere: Set[ir.Value]) -> int:
    """The registers per thread that the loops of chains need, without those of the values `elsewhere`."""
    # The operands of a chain are placed as soon as they are computed (assign_roles.py).
    early = frozenset(_placed_early(plan))
    blocks = (each.op.operation.block for each in chains)
    return max(_peak(block, plan, warps, early, elsewhere).needed for block in blocks)


def _is_updated(multiply: Multiply) -> bool:
    return _updates_of(multiply) is not None


def _updates_of(multiply: Multiply) -> list[ir.Value] | None:
    """The carried value, the accumulator and the values between them, if factors of rows scale it (correction_role.py).

    None if the accumulator is another value.
    """
    block, waiting = multiply.op.operation.block, [multiply.op.acc]
    carried, found = 0, list[ir.Value]()
    while waiting:
        value = waiting.pop()
        found.append(value)
        if isinstance(value.owner, ir.Block):
            carried += value.owner == block
            continue
        op = value.owner.operation
        if op.name == "cuda_tile.broadcast" and op.operands[0].type.shape[1] == 1 or op.name == "cuda_tile.constant":
            continue
        if op.name not in _SCALING or op.block != block:
            return None
        waiting += op.operands
    return found if carried == 1 and not isinstance(multiply.op.acc.owner, ir.Block) else None


def _is_precise(multiply: Multiply) -> bool:
    """Whether the loop of a chain has exponentials that take several instructions.

    For rows of 128 elements in a thread, ptxas 13.0 and 13.5 then use 252 of 256 registers and spill some.
    """
    operations = (op.operation for op in multiply.op.operation.block.operations)
    return any(op.name == "cuda_tile.exp" and "flush_to_zero" not in op.attributes for op in operations)


def warps_refusal(plan: MatrixPlan, warps: int) -> UsageError | None:
    """The error if this number of warps leaves too few registers for a matrix instruction."""
    missing = _missing_registers(plan, warps)
    if missing is None:
        return None
    op, needed = missing
    return UsageError(
        f"hint warps: {warps} warps leave {registers_per_thread(block_warps(plan, warps))} registers per thread, "
        f"'mma' needs {needed}: use fewer warps or a tile of fewer columns",
        source_location(op.operation.location),
    )


def _multiplies_on_the_fastest_unit(plan: MatrixPlan) -> int:
    return sum(not multiply.refusals for multiply in plan.multiplies.values())


def block_warps(plan: MatrixPlan, warps: int) -> int:
    """All warps of the block; loads and asynchronous multiplies have their own warps."""
    asynchronous = any(multiply.unit.accumulates_in_tensor_memory for multiply in plan.multiplies.values())
    return warps + bool(plan.loads) + asynchronous


def _missing_registers(plan: MatrixPlan, warps: int) -> tuple[ir.OpView, int] | None:
    """The first multiply whose instruction needs more registers than there are, and how many."""
    available = registers_per_thread(block_warps(plan, warps))
    for multiply in plan.multiplies.values():
        needed = _instruction_registers(multiply, warps)
        if needed > available:
            return multiply.op, needed
    return None


def waits_for_epilogue(plan: MatrixPlan) -> bool:
    """Whether a loop computes tiles with one accumulator, of which tensor memory does not hold a second one."""
    accumulators = list(dict.fromkeys(plan.accumulators.values()))
    if len(accumulators) != 1:
        return False
    (accumulator,) = accumulators
    columns = max(accumulator_columns(op.opview) for op in accumulator.multiplies)
    # A loop around the operations that sum up a result computes it in each iteration.
    makers = (result.owner for result in accumulator.reads if not isinstance(result.owner, ir.Block))
    return 2 * columns > TENSOR_MEMORY_COLUMNS and accumulator.is_read_once and any(map(in_loop, makers))


def _placed_early(plan: MatrixPlan) -> Iterator[ir.Value]:
    """The operands of multiplies that threads place, and the tiles that they convert, without the first tiles."""
    for multiply in plan.multiplies.values():
        value = multiply.lhs.value
        if multiply.lhs.map is None:
            while not isinstance(value.owner, ir.Block) and value.owner.operation.name == _CONVERSION:
                yield value
                value = value.owner.operation.operands[0]


def _peak(
    block: ir.Block,
    plan: MatrixPlan,
    warps: int,
    early: Set[ir.Value] = frozenset(),
    of_others: Set[ir.Value] = frozenset(),
) -> RegisterPeak:
    """The most registers of a thread that the values of a block, without those `of_others`, are in at once.

    The operands of multiplies that are `early` leave their registers where they are computed.
    """
    # Threads read the elements of a tile of a ring where they use them (lowering/gpu/columns/order_steps.py).
    ring_tiles = {tile for tile in plan.loads if plan.is_ring_tile(tile)}
    elsewhere = (plan.folded | without_registers(plan) | ring_tiles) - _read_together(plan) | of_others
    converted = values_of_integers(plan) - elsewhere

    def registers(value: ir.Value) -> int:
        needed = 0 if value in elsewhere else _registers_of(value, plan, warps * LANES)
        return min(needed, _packed_registers(value, warps)) if value in converted else needed

    def sources(value: ir.Value) -> Sequence[ir.Value] | None:
        found = _sources(value)
        if found is None and value in converted and isinstance(value.type.element, ir.IntegerType):
            # Integers that become floats are bits of the loaded words (gpu_to_ptx/arithmetic/bit_fields.py).
            found = operands_behind(value) or None
        # Columns that are read from tensor memory have registers of their own.
        return None if found and found[0] in elsewhere and value.owner.name == _EXTRACT else found

    def loads(op: ir.Operation) -> Sequence[ir.Value]:
        return plan.reads_before.get(op, ())

    def operands(op: ir.Operation) -> Sequence[ir.Value]:
        if len(op.results) == 1 and op.results[0] in early:
            return ()
        return [value for value in op.operands if value not in early]

    return register_peak(block, ValueRegisters(registers, sources, loads, operands))


def _read_together(plan: MatrixPlan) -> set[ir.Value]:
    """Accumulators of one loop that registers read by columns: one branch reads them all, which is not divided."""
    read = read_by_columns(plan)
    owners = Counter(value.owner for value in read)
    return {value for value in read if owners[value.owner] > 1}


def _registers_of(value: ir.Value, plan: MatrixPlan, threads: int) -> int:
    type = value.type
    if not isinstance(type, TileType):
        return 0
    if not isinstance(value.owner, ir.Block) and value.owner.name in _WITHOUT_REGISTERS:
        return 0
    multiply = plan.multiplies.get(value)
    # Sums of few products are beside those to which they are added.
    copies = 2 if multiply is not None and multiply.promotes else 1
    return copies * -(-math.prod(type.shape) // threads) * _registers(type.element)


def _packed_registers(value: ir.Value, warps: int) -> int:
    bits = math.prod(value.type.shape) * element_bits(value.type.element)
    return -(-bits // (warps * LANES * _REGISTER_BITS))


def _registers(element: ir.Type) -> int:
    if isinstance(element, PointerType):
        return 2
    return {"i1": 0}.get(name := spell(element), 2 if name in _WIDE_ELEMENTS else 1)


def _sources(value: ir.Value) -> Sequence[ir.Value] | None:
    owner = value.owner
    if isinstance(owner, ir.Block) or not isinstance(value.type, TileType) or not value.type.rank:
        return None
    if owner.name in _RENAMED:
        return [owner.operands[0]]
    return list(owner.operands) if owner.name == "cuda_tile.cat" or _is_temporary(value, owner) else None


def _is_temporary(value: ir.Value, owner: ir.Operation) -> bool:
    """Whether each element of a tile is computed where it is used, so that the tile is never complete."""
    if not is_elementwise(owner.opview) or owner.name.endswith("_tko"):
        return False
    users = users_of(value)
    if len(users) == 1 and users[0].name == _REDUCE:
        return True
    return all(user.block == owner.operation.block and _reads_elements(user) for user in users)


def _reads_elements(user: ir.Operation) -> bool:
    """Whether an operation uses one element of a tile after the other, or moves all to such operations."""
    if user.name in _MOVED:
        return all(map(_reads_elements, users_of(user.results[0])))
    return user.name in _READS_ELEMENTS or is_elementwise(user.opview)
