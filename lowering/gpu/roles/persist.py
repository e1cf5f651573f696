"""A kernel of one tile block becomes a loop over tile blocks: its own, then others that it claims before they start.

before:   %i = program_id 0;  code of %i
after:    %i = program_id 0;  while (true, %i) { claim_block;  code of %i;  claimed_block }

The passes after it see a loop, and keep pipelines across its iterations, as in a loop over tiles of the program.
"""

from __future__ import annotations

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import DECLARATIONS, GLOBAL_LOADS
from tilec.dialect.tile_gpu.ids import number_operations
from tilec.dialect.tile_gpu.interface import Category, interface_of
from tilec.dialect.tile_gpu.operations.channel import MakeChannelOp
from tilec.dialect.tile_gpu.operations.claims import ClaimBlockOp, ClaimedBlockOp, claimed_types, response_type
from tilec.dialect.tile_gpu.operations.global_memory import AllocateOp
from tilec.dialect.tile_gpu.operations.kernel import KernelOp, NumProgramsOp, ProgramIdOp
from tilec.dialect.tile_gpu.operations.placed import StoreTileOp
from tilec.dialect.walk import operations_in, operations_inside, operations_named, owner_of, reached, terminator_of
from tilec.lowering import emitter
from tilec.lowering.gpu.ir.enclosing import LOOPS
from tilec.lowering.gpu.ir.operation_role import is_rematerializable
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.target import targets_with
from tilec.remarks import Remark

_POSITION, _COUNT = ProgramIdOp.OPERATION_NAME, NumProgramsOp.OPERATION_NAME
# Accesses that change memory outside of the tile block.
_WRITES = (Category.STORE, Category.ATOMIC, Category.MULTICAST)

# Declarations that are those of one tile block.
_UNREPEATED = {
    AllocateOp.OPERATION_NAME: "the block allocates memory, which lives until the kernel ends",
    MakeChannelOp.OPERATION_NAME: "the kernel has channels already, whose steps are those of one block",
}


def persist(kernel: KernelOp, context: Context) -> None:
    """Rewrites a tile_gpu.kernel in place; the reason why it stays as it is is a remark."""
    problem = _problem(kernel, context)
    if problem is not None:
        reason, location = problem
        message = f"persistent=on is not followed: {reason}"
        context.remarks.append(Remark("hint", message, source_location(location)))
        return
    _wrap(kernel)
    number_operations(kernel.operation, with_branches=True)


def _problem(kernel: KernelOp, context: Context) -> tuple[str, ir.Location] | None:
    """Why a tile block cannot compute others after itself, and where; None if it can."""
    if not context.target.claims_blocks:
        needed = targets_with("claims_blocks")
        reason = f"{context.target.name} cannot cancel the launch of blocks, which needs {needed}"
        return reason, kernel.operation.location
    for op in operations_named(kernel, _UNREPEATED):
        return _UNREPEATED[op.operation.name], op.operation.location
    for loop in (op for op in operations_inside(kernel) if op.name in LOOPS):
        inside = operations_inside(loop)
        if loop.name == "scf.while" and any(map(_synchronizes, inside)):
            # A block that this one would compute later cannot run while it waits.
            reason = "the loop may wait for another block, which may not run at the same time"
            return f"{reason}: end it by values of this block, or of its arguments", loop.location
        if any(map(_writes, inside)) and _steps_by_grid(loop, inside):
            return "the loop over num_blocks computes all tiles of the block already", loop.location
    return None


def _synchronizes(op: ir.Operation) -> bool:
    """Whether an operation may read what another running block writes."""
    if interface_of(op.name).category in (Category.ATOMIC, Category.MULTICAST):
        return True
    return op.name in GLOBAL_LOADS and "order" in op.attributes


def _writes(op: ir.Operation) -> bool:
    return op.name == StoreTileOp.OPERATION_NAME or interface_of(op.name).category in _WRITES


def _steps_by_grid(loop: ir.Operation, inside: list[ir.Operation]) -> bool:
    """Whether the extent of the grid is the step of a loop, or part of a number that it carries."""
    if loop.name == "scf.for":
        return _has_extent(loop.operands[2])
    return any(_has_extent(value) for op in inside if op.name == "arith.addi" for value in op.operands)


def _has_extent(value: ir.Value) -> bool:
    """Whether the extent of the grid is part of a number."""
    owners = (owner_of(part) for part in reached(value, _operands_of_arithmetic))
    return any(op is not None and op.name == _COUNT for op in owners)


def _operands_of_arithmetic(value: ir.Value) -> list[ir.Value]:
    op = owner_of(value)
    return list(op.operands) if op is not None and op.name.startswith("arith.") else []


def _wrap(kernel: KernelOp) -> None:
    """Moves all but declarations, and scalars that are equal in all tile blocks, into the loop."""
    block = kernel.body.blocks[0]
    end = terminator_of(block)
    code = _code(operations_in(block)[:-1])
    axes = sorted({op.opview.axis for op in operations_named(kernel, (_POSITION,))})
    number = emitter.integer_type(32)
    with kernel.operation.location, ir.InsertionPoint(end):
        first = [emitter.gpu(ProgramIdOp, [], [number], axis=axis).result for axis in axes]
        start = [emitter.boolean(True), *first]
        loop = ir.Operation.create("scf.while", [value.type for value in first], start, regions=2)
        test = loop.regions[0].blocks.append(*(value.type for value in start))
        body = loop.regions[1].blocks.append(*(value.type for value in first))
        with ir.InsertionPoint(test):
            emitter.create("scf.condition", [], list(test.arguments))
        with ir.InsertionPoint(body):
            response = emitter.gpu(ClaimBlockOp, [], [response_type()]).result
            claimed = emitter.gpu(ClaimedBlockOp, [response], claimed_types())
            position = claimed.operation.opview.position
            emitter.create("scf.yield", [], [claimed.results[0], *(position[axis] for axis in axes)])
    for op in code:
        op.move_before(claimed.operation)
    of_axis = dict(zip(axes, body.arguments, strict=True))
    for op in operations_inside(loop):
        if op.name == _POSITION:
            op.results[0].replace_all_uses_with(of_axis[op.opview.axis])
            op.erase()


def _code(operations: list[ir.Operation]) -> list[ir.Operation]:
    """The operations that each tile block executes."""
    found, made = list[ir.Operation](), set[ir.Value]()
    for op in operations:
        is_common = op.name in DECLARATIONS or is_rematerializable(op) and op.name != _POSITION
        if not is_common or not made.isdisjoint(op.operands):
            found.append(op)
            made.update(op.results)
    return found
